#include "headway/verbs/networks/trained.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/training/backend.hpp"
#include "small_studies.hpp"

using namespace headway;
using headway::Study;
using headway::TaskChange;
using headway::TrainedNetwork;
using testing::small_study;

namespace {

TrainedNetwork trained(const Study& study) {
  const std::vector<headway::TrainRun> runs = {{{}, study}};
  Observer observer;
  const auto result = headway::train(runs, &headway::make_generated_task, observer);
  TrainedNetwork out;
  out.study = study;
  out.study_name = "small";
  out.parameters = result.runs.front().state.parameters;
  return out;
}

/// A table of keys of [task].
TaskChange keys(std::vector<OptionEntry> entries) {
  TaskChange change;
  change.keys.data = std::move(entries);
  return change;
}

std::string message_of(const std::function<void()>& work, ErrorKind kind) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  FAIL("no error");
  return "";
}

}  // namespace

TEST_CASE("the task of a trained network keeps its split unless a seed is given") {
  TrainedNetwork network;
  network.study = small_study();
  const Study own = headway::changed_study(network, {});
  CHECK(own.task.seed == 5);
  CHECK(headway::examples_hash(*headway::make_generated_task(own).task) ==
        headway::examples_hash(*headway::make_generated_task(network.study).task));

  TaskChange other;
  other.study = small_study();
  other.study->seed = 77;  // of other weights: no part of the data here
  other.study->task.as<tasks::FuzzyLogicOptions>().sequence_length = 9;
  const Study shorter = headway::changed_study(network, other);
  CHECK(shorter.task.seed == 5);
  CHECK(shorter.task.as<tasks::FuzzyLogicOptions>().sequence_length == 9);
  CHECK(headway::held_out_seen_in_training(network, shorter) == 0.0);

  other.study->task.seed = 6;
  const Study elsewhere = headway::changed_study(network, other);
  CHECK(elsewhere.task.seed == 6);
  const double seen = headway::held_out_seen_in_training(network, elsewhere);
  CHECK(seen > 0.2);  // half of the pairs were trained on, in one split as in the other
  CHECK(seen < 0.8);

  other.keys.data = OptionValue::Table{{"sequence_length", {std::int64_t{7}, {}}}};
  CHECK(
      headway::changed_study(network, other).task.as<tasks::FuzzyLogicOptions>().sequence_length ==
      7);
}

TEST_CASE("of the held-out tasks of a study those count that the network's training had") {
  const auto share = [](const auto& held_out, const auto& train) {
    double seen = 0.0;
    for (const auto& task : held_out) {
      for (const auto& known : train) seen += task == known ? 1.0 : 0.0;
    }
    return seen / static_cast<double>(held_out.size());
  };
  TrainedNetwork network;
  network.study = small_study();
  Study study = small_study();
  study.seed = 8;
  auto& own = network.study.task.as<tasks::FuzzyLogicOptions>();
  auto& other = study.task.as<tasks::FuzzyLogicOptions>();
  own.held_out = 0.3;  // and so trained on more tasks than the other study would
  other.held_out = 0.6;
  auto own_seeded = own, other_seeded = other;
  own_seeded.seed = 5;
  other_seeded.seed = 8;
  const double wanted = share(tasks::split_fuzzy_logic_tasks(other_seeded).held_out,
                              tasks::split_fuzzy_logic_tasks(own_seeded).train);
  CHECK(headway::held_out_seen_in_training(network, study) == wanted);
  CHECK(wanted != share(tasks::split_fuzzy_logic_tasks(own_seeded).held_out,
                        tasks::split_fuzzy_logic_tasks(other_seeded).train));
  study.task.seed = 5;  // of its data: the tasks are drawn alike
  other.held_out = 0.3;
  CHECK(headway::held_out_seen_in_training(network, study) == 0.0);

  network.study.task.set_kind(headway::TaskKind::kSraven);
  study.task.set_kind(headway::TaskKind::kSraven);
  study.task.seed = 9;
  study.task.as<tasks::SravenOptions>().held_out = 0.5;
  tasks::SravenOptions trained_on = network.study.task.as<tasks::SravenOptions>();
  tasks::SravenOptions asked = study.task.as<tasks::SravenOptions>();
  trained_on.seed = 5;
  asked.seed = 9;
  CHECK(headway::held_out_seen_in_training(network, study) ==
        share(tasks::split_sraven_rule_sets(asked).held_out,
              tasks::split_sraven_rule_sets(trained_on).train));
  network.study.task.set_kind(headway::TaskKind::kText);
  study.task.set_kind(headway::TaskKind::kText);
  CHECK(headway::held_out_seen_in_training(network, study) == 0.0);
  auto& own_text = network.study.task.as<headway::TextTaskOptions>();
  auto& other_text = study.task.as<headway::TextTaskOptions>();
  own_text.file = other_text.file = "a.txt";
  own_text.text.held_out = 0.1;
  own_text.text.validation = 0.1;
  other_text.text.held_out = 0.8;  // its first three quarters were trained on
  CHECK_THAT(headway::held_out_seen_in_training(network, study),
             Catch::Matchers::WithinAbs(0.75, 1e-12));
  other_text.file = "b.txt";
  CHECK(headway::held_out_seen_in_training(network, study) == 0.0);
}

TEST_CASE("one-shot images keep the seed of the labels, and the characters of the test set") {
  TrainedNetwork network;
  network.study = small_study();
  network.study_name = "small";
  network.study.task.set_kind(headway::TaskKind::kOmniglot);
  auto& own = network.study.task.as<headway::OmniglotOptions>();
  own.files = {"a.zip", "b.zip"};
  using Catch::Matchers::ContainsSubstring;
  const auto refused = [&](const TaskChange& change) {
    return message_of([&] { headway::changed_study(network, change); }, ErrorKind::kBadStudy);
  };
  CHECK(headway::changed_study(network, {}).task.seed == 5);
  CHECK_THAT(refused(keys({{"seed", {std::int64_t{7}, {}}}})),
             ContainsSubstring("task.seed = 7: must be 5, as in the training of small"));
  CHECK_THAT(refused(keys({{"test", {0.5, {}}}})),
             ContainsSubstring("task.test: must be 0.25") && ContainsSubstring("a.zip"));
  TaskChange other;
  other.study = network.study;
  other.study->task.as<headway::OmniglotOptions>().files = {"b.zip"};
  CHECK_THAT(refused(other), ContainsSubstring("task.files: must be the same files"));
  other.study->task.as<headway::OmniglotOptions>().files = {"c.zip"};
  other.study->task.as<headway::OmniglotOptions>().images.test = 0.5;
  CHECK(headway::changed_study(network, other).task.as<headway::OmniglotOptions>().files.front() ==
        "c.zip");
}

TEST_CASE("tasks that are no task for the network are refused") {
  TrainedNetwork network;
  network.study = small_study();
  network.study_name = "small";
  const auto refused = [&](const TaskChange& change) {
    return message_of([&] { headway::changed_study(network, change); }, ErrorKind::kBadStudy);
  };
  using Catch::Matchers::ContainsSubstring;
  CHECK_THAT(refused(keys({{"kind", {std::string("sraven"), {}}}})),
             ContainsSubstring("must be \"fuzzy_logic\", which small was trained on"));
  CHECK_THAT(refused(keys({{"sequence_lenth", {std::int64_t{3}, {}}}})),
             ContainsSubstring("did you mean \"sequence_length\""));
  CHECK_THAT(refused(keys({{"held_out", {7.0, {}}}})), ContainsSubstring("task.held_out = 7"));
  TaskChange swept;
  swept.study = small_study();
  swept.study->sweep = {{"task.held_out", {{0.3, {}}, {0.5, {}}}, {}}};
  CHECK(refused(swept) ==
        "sweep.task.held_out: must be absent in a study that gives the data for another network: "
        "set the key to one value");
}

TEST_CASE("a trained network is itself again, whatever the order of its weights", "[torch]") {
  const Study study = small_study();
  TrainedNetwork network = trained(study);
  const auto task = headway::make_generated_task(study);
  training::Trainer direct(study.train.model, headway::resolved_run(study), *task.task);
  direct.set_parameters(network.parameters);
  const training::Evaluation wanted = direct.evaluate("held_out");

  std::reverse(network.parameters.begin(), network.parameters.end());
  const Study own = headway::changed_study(network, {});
  auto ready = headway::ready_network(network, own, &headway::make_generated_task);
  const training::Evaluation found = ready.trainer->evaluate("held_out");
  CHECK(found.loss == wanted.loss);
  CHECK(found.metrics == wanted.metrics);
  const std::vector<training::TokenPair> pairs = {{11, 11}};
  CHECK(ready.trainer->latent_codes("held_out", 0, 3, pairs) ==
        direct.latent_codes("held_out", 0, 3, pairs));
}

TEST_CASE("a network goes to sequences of other lengths with the buckets it has", "[torch]") {
  TrainedNetwork network = trained(small_study());
  for (const std::int64_t length : {6, 12, 30}) {
    const Study study = headway::changed_study(network, keys({{"sequence_length", {length, {}}}}));
    auto ready = headway::ready_network(network, study, &headway::make_generated_task);
    CHECK(ready.trainer->model_options().position_buckets == 12);
    CHECK(std::isfinite(ready.trainer->evaluate("held_out").loss));
  }
}

TEST_CASE("weights that are not the network's, and tokens it cannot read, are refused", "[torch]") {
  using Catch::Matchers::ContainsSubstring;
  TrainedNetwork network = trained(small_study());
  const auto make = [&](const Study& study) {
    return [&network, study] {
      headway::ready_network(network, study, &headway::make_generated_task);
    };
  };
  const Study wider = headway::changed_study(network, keys({{"variables", {std::int64_t{3}, {}}}}));
  CHECK_THAT(message_of(make(wider), ErrorKind::kBadStudy),
             ContainsSubstring("tokens of 4 numbers") && ContainsSubstring("5 and 1"));
  std::reverse(network.parameters.begin(), network.parameters.end());  // their order is no matter
  CHECK(message_of(make(wider), ErrorKind::kBadStudy) ==
        "[task]: gives tokens of 4 numbers and 1 output: must be 5 and 1, as in the training of "
        "the network");
  std::reverse(network.parameters.begin(), network.parameters.end());
  const Study own = headway::changed_study(network, {});
  network.study.train.model.mlp_dim = 16;
  CHECK_THAT(message_of(make(own), ErrorKind::kBadData), ContainsSubstring("up.weight"));
  network.study.train.model.mlp_dim = 8;
  network.parameters.pop_back();
  CHECK_THAT(message_of(make(own), ErrorKind::kBadData), ContainsSubstring("tensors"));
}
