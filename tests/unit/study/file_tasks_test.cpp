// Tasks whose examples come from files, and paths that are typed: each is read once and named in
// full.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/study/resolve.hpp"
#include "headway/train_task.hpp"
#include "image_sets.hpp"

using namespace headway;

namespace {

/// Files in memory that count how often they are read.
struct Files {
  [[nodiscard]] TaskFiles reading() {
    TaskFiles files;
    files.text = [this](const std::string& path, const tasks::TextShares& shares) {
      ++texts;
      std::string text;
      for (int i = 0; i < 40; ++i) text += path + " says the same again. ";
      return tasks::TextCorpus(path, text, shares);
    };
    files.drawings = [this](const std::vector<std::string>& paths) {
      ++drawings;
      return testing::random_image_set(paths.at(0) == "small.zip" ? 20 : 24);
    };
    files.other_images = [this](const OutOfDistributionSet& set) {
      ++others;
      return testing::random_image_set(set.images == "mnist" ? 5 : 6);
    };
    return files;
  }
  int texts = 0, drawings = 0, others = 0;
};

Study drawings_study() {
  Study study;
  study.seed = 3;
  study.task.set_kind(TaskKind::kOmniglot);
  auto& task = study.task.as<OmniglotOptions>();
  task.files = {"large.zip"};
  task.out_of_distribution = {{"digits", "mnist", "labels", true},
                              {"letters", "emnist", "l", true}};
  return study;
}

Study text_study(const std::string& file) {
  Study study;
  study.task.set_kind(TaskKind::kText);
  study.task.as<TextTaskOptions>().file = file;
  study.task.as<TextTaskOptions>().text.sequence_length = 8;
  return study;
}

/// The text of a key of [task] after overlays.
std::string typed(const std::vector<std::string>& overlays, const std::string& key) {
  const OptionValue task = task_overlays(overlays);
  const OptionValue* found = value_at(task, key);
  return found != nullptr ? text_of(*found) : "none";
}

}  // namespace

TEST_CASE("one-shot examples have the seed of the data, and a generator for each set of images") {
  Files files;
  Study study = drawings_study();
  const training::OneShotExamples examples = one_shot_examples(study, files.reading());
  CHECK(examples.images->options().seed == 3);
  CHECK(examples.images->images().classes.size() == 24);
  REQUIRE(examples.out_of_distribution.size() == 2);
  CHECK(examples.out_of_distribution[0].name == "digits");
  CHECK(examples.out_of_distribution[0].examples->images().classes.size() == 5);
  CHECK(examples.out_of_distribution[1].name == "letters");
  CHECK(examples.out_of_distribution[1].examples->images().classes.size() == 6);
  study.task.seed = 11;
  const training::OneShotExamples other = one_shot_examples(study, files.reading());
  CHECK(other.images->options().seed == 11);
  CHECK(other.out_of_distribution[0].examples->options().seed == 11);
}

TEST_CASE("a one-shot task has a split for each set, and its hash knows images, names and seed") {
  Files files;
  const TaskMaker make = make_task_maker(files.reading());
  const auto hash = [&](const auto& change) {
    Study study = drawings_study();
    change(study, study.task.as<OmniglotOptions>());
    return make(study).content_hash;
  };
  const auto nothing = [](Study&, OmniglotOptions&) {};
  const std::string usual = hash(nothing);
  CHECK(usual.size() == 64);
  CHECK(hash(nothing) == usual);
  CHECK(hash([](Study& s, OmniglotOptions&) { s.seed = 4; }) != usual);
  CHECK(hash([](Study&, OmniglotOptions& o) { o.files = {"small.zip"}; }) != usual);
  CHECK(hash([](Study&, OmniglotOptions& o) { o.out_of_distribution[1].name = "l"; }) != usual);
  CHECK(hash([](Study&, OmniglotOptions& o) { o.out_of_distribution[1].images = "mnist"; }) !=
        usual);
  CHECK(hash([](Study&, OmniglotOptions& o) { o.out_of_distribution.pop_back(); }) != usual);
  const TrainTask made = make(drawings_study());
  training::TaskBatch batch;
  for (const char* split : {"train", "validation", "test", "digits", "letters"}) {
    made.task->batch(split, 0, 2, batch);
    CHECK(batch.targets.size() == 2);
  }
  CHECK_FALSE(made.decode);
  CHECK(made.tokenizer.empty());
}

TEST_CASE("the runs of a grid read the same drawings and texts once, and others anew") {
  Files files;
  const TaskMaker make = make_task_maker(files.reading());
  Study study = drawings_study();
  for (const std::uint64_t seed : {1, 2, 3}) {
    study.seed = seed;
    make(study);
  }
  CHECK(files.drawings == 1);
  study.task.as<OmniglotOptions>().files = {"small.zip"};
  make(study);
  CHECK(files.drawings == 2);
  make(drawings_study());  // the last ones alone are kept
  CHECK(files.drawings == 3);

  const TrainTask one = make(text_study("one"));
  make(text_study("one"));
  CHECK(files.texts == 1);
  const TrainTask two = make(text_study("two"));
  CHECK(files.texts == 2);
  CHECK(one.content_hash != two.content_hash);
  training::TaskBatch batch;
  two.task->batch("train", 0, 1, batch);
  Study halves = text_study("two");
  halves.task.as<TextTaskOptions>().text.held_out = 0.4;
  const TrainTask longer = make(halves);
  CHECK(files.texts == 3);
  CHECK(longer.task->size("held_out") > two.task->size("held_out"));
  CHECK(longer.content_hash == two.content_hash);  // it is of the whole text
  const std::vector<std::int32_t> ids = {'o', 'n', 'e'};
  CHECK(one.decode(ids) == "one");
}

TEST_CASE("the task of a grid is that of each study: generated ones need no files") {
  Study study;
  study.task.set_kind(TaskKind::kFuzzyLogic);
  CHECK(make_task_maker({})(study).content_hash == make_generated_task(study).content_hash);
}

TEST_CASE("keys of [task] that are typed stand alone, with paths from the working directory") {
  namespace fs = std::filesystem;
  const std::string here = fs::current_path().string();
  CHECK(typed({"task.file=a/../b.txt"}, "file") == "\"" + here + "/b.txt\"");
  CHECK(typed({"task.file=/data/b.txt"}, "file") == "\"/data/b.txt\"");
  CHECK(typed({"task.files=[\"x.zip\", \"/y.zip\"]"}, "files") ==
        "[\"" + here + "/x.zip\", \"/y.zip\"]");
  CHECK(typed({"task.kind=text"}, "kind") == "\"text\"");  // no path
  CHECK(typed({"task.features=3", "task.features=5", "task.permuted=false"}, "features") == "5");
  CHECK(typed({"task.features=3", "task.permuted=false"}, "permuted") == "false");
  const OptionValue none = task_overlays({});
  REQUIRE(none.get<OptionValue::Table>() != nullptr);
  CHECK(none.get<OptionValue::Table>()->empty());
  try {
    task_overlays({"task.features"});
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUsage);
    CHECK(std::string(error.what()) ==
          "--set \"task.features\": must be section.key=value, for example "
          "model.temperature=0.1");
  }
}
