#include "headway/latents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "catch.hpp"
#include "headway/error.hpp"
#include "larger.hpp"
#include "small_studies.hpp"
#include "training_tasks.hpp"
#include "verbs/networks/latent_codes.hpp"

using namespace headway;
using Catch::Matchers::ContainsSubstring;
using headway::LatentRun;
using headway::Study;
using headway::TrainedNetwork;

namespace {

Study fuzzy_study() {
  Study study = testing::small_study();
  study.train.run = {};
  study.train.run.device = training::Device::kCpu;
  study.latents.examples = 300;
  study.latents.shuffles = 2;
  study.latents.regularisation = {0.1, 1e-3};
  return study;
}

Study sraven_study() {
  Study study = fuzzy_study();
  study.task.set_kind(headway::TaskKind::kSraven);
  study.task.as<tasks::SravenOptions>().features = 2;
  study.task.as<tasks::SravenOptions>().values = 5;
  return study;
}

/// The network with the weights that its run begins with.
TrainedNetwork first_network(const Study& study) {
  const auto task = headway::make_generated_task(study);
  const training::Trainer trainer(study.train.model, headway::resolved_run(study), *task.task);
  TrainedNetwork out;
  out.study = study;
  out.study_name = "small";
  out.label = "hyla";
  out.parameters = trainer.state().parameters;
  return out;
}

std::string refused(const Study& study) {
  try {
    headway::check_latents(headway::latents_study(study));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    return error.what();
  }
  FAIL("no error");
  return "";
}

OptionValue table(const char* key, bool value) {
  return {OptionValue::Table{{key, {value, {}}}}, {}};
}

}  // namespace

TEST_CASE(
    "codes of fuzzy logic are of the last token to itself, labelled by the terms of the task") {
  const Study study = fuzzy_study();
  const headway::LatentExamples examples =
      headway::latent_examples(headway::latents_study(study),
                               *headway::make_generated_task(headway::latents_study(study)).task);
  REQUIRE(examples.pairs.size() == 1);
  CHECK(examples.pairs[0].query == 11);
  CHECK(examples.pairs[0].key == 11);
  CHECK(examples.label_names.size() == 12);
  CHECK(examples.label_names[6] == "0110");
  REQUIRE(examples.questions.size() >= 2);
  for (const auto& question : examples.questions) {
    CHECK(question.options.penalties == std::vector<double>{0.1, 1e-3});
    CHECK(question.options.folds == study.latents.folds);
    CHECK(question.options.shuffles == 2);
    CHECK(question.options.seed == study.seed);
  }

  tasks::FuzzyLogicOptions options = study.task.as<tasks::FuzzyLogicOptions>();
  options.seed = 5;
  const tasks::FuzzyLogicGenerator generator(options);
  tasks::FuzzyLogicExample example;
  generator.example(tasks::FuzzyLogicSplit::kHeldOut, 7, example);
  const auto& terms = generator.tasks().held_out[static_cast<std::size_t>(example.task)];
  CHECK(examples.held_out.labels[7] == terms);
  CHECK(examples.held_out.answers[7] == static_cast<double>(example.target()));
  const headway::LatentQuestion& term = examples.questions[0];
  const headway::LatentQuestion& bits = examples.questions[1];
  for (int t = 0; t < 12; ++t) {
    const bool has = std::find(terms.begin(), terms.end(), t) != terms.end();
    CHECK(term.held_out.classes[static_cast<std::size_t>(t)][7] == (has ? 1 : 0));
  }
  for (Index k = 0; k < 2; ++k) {
    std::string name;
    for (Index v = 0; v < 4; ++v) name += bits.held_out.targets(7, 4 * k + v) > 0.5 ? '1' : '0';
    CHECK(name ==
          examples.label_names[static_cast<std::size_t>(terms[static_cast<std::size_t>(k)])]);
  }
  // Training tasks and held-out tasks are different sets of terms.
  const std::set<std::vector<int>> seen(examples.train.labels.begin(), examples.train.labels.end());
  for (const std::vector<int>& task : examples.held_out.labels) CHECK(seen.count(task) == 0);
}

TEST_CASE("codes of SRAVEN are of a feature's answer to panels 7 and 8, labelled by its rule") {
  const Study study = headway::latents_study(sraven_study());
  CHECK_FALSE(study.task.as<tasks::SravenOptions>().permuted);
  const headway::LatentExamples examples =
      headway::latent_examples(study, *headway::make_generated_task(study).task);
  REQUIRE(examples.pairs.size() == 4);  // K = 2: tokens of panel p are 2 p and 2 p + 1
  CHECK(examples.pairs[2].query == 17);
  CHECK(examples.pairs[2].key == 13);
  CHECK(examples.pairs[3].query == 17);
  CHECK(examples.pairs[3].key == 15);
  CHECK(examples.pairs_per_code == 2);
  for (const auto& question : examples.questions) {  // the feature is known without the codes
    CHECK(question.train.places == examples.train.features);
    CHECK(question.held_out.places == examples.held_out.features);
  }
  CHECK(examples.label_names[1] == "plus one");

  tasks::SravenOptions options = study.task.as<tasks::SravenOptions>();
  options.seed = 5;
  const tasks::SravenGenerator generator(options);
  tasks::SravenInstance instance;
  std::array<int, 2> count{};
  for (Index i = 0; i < 300; ++i) {
    const auto n = static_cast<std::size_t>(i);
    generator.example(tasks::SravenSplit::kTest, i, instance);
    const auto feature = static_cast<std::size_t>(examples.train.features[n]);
    ++count.at(feature);
    CHECK(examples.train.labels[n].front() == static_cast<int>(instance.rules[feature]));
    CHECK(examples.train.answers[n] == instance.answers[feature]);
  }
  CHECK(count[0] > 100);
  CHECK(count[1] > 100);

  Study last = study;
  last.latents.feature = headway::LatentFeature::kLast;
  for (const int feature :
       headway::latent_examples(last, *headway::make_generated_task(last).task).held_out.features)
    CHECK(feature == 1);
}

TEST_CASE("codes of a feature are its pairs of what the trainer gives", "[torch]") {
  const Study study = headway::latents_study(sraven_study());
  const headway::LatentExamples examples =
      headway::latent_examples(study, *headway::make_generated_task(study).task);
  auto ready = headway::ready_network(first_network(study), study, &headway::make_generated_task);
  const headway::LatentCodes codes = headway::latent_codes(*ready.trainer, examples);
  REQUIRE(codes.held_out.size() == 2);
  REQUIRE(codes.held_out[0].cols() == 4);  // two pairs of two heads
  for (const Index i : {0, 3, 270}) {      // also of the second batch
    const Index f = examples.held_out.features[static_cast<std::size_t>(i)];
    const std::vector<training::TokenPair> pairs = {{16 + f, 12 + f}, {16 + f, 14 + f}};
    const std::vector<float> one = ready.trainer->latent_codes("held_out", i, 1, pairs);
    for (Index l = 0; l < 2; ++l) {
      for (Index j = 0; j < 4; ++j) {
        CHECK_THAT(codes.held_out[static_cast<std::size_t>(l)](i, j),
                   Catch::Matchers::WithinAbs(one[static_cast<std::size_t>(4 * l + j)], 1e-6));
      }
    }
  }
}

TEST_CASE("the first weights of a run are what its untrained control decodes", "[torch]") {
  for (const Study& study : {fuzzy_study(), sraven_study()}) {
    Observer observer;
    const auto result =
        headway::latents({first_network(study)}, &headway::make_generated_task, observer);
    REQUIRE(result.runs.size() == 1);
    const LatentRun& run = result.runs[0];
    REQUIRE(run.layers.size() == 2);
    for (const headway::LatentLayer& layer : run.layers) {
      CHECK(layer.codes == 300);
      CHECK(layer.heads == 2);
      CHECK(layer.train.rows() == 300);
      for (const headway::DecoderReport& decoder : layer.decoders) {
        CHECK(std::isfinite(decoder.untrained));
        CHECK(decoder.decoding.held_out == decoder.untrained);
        CHECK(decoder.decoding.standard_error == decoder.untrained_standard_error);
      }
    }
    CHECK(run.all_layers.layer == 0);
    CHECK(run.all_layers.train.size() == 0);
  }
}

TEST_CASE("the untrained control of a trained network decodes the weights that it began with",
          "[torch]") {
  Study study = fuzzy_study();
  study.latents.shuffles = 0;
  const TrainedNetwork first = first_network(study);
  TrainedNetwork other = first;  // as training would leave it
  testing::shake(&other.parameters);
  Observer observer;
  const auto result = headway::latents({first, other}, &headway::make_generated_task, observer);
  REQUIRE(result.runs.size() == 2);
  double moved = 0.0;
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t d = 0; d < result.runs[0].layers[l].decoders.size(); ++d) {
      const headway::DecoderReport& before = result.runs[0].layers[l].decoders[d];
      const headway::DecoderReport& after = result.runs[1].layers[l].decoders[d];
      CHECK(after.untrained == before.decoding.held_out);
      CHECK(after.untrained_standard_error == before.decoding.standard_error);
      moved = testing::larger(moved, std::abs(after.untrained - after.decoding.held_out));
    }
  }
  CHECK(moved > 1e-3);
}

TEST_CASE("in the first layer a token's weight on itself knows nothing of the context", "[torch]") {
  Study study = fuzzy_study();
  study.latents.examples = 1500;
  Observer observer;
  const auto result =
      headway::latents({first_network(study)}, &headway::make_generated_task, observer);
  const auto& decoders = result.runs[0].layers[0].decoders;
  CHECK(decoders[0].name == "term");
  CHECK(decoders[0].decoding.held_out < decoders[0].decoding.chance + 0.05);
  CHECK(decoders[1].name == "bits");
  CHECK(decoders[1].decoding.held_out < 0.05);
}

TEST_CASE("any number of threads decodes the same bits", "[torch]") {
  const auto decoded = [](int threads) {
    Study study = fuzzy_study();
    study.threads = threads;
    Observer observer;
    return headway::latents({first_network(study)}, &headway::make_generated_task, observer);
  };
  const auto one = decoded(1), two = decoded(2);
  for (std::size_t l = 0; l < 2; ++l) {
    const auto &a = one.runs[0].layers[l], &b = two.runs[0].layers[l];
    CHECK(a.held_out == b.held_out);
    CHECK(a.similarity.codes.cosine == b.similarity.codes.cosine);
    for (std::size_t d = 0; d < a.decoders.size(); ++d) {
      CHECK(a.decoders[d].decoding.held_out == b.decoders[d].decoding.held_out);
      CHECK(a.decoders[d].decoding.shuffled == b.decoders[d].decoding.shuffled);
    }
  }
}

TEST_CASE("only wanted layers are decoded, and the table is over seeds", "[torch]") {
  Study study = fuzzy_study();
  study.latents.layers = {2};
  Study other = study;
  other.seed = 6;
  Observer observer;
  const auto result = headway::latents({first_network(study), first_network(other)},
                                       &headway::make_generated_task, observer);
  REQUIRE(result.runs.size() == 2);
  REQUIRE(result.runs[0].layers.size() == 1);
  CHECK(result.runs[0].layers[0].layer == 2);
  const auto groups = headway::group_latents(result);
  REQUIRE(groups.size() == 6);  // three decoders of layer 2 and of all layers
  CHECK(groups[0].seeds == std::vector<std::uint64_t>{5, 6});
  const double a = result.runs[0].layers[0].decoders[0].decoding.held_out;
  const double b = result.runs[1].layers[0].decoders[0].decoding.held_out;
  CHECK_THAT(groups[0].held_out.mean, Catch::Matchers::WithinRel(0.5 * (a + b), 1e-12));
  CHECK_THAT(groups[0].held_out.standard_error,
             Catch::Matchers::WithinRel(0.5 * std::abs(a - b), 1e-9));
}

TEST_CASE("studies without latent codes and wrong layers are refused") {
  Study text = fuzzy_study();
  text.task.set_kind(headway::TaskKind::kOmniglot);
  CHECK_THROWS_WITH(
      headway::check_latents(text),
      "task.kind = \"omniglot\": must be \"fuzzy_logic\", \"sraven\" or \"arrays\", whose "
      "examples have parts (terms, rules or factors) that codes can be decoded into");
  Study permuted = sraven_study();
  permuted.latents.task = table("permuted", true);
  CHECK(refused(permuted) ==
        "latents.task.permuted = true: must be false: in permuted panels no pair of positions "
        "belongs to one feature");
  Study layers = fuzzy_study();
  layers.latents.layers = {1, 3};
  CHECK_THAT(refused(layers),
             ContainsSubstring("latents.layers[2] = 3: must be layers from 1 to 2"));
  layers.latents.layers = {1, 1};
  CHECK_THAT(refused(layers), ContainsSubstring("latents.layers[2] = 1 after 1") &&
                                  ContainsSubstring("in rising order, each once"));
}

TEST_CASE("held-out tasks that a network was trained on are told, and the networks counted",
          "[torch]") {
  class Heard final : public Observer {
   public:
    void progress(std::string_view stage, double done, double total) override {
      if (stage == "latents") told.emplace_back(done, total);
    }
    void warning(std::string_view text) override { warnings.emplace_back(text); }
    std::vector<std::pair<double, double>> told;
    std::vector<std::string> warnings;
  };
  Study study = fuzzy_study();
  study.latents.layers = {1};
  study.latents.shuffles = 0;
  TrainedNetwork network = first_network(study);
  Heard silent;
  const auto plain = headway::latents({network}, &headway::make_generated_task, silent);
  CHECK(silent.warnings.empty());
  CHECK(plain.threads == 1);
  CHECK(plain.planned == 1);
  CHECK(silent.told == std::vector<std::pair<double, double>>{{0.0, 1.0}, {1.0, 1.0}});
  network.study.latents.task = {OptionValue::Table{{"seed", {std::int64_t{9}, {}}}}, {}};
  Heard heard;
  headway::latents({network}, &headway::make_generated_task, heard);
  const double seen =
      headway::held_out_seen_in_training(network, headway::latents_study(network.study));
  CHECK(seen > 0.0);
  CHECK(heard.warnings ==
        std::vector<std::string>{fmt::format(
            "run 1 (hyla, seed 5): the network was trained on {:.0f} % of these held-out tasks, "
            "because another seed or share splits them differently",
            100.0 * seen)});
}

TEST_CASE("codes of a network with an encoder are refused: they see the query alone") {
  Study study = fuzzy_study();
  TrainedNetwork network;
  network.study = study;
  network.study.train.model.encoder_layers = 1;
  network.label = "hyla";
  network.run = 1;
  Observer observer;
  CHECK_THROWS_WITH(headway::latents({network}, &headway::make_generated_task, observer),
                    ContainsSubstring("run 1 (hyla, seed 5): train.encoder_layers = 1: must be 0"));
}

TEST_CASE("too few tasks to decode are refused, with the run named", "[torch]") {
  Study study = fuzzy_study();
  study.latents.examples = 3;
  Observer observer;
  CHECK_THROWS_WITH(
      headway::latents({first_network(study)}, &headway::make_generated_task, observer),
      ContainsSubstring("run 1 (hyla, seed 5)") && ContainsSubstring("training tasks: must be"));
}
