// The sections of a study, and which studies have them.
#include "headway/study/sections.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/study/train_run.hpp"

using namespace headway;  // NOLINT: a test

TEST_CASE("sections have each their name once, in the order of a study file") {
  CHECK(section_names() == std::vector<std::string>{"task", "model", "solve", "align", "prune",
                                                    "sample", "train", "extract", "evaluate",
                                                    "latents", "rank"});
}

TEST_CASE("a key is found in the studies that have it, and nowhere else") {
  const auto there = [](const char* key, TaskKind kind) {
    const Option<Study>* found = find_option(key, kind);
    if (found == nullptr) return false;
    const std::string name = key;
    CHECK(found->name == name.substr(name.find('.') + 1));
    return true;
  };
  for (const TaskKind kind :
       {TaskKind::kHiddenMarkovChain, TaskKind::kDataset, TaskKind::kFuzzyLogic, TaskKind::kText}) {
    for (const char* key : {"seed", "name", "threads", "task.kind", "task.seed", "rank.examples"}) {
      CHECK(there(key, kind));
    }
    for (const char* key : {"task", "model", "heads", "task.", "train.train.heads", ""}) {
      CHECK_FALSE(there(key, kind));
    }
    const bool theory = kind == TaskKind::kHiddenMarkovChain || kind == TaskKind::kDataset;
    for (const char* key : {"model.heads", "solve.start", "align.components", "sample.draws"}) {
      CHECK(there(key, kind) == theory);
    }
    for (const char* key : {"train.heads", "extract.run", "evaluate.examples", "latents.folds"}) {
      CHECK(there(key, kind) == !theory);
    }
    CHECK(there("task.file", kind) == (kind == TaskKind::kDataset || kind == TaskKind::kText));
    CHECK(there("task.tokens", kind) == (kind == TaskKind::kHiddenMarkovChain));
    CHECK(there("task.variables", kind) == (kind == TaskKind::kFuzzyLogic));
    CHECK(there("task.level", kind) == (kind == TaskKind::kText));
  }
}

TEST_CASE("the text of a study is that of its sections, without those that are left out") {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.task.as<DatasetOptions>().file = "x.h5";
  study.align.components = 5;
  const std::string align = section_text(study, "align");
  CHECK(align == "\n[align]\ncomponents = 5\n");
  CHECK(section_text(study, "train").empty());  // not of this study
  CHECK(section_text(study, "task").starts_with("\n[task]\nkind = \"dataset\"\n"));
  const std::string whole = study_text(study);
  const std::size_t at = whole.find(align);
  REQUIRE(at != std::string::npos);
  std::string without = whole;
  without.erase(at, align.size());
  CHECK(study_text(study, {"align"}) == without);
  std::string sections;
  for (const std::string& name : section_names()) sections += section_text(study, name);
  CHECK(whole.ends_with(sections));
}

TEST_CASE("settings are written as keys and values in turn, and read back") {
  const std::vector<Setting> settings = {{"seed", "1"}, {"train.attention", "\"hyla\""}};
  const std::vector<std::string> words = setting_words(settings);
  CHECK(words == std::vector<std::string>{"seed", "1", "train.attention", "\"hyla\""});
  CHECK(settings_of(words) == settings);
  CHECK(settings_of({"seed"}).empty());  // half a setting
  CHECK(setting_words({}).empty());
}
