#include "headway/tasks/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/utf8.hpp"
#include "headway/error.hpp"

using headway::Error;
using headway::ErrorKind;
using namespace headway::tasks;

TEST_CASE("The split of a text is by position, on a character boundary") {
  const TextCorpus plain("t", "0123456789", {0.3, 0.2});
  CHECK(plain.train() == "01234");
  CHECK(plain.validation() == "56");
  CHECK(plain.held_out() == "789");
  // 10 bytes: two of one byte, then four of two; bytes 5 and 7 are inside a character.
  const TextCorpus greek("t", "ab\u03b1\u03b2\u03b3\u03b4", {0.3, 0.2});
  CHECK(greek.train() == "ab\u03b1");
  CHECK(greek.validation() == "\u03b2");
  CHECK(greek.held_out() == "\u03b3\u03b4");
}

TEST_CASE("A text that is no UTF-8 is refused with line and byte") {
  const auto fails = [](const std::string& text, TextShares shares, ErrorKind kind,
                        const std::string& message) {
    try {
      const TextCorpus corpus("notes.txt", text, shares);
      FAIL("no error; expected: " << message);
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
      CHECK(std::string(error.what()) == message);
    }
  };
  const std::string none = ": is not UTF-8 text";
  fails("one\ntwo \xFF\n", {0.5}, ErrorKind::kBadData,
        "notes.txt: line 2, byte 8 of the file, value 0xff" + none);
  fails("cut short \xC3", {0.5}, ErrorKind::kBadData,
        "notes.txt: line 1, byte 10 of the file, value 0xc3" + none);
  const std::string each = " held out: must have at least one character for each";
  fails("", {0.5}, ErrorKind::kBadData,
        "notes.txt: has 0 bytes, 0 for training, 0 for validation and 0" + each);
  fails("0123456789", {0.25, 0.01}, ErrorKind::kBadData,
        "notes.txt: has 10 bytes, 7 for training, 0 for validation and 3" + each);
  for (const double share : {0.0, 1.0, -0.5, std::nan("")}) {
    fails("ab", {share}, ErrorKind::kBadStudy,
          fmt::format("task.held_out = {}: must be a number above 0 and below 1", share));
  }
  for (const double share : {0.0, 0.5, -0.1}) {
    fails("ab", {0.5, share}, ErrorKind::kBadStudy,
          fmt::format("task.validation = {}: must be above 0, and below 1 together with "
                      "task.held_out = 0.5",
                      share));
  }
}

TEST_CASE("UTF-8 sequences are those of RFC 3629") {
  using headway::utf8_sequence;
  CHECK(utf8_sequence("a", 0) == 1);
  CHECK(utf8_sequence("\u00e9", 0) == 2);
  CHECK(utf8_sequence("\u20ac", 0) == 3);
  CHECK(utf8_sequence("\U0001F600", 0) == 4);
  CHECK(utf8_sequence("x\u20ac", 1) == 3);
  for (const std::string bad :
       {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80", "\xE2\x82", "\xE2\x82z"}) {
    CHECK(utf8_sequence(bad, 0) == 0);
  }
  CHECK(utf8_sequence("", 0) == 0);
  CHECK(utf8_sequence("a", 1) == 0);
  CHECK(headway::with_replacements("a\xE9"
                                   "b\u20ac\xE2\x82") == "a\uFFFDb\u20ac\uFFFD\uFFFD");
  CHECK(headway::with_replacements("").empty());
}

TEST_CASE("The byte tokenizer makes a token of each byte") {
  const ByteTokenizer bytes;
  const std::string text = "a\u20ac\n";
  const std::vector<std::int32_t> tokens = {97, 0xE2, 0x82, 0xAC, 10};
  CHECK(bytes.encode(text) == tokens);
  CHECK(bytes.decode(tokens) == text);
  CHECK(bytes.vocabulary() == 256);
  CHECK_THROWS_AS(bytes.decode(std::vector<std::int32_t>{256}), Error);
  CHECK_THROWS_AS(bytes.decode(std::vector<std::int32_t>{-1}), Error);
}

TEST_CASE("A tokenized corpus knows how many bytes each token stands for") {
  class Runs final : public Tokenizer {  // token t stands for t + 1 letters x
   public:
    [[nodiscard]] std::string name() const override { return "runs"; }
    [[nodiscard]] headway::Index vocabulary() const override { return 3; }
    [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override {
      std::vector<std::int32_t> tokens(text.size() / 3, 2);
      if (text.size() % 3 > 0) tokens.push_back(static_cast<std::int32_t>(text.size() % 3) - 1);
      return tokens;
    }
    [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const override {
      std::string text;
      for (const std::int32_t t : tokens) text.append(static_cast<std::size_t>(t) + 1, 'x');
      return text;
    }
  };
  const TextCorpus digits("t", "0123456789", {0.3, 0.2});
  const TokenizedText bytes = tokenize(digits, ByteTokenizer());
  CHECK(bytes.train.size() == 5);
  CHECK(bytes.validation == std::vector<std::int32_t>{'5', '6'});
  CHECK(bytes.held_out == std::vector<std::int32_t>{'7', '8', '9'});
  CHECK(bytes.token_bytes == std::vector<double>(256, 1.0));
  CHECK(bytes.vocabulary() == 256);
  const TextCorpus letters("t", std::string(10, 'x'), {0.3, 0.2});
  const TokenizedText runs = tokenize(letters, Runs());
  CHECK(runs.train == std::vector<std::int32_t>{2, 1});  // the split is by bytes, not by tokens
  CHECK(runs.held_out == std::vector<std::int32_t>{2});
  CHECK(runs.token_bytes == std::vector<double>{1.0, 2.0, 3.0});
}
