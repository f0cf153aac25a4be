#include <algorithm>
#include <string>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "grammar_text.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/tasks/bpe_tokenizer.hpp"
#include "image_files.hpp"

using headway::ErrorKind;
using headway::tasks::train_bpe_tokenizer;
using headway::testing::check_error;
using headway::testing::grammar_text;
using headway::testing::ScratchDirectory;

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

TEST_CASE("Tasks of byte-pair tokens learn them from the training part, once for a grid", "[bpe]") {
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
  headway::Study study;
  study.task.set_kind(headway::TaskKind::kText);
  study.task.as<headway::TextTaskOptions>().level = headway::TextLevel::kBpe;
  study.task.as<headway::TextTaskOptions>().vocabulary = 520;
  study.task.as<headway::TextTaskOptions>().text.sequence_length = 12;
  const auto bytes_in_all = static_cast<double>((train + middle + tail).size());
  study.task.as<headway::TextTaskOptions>().text.held_out =
      (static_cast<double>(tail.size()) - 0.5) / bytes_in_all;
  study.task.as<headway::TextTaskOptions>().text.validation =
      static_cast<double>(middle.size()) / bytes_in_all;
  study.task.as<headway::TextTaskOptions>().file = store("one.txt", train + middle + tail);
  const auto maker = headway::make_task_maker(headway::io::task_files());
  const auto one = maker(study);
  CHECK(one.task->format().vocabulary == 520);
  CHECK(one.tokenizer == train_bpe_tokenizer(train, "train", {520})->serialize());
  headway::training::TaskBatch batch;
  one.task->batch("held_out", 0, 1, batch);
  CHECK(tail.starts_with(one.decode(batch.ids)));

  study.task.as<headway::TextTaskOptions>().file = store("two.txt", train + middle + other);
  const auto two = maker(study);
  CHECK(two.tokenizer == one.tokenizer);
  CHECK(two.content_hash != one.content_hash);
  study.task.as<headway::TextTaskOptions>().file =
      store("three.txt", grammar_text(300, 9) + middle + tail);
  CHECK(maker(study).tokenizer != one.tokenizer);
  study.task.as<headway::TextTaskOptions>().file = scratch.file("one.txt");
  CHECK(maker(study).content_hash == one.content_hash);
  study.task.as<headway::TextTaskOptions>().vocabulary = 560;
  CHECK(maker(study).content_hash != one.content_hash);
  study.task.as<headway::TextTaskOptions>().level = headway::TextLevel::kBytes;
  const auto bytes = maker(study);
  CHECK(bytes.tokenizer.empty());
  CHECK(bytes.task->format().vocabulary == 256);
  const std::vector<std::int32_t> cut = {'a', 0xE2, 0x82};  // sampled bytes need not be UTF-8
  CHECK(bytes.decode(cut) == "a\uFFFD\uFFFD");
}
