#include "headway/tasks/bpe_tokenizer.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "grammar_text.hpp"
#include "image_files.hpp"

using headway::ErrorKind;
using headway::Index;
using headway::tasks::BpeTokenizer;
using headway::tasks::train_bpe_tokenizer;
using headway::testing::check_error;
using headway::testing::grammar_text;

TEST_CASE("Without SentencePiece byte-pair encoding says what to install", "[without_bpe]") {
  check_error(ErrorKind::kUnavailable, {"libsentencepiece-dev"},
              [] { train_bpe_tokenizer("text", "text"); });
}

TEST_CASE("Byte-pair encoding learns, shortens and gives every text back", "[bpe]") {
  const headway::tasks::TextCorpus corpus("grammar", grammar_text(400), {0.2, 0.1});
  const auto bpe = train_bpe_tokenizer(corpus.train(), corpus.name(), {600});
  CHECK(bpe->vocabulary() > 256);
  CHECK(bpe->vocabulary() <= 600);
  const auto tokens = headway::tasks::tokenize(corpus, *bpe);
  CHECK(tokens.vocabulary() == bpe->vocabulary());
  CHECK(corpus.held_out().size() > 3 * tokens.held_out.size());
  double bytes = 0.0;
  for (const std::int32_t t : tokens.held_out) {
    bytes += tokens.token_bytes[static_cast<std::size_t>(t)];
  }
  CHECK(bytes == static_cast<double>(corpus.held_out().size()));
  CHECK(bpe->decode(tokens.train) == corpus.train());
  CHECK(bpe->decode(tokens.validation) == corpus.validation());
  CHECK(bpe->decode(tokens.held_out) == corpus.held_out());
  for (const std::int32_t t : tokens.train) REQUIRE((0 <= t && t < bpe->vocabulary()));

  const std::string odd[] = {"",
                             "\n",
                             "\n\n a  b   c \t\r\n",
                             " leading and trailing ",
                             "<unk> <s>",
                             "\u00e9 e\u0301 \ufb01 \u3000 \U0001F600 \u65e5\u672c",
                             "<0x0A>\n",
                             std::string(20000, 'x'),
                             std::string(9000, ' ') + "\u20ac"};
  for (const std::string& text : odd) {
    CAPTURE(text.substr(0, 40));
    CHECK(bpe->decode(bpe->encode(text)) == text);
  }
}

TEST_CASE("A byte-pair model is the same when trained again or loaded, and bad ones are refused",
          "[bpe]") {
  const std::string text = grammar_text(100);
  const auto bpe = train_bpe_tokenizer(text, "grammar", {512});
  const auto again = train_bpe_tokenizer(text, "grammar", {512});
  CHECK(bpe->encode(text) == again->encode(text));
  const auto loaded = headway::tasks::load_bpe_tokenizer(bpe->serialize(), "checkpoint");
  CHECK(loaded->encode(grammar_text(20, 5)) == bpe->encode(grammar_text(20, 5)));
  CHECK(loaded->vocabulary() == bpe->vocabulary());
  std::string damaged = bpe->serialize();
  damaged.resize(damaged.size() / 2);
  check_error(ErrorKind::kBadData, {"checkpoint"},
              [&] { headway::tasks::load_bpe_tokenizer(damaged, "checkpoint"); });
  check_error(ErrorKind::kBadData, {"checkpoint"},
              [] { headway::tasks::load_bpe_tokenizer("no model", "checkpoint"); });
}

TEST_CASE("Texts and sizes that byte-pair encoding cannot take are refused", "[bpe]") {
  const auto fails = [](const std::string& text, Index vocabulary, ErrorKind kind,
                        const std::string& part) {
    check_error(kind, {part}, [&] { train_bpe_tokenizer(text, "notes", {vocabulary}); });
  };
  fails(grammar_text(5), 511, ErrorKind::kBadStudy, "task.vocabulary = 511: must be");
  fails("a \u2581 b", 600, ErrorKind::kBadData, "notes: byte 2 starts U+2581");
  fails(std::string("a\0b", 3), 600, ErrorKind::kBadData, "notes: byte 1 is U+0000");
  fails("\n\n\n", 600, ErrorKind::kBadData, "notes: has no characters but line ends");
  const auto bpe = train_bpe_tokenizer(grammar_text(20), "notes", {512});
  check_error(ErrorKind::kBadData, {"U+2581"}, [&] { static_cast<void>(bpe->encode("\u2581")); });
  CHECK_THROWS_AS(
      bpe->decode(std::vector<std::int32_t>{static_cast<std::int32_t>(bpe->vocabulary())}),
      headway::Error);
}
