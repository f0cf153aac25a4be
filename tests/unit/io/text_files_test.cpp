#include "headway/io/text_files.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/core/rng.hpp"
#include "headway/io/training_tasks.hpp"
#include "image_files.hpp"

using headway::ErrorKind;
using headway::Index;
using headway::Rng;
using headway::io::BpeTokenizer;
using headway::io::train_bpe_tokenizer;
using headway::testing::check_error;
using headway::testing::ScratchDirectory;

namespace {

// Sentences of a small grammar, a line each.
std::string grammar_text(int sentences, std::uint64_t stream = 0) {
  const std::array<const char*, 5> subjects = {"the physicist", "a spin glass",
                                               "every attention head", "the na\u00efve learner",
                                               "one path"};
  const std::array<const char*, 4> verbs = {"renormalises", "forgets", "averages over", "prunes"};
  const std::array<const char*, 5> objects = {"its kernel", "the temperature", "all other heads",
                                              "the order parameter", "nothing at all"};
  Rng rng(1, headway::StreamPurpose::kTests, stream);
  std::string text;
  for (int i = 0; i < sentences; ++i) {
    text += subjects[rng.uniform_index(5)];
    text += " ";
    text += verbs[rng.uniform_index(4)];
    text += " ";
    text += objects[rng.uniform_index(5)];
    text += ".\n";
  }
  return text;
}

}  // namespace

TEST_CASE("A text file is read and split") {
  const ScratchDirectory scratch;
  const std::string text = grammar_text(50);
  headway::testing::store_bytes(scratch.file("a.txt"), {text.begin(), text.end()});
  const auto corpus = headway::io::read_text_corpus(scratch.file("a.txt"), {0.25, 0.25});
  CHECK(corpus.text() == text);
  CHECK(corpus.train().size() == text.size() / 2);
  check_error(ErrorKind::kMissingFile, {"b.txt"},
              [&] { headway::io::read_text_corpus(scratch.file("b.txt")); });
}

TEST_CASE("Byte-pair encoding learns, shortens and gives every text back") {
  if (!headway::io::has_bpe_tokenizer()) {
    check_error(ErrorKind::kUnavailable, {"libsentencepiece-dev"},
                [] { train_bpe_tokenizer("text", "text"); });
    return;
  }
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

TEST_CASE("A byte-pair model is the same when trained again or loaded, and bad ones are refused") {
  if (!headway::io::has_bpe_tokenizer()) return;
  const std::string text = grammar_text(100);
  const auto bpe = train_bpe_tokenizer(text, "grammar", {512});
  const auto again = train_bpe_tokenizer(text, "grammar", {512});
  CHECK(bpe->encode(text) == again->encode(text));
  const auto loaded = headway::io::load_bpe_tokenizer(bpe->serialize(), "checkpoint");
  CHECK(loaded->encode(grammar_text(20, 5)) == bpe->encode(grammar_text(20, 5)));
  CHECK(loaded->vocabulary() == bpe->vocabulary());
  std::string damaged = bpe->serialize();
  damaged.resize(damaged.size() / 2);
  check_error(ErrorKind::kBadData, {"checkpoint"},
              [&] { headway::io::load_bpe_tokenizer(damaged, "checkpoint"); });
  check_error(ErrorKind::kBadData, {"checkpoint"},
              [] { headway::io::load_bpe_tokenizer("no model", "checkpoint"); });
}

TEST_CASE("Texts and sizes that byte-pair encoding cannot take are refused") {
  if (!headway::io::has_bpe_tokenizer()) return;
  const auto fails = [](const std::string& text, Index vocabulary, ErrorKind kind,
                        const std::string& part) {
    check_error(kind, {part}, [&] { train_bpe_tokenizer(text, "notes", {vocabulary}); });
  };
  fails(grammar_text(5), 511, ErrorKind::kBadStudy, "task.vocabulary = 511: must be");
  fails("a \u2581 b", 600, ErrorKind::kBadData, "notes: byte 2 starts U+2581");
  fails(std::string("a\0b", 3), 600, ErrorKind::kBadData, "notes: byte 1 is U+0000");
  fails("\n\n\n", 600, ErrorKind::kBadData, "notes: byte-pair encoding cannot be learned");
  const auto bpe = train_bpe_tokenizer(grammar_text(20), "notes", {512});
  check_error(ErrorKind::kBadData, {"U+2581"}, [&] { static_cast<void>(bpe->encode("\u2581")); });
  CHECK_THROWS_AS(
      bpe->decode(std::vector<std::int32_t>{static_cast<std::int32_t>(bpe->vocabulary())}),
      headway::Error);
}

TEST_CASE("Tasks of byte-pair tokens learn them from the training part, once for a grid") {
  if (!headway::io::has_bpe_tokenizer()) return;
  const ScratchDirectory scratch;
  const auto store = [&](const char* name, const std::string& text) {
    headway::testing::store_bytes(scratch.file(name), {text.begin(), text.end()});
    return scratch.file(name);
  };
  const std::string train = grammar_text(300), middle = grammar_text(40, 3);
  const std::string tail = grammar_text(60, 7);
  std::string other = tail;
  std::reverse(other.begin(), other.end());
  for (char& c : other) c = static_cast<unsigned char>(c) >= 0x80 ? '?' : c;  // still UTF-8
  other.resize(tail.size(), '?');
  headway::studies::Study study;
  study.task.kind = headway::studies::TaskKind::kText;
  study.task.level = headway::studies::TextLevel::kBpe;
  study.task.vocabulary = 520;
  study.task.text.sequence_length = 12;
  const auto bytes_in_all = static_cast<double>((train + middle + tail).size());
  study.task.text.held_out = (static_cast<double>(tail.size()) - 0.5) / bytes_in_all;
  study.task.text.validation = static_cast<double>(middle.size()) / bytes_in_all;
  study.task.file = store("one.txt", train + middle + tail);
  const auto maker = headway::io::training_task_maker();
  const auto one = maker(study);
  CHECK(one.task->format().vocabulary == 520);
  CHECK(one.tokenizer == train_bpe_tokenizer(train, "train", {520})->serialize());
  headway::training::TaskBatch batch;
  one.task->batch("held_out", 0, 1, batch);
  CHECK(tail.starts_with(one.decode(batch.ids)));

  study.task.file = store("two.txt", train + middle + other);
  const auto two = maker(study);
  CHECK(two.tokenizer == one.tokenizer);
  CHECK(two.content_hash != one.content_hash);
  study.task.file = store("three.txt", grammar_text(300, 9) + middle + tail);
  CHECK(maker(study).tokenizer != one.tokenizer);
  study.task.file = scratch.file("one.txt");
  CHECK(maker(study).content_hash == one.content_hash);
  study.task.vocabulary = 560;
  CHECK(maker(study).content_hash != one.content_hash);
  study.task.level = headway::studies::TextLevel::kBytes;
  const auto bytes = maker(study);
  CHECK(bytes.tokenizer.empty());
  CHECK(bytes.task->format().vocabulary == 256);
  const std::vector<std::int32_t> cut = {'a', 0xE2, 0x82};  // sampled bytes need not be UTF-8
  CHECK(bytes.decode(cut) == "a\uFFFD\uFFFD");
}
