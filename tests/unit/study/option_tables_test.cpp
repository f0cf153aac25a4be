// Every key of a study: it says what it is for, and its range and default are the recorded ones.
//
// The record is tests/data/option_tables.json. A key that is new, gone or changed on purpose makes
// a new one: HEADWAY_OPTIONS_TO_WRITE=tests/data/option_tables.json unit_sanitized_tests
// "[.write_options]"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "headway/core/option_table.hpp"
#include "headway/saddle_point.hpp"
#include "headway/study/sections.hpp"
#include "headway/tasks/bilinear_sequence_regression.hpp"
#include "headway/tasks/copy.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "headway/tasks/hidden_markov_chain.hpp"
#include "headway/tasks/in_context_regression.hpp"
#include "headway/tasks/modules.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "headway/tasks/sraven.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/train_options.hpp"
#include "headway/training/transformer_options.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::ordered_json;

namespace {

/// Calls look(name, table, options of all defaults) for each table that is part of a study: those
/// of its sections, of [task] one for each kind, and those of the parts that these are made of.
template <class Look>
void for_each_table(const Look& look) {
  for (const Section& section : study_sections()) {
    Study study;
    std::string name = section.name.empty() ? "keys outside any table" : section.name;
    if (section.task) {
      study.task.set_kind(*section.task);
      name += ", kind = " + std::string(word_of(*section.task));
    } else if (section.side == Side::kTraining) {
      study.task.set_kind(TaskKind::kSraven);
    }
    look(name, section.table, study);
  }
  look("model.attention_prior", AttentionPriorOptions::table(), AttentionPriorOptions());
  look("model.value_network", model::ValueNetwork::table(), model::ValueNetwork());
  look("PruneTrained", PruneTrained::table(), PruneTrained());
  look("OmniglotOptions", OmniglotOptions::table(), OmniglotOptions());
  look("SaddlePointOptions", theory::SaddlePointOptions::table(), theory::SaddlePointOptions());
  look("training::TransformerOptions", training::TransformerOptions::table(),
       training::TransformerOptions());
  look("training::TrainOptions", training::TrainOptions::table(), training::TrainOptions());
  look("training::TextOptions", training::TextOptions::table(), training::TextOptions());
  look("training::ArrayOptions", training::ArrayOptions::table(), training::ArrayOptions());
  look("tasks::CopyOptions", tasks::CopyOptions::table(), tasks::CopyOptions());
  look("tasks::ModulesOptions", tasks::ModulesOptions::table(), tasks::ModulesOptions());
  look("tasks::BilinearSequenceOptions", tasks::BilinearSequenceOptions::table(),
       tasks::BilinearSequenceOptions());
  look("tasks::InContextOptions", tasks::InContextOptions::table(), tasks::InContextOptions());
  look("tasks::FuzzyLogicOptions", tasks::FuzzyLogicOptions::table(), tasks::FuzzyLogicOptions());
  look("tasks::SravenOptions", tasks::SravenOptions::table(), tasks::SravenOptions());
  look("tasks::OneShotImagesOptions", tasks::OneShotImagesOptions::table(),
       tasks::OneShotImagesOptions());
  look("tasks::HiddenMarkovChainOptions", tasks::HiddenMarkovChainOptions::table(),
       tasks::HiddenMarkovChainOptions());
}

/// All but the help, which is prose.
Json tables() {
  Json all = Json::object();
  for_each_table([&](const std::string& name, const auto& table, const auto& defaults) {
    Json& keys = all[name] = Json::object();
    for (const auto& option : table.options) {
      Json& about = keys[option.name] = Json::object();
      about["allowed"] = option.allowed;
      about["default"] = option.write(defaults);
      if (option.required) about["required"] = true;
      if (!option.belongs(defaults)) about["belongs"] = false;
      if (!option.belongs_to.empty()) about["belongs_to"] = option.belongs_to;
      if (option.counts_where) {
        about["counts_where"] = option.counts_where->key + " = " + option.counts_where->value;
      }
    }
  });
  return all;
}

bool ends_as_text(char c) { return c != ' ' && c != ',' && c != ':' && c != ';'; }

}  // namespace

TEST_CASE("every key of a study has a name of its own, a help text and a range in words") {
  int keys = 0;
  for_each_table([&](const std::string& where, const auto& table, const auto& /*defaults*/) {
    std::set<std::string> names;
    for (const auto& option : table.options) {
      INFO(where << ": " << option.name);
      CHECK(names.insert(option.name).second);
      for (const std::string& text : {option.name, option.help, option.allowed}) {
        CHECK_FALSE(text.empty());
        if (text.empty()) continue;
        CHECK(text.front() != ' ');
        CHECK(ends_as_text(text.back()));
        CHECK(text.find("  ") == std::string::npos);
        CHECK(text.find('\n') == std::string::npos);
      }
      CHECK(option.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") ==
            std::string::npos);
      // A phrase, of which no part is lost.
      CHECK(option.help.size() >= std::string_view("attention layers L").size());
      CHECK(std::count(option.help.begin(), option.help.end(), ' ') >= 2);
      CHECK(std::count(option.help.begin(), option.help.end(), '(') ==
            std::count(option.help.begin(), option.help.end(), ')'));
      CHECK(std::string_view(".,;:)=").find(option.help.front()) == std::string_view::npos);
      ++keys;
    }
  });
  CHECK(keys > 200);
}

TEST_CASE("keys of one section of one kind of task do not hide each other") {
  for (const TaskDescription& kind : task_kinds()) {
    std::set<std::string> names;
    for (const Section& section : study_sections()) {
      if (!applies(section, kind.kind)) continue;
      for (const auto& option : section.table.options) {
        INFO(kind.help << ", " << section.name << "." << option.name);
        CHECK(names.insert(section.name + "." + option.name).second);
      }
    }
  }
}

TEST_CASE("every section and every kind of task says what it is for") {
  for (const Section& section : study_sections()) {
    INFO(section.name);
    CHECK(section.help.empty() == section.name.empty());
  }
  std::set<std::string> helps;
  for (const TaskDescription& kind : task_kinds()) CHECK(helps.insert(kind.help).second);
}

TEST_CASE("keys, ranges and defaults are the recorded ones") {
  std::ifstream file(HEADWAY_TEST_DATA "/option_tables.json");
  REQUIRE(file);
  const Json recorded = Json::parse(file);
  const Json found = tables();
  for (const auto& [table, keys] : found.items()) {
    REQUIRE(recorded.contains(table));
    for (const auto& [key, about] : keys.items()) {
      INFO(table << ": " << key);
      REQUIRE(recorded[table].contains(key));
      CHECK(about == recorded[table][key]);
    }
    CHECK(keys.size() == recorded[table].size());  // nothing is gone
  }
  CHECK(found == recorded);  // in this order
}

TEST_CASE("writes the record of keys, ranges and defaults", "[.write_options]") {
  const char* path = std::getenv("HEADWAY_OPTIONS_TO_WRITE");
  REQUIRE(path != nullptr);
  std::ofstream(path) << tables().dump(1) << '\n';
}
