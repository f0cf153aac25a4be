// Heads removed from trained networks themselves.
#include "headway/prune_network.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "mask_slopes.hpp"
#include "training/model/transformer_parameters.hpp"
#include "training_tasks.hpp"

using namespace headway;
using Catch::Matchers::WithinAbs;
using training::NamedTensor;

namespace {

constexpr int kHeads = 3;

/// A network of random weights on a generated task, and a study that prunes it.
struct Problem {
  explicit Problem(const std::string& variant,
                   headway::TaskKind kind = headway::TaskKind::kFuzzyLogic) {
    network.study.task.set_kind(kind);
    if (kind == headway::TaskKind::kSraven) {
      network.study.task.as<tasks::SravenOptions>().features = 2;
      network.study.task.as<tasks::SravenOptions>().values = 5;
    } else {
      network.study.task.as<tasks::FuzzyLogicOptions>().sequence_length = 7;
    }
    network.study.train.model = testing::small_model();
    network.study.train.model.attention = variant;
    network.study.train.run.device = training::Device::kCpu;
    network.study.threads = 1;
    network.label = network.variant = variant;
    network.weights_sha256 = "abc";
    const auto task = headway::make_generated_task(network.study);
    network.parameters = training::detail::initial_parameters(
        training::detail::parameter_shapes(network.study.train.model, task.task->format()), 3);
    testing::shake(&network.parameters);
    study = network.study;
    study.prune.trained().examples = 40;
    study.prune.trained().sensitivity_examples = 6;
    study.prune.trained().mean_examples = 4;
    study.prune.random_orders = 2;
    study.prune.resamples = 10;
    study.prune.permutations = 50;
  }
  [[nodiscard]] headway::NetworkPruneResult prune(
      const std::vector<headway::TheoryScores>& theory = {}) const {
    Observer observer;
    return headway::prune_network(study, {&network, 1}, theory, &headway::make_generated_task,
                                  observer);
  }

  headway::TrainedNetwork network;
  headway::Study study;
};

/// Heads `a` and `b` of the second layer change places in every tensor.
void swap_heads(std::vector<NamedTensor>* tensors, Index a, Index b) {
  const auto swap = [](NamedTensor& t, Index first, Index second, Index count) {
    std::swap_ranges(t.values.begin() + first, t.values.begin() + first + count,
                     t.values.begin() + second);
  };
  for (NamedTensor& t : *tensors) {
    const std::string prefix = "layers.2.";
    if (!t.name.starts_with(prefix)) continue;
    const std::string name = t.name.substr(prefix.size());
    const auto size = static_cast<Index>(t.values.size());
    const bool heads_first = name.starts_with("query") || name.starts_with("key") ||
                             name.starts_with("value") || name == "mixing";
    if (heads_first) swap(t, a * size / kHeads, b * size / kHeads, size / kHeads);
    const Index width = name == "output.weight" || name == "positions" ? t.shape[1] : 0;
    const Index part = width / kHeads;
    for (Index row = 0; width > 0 && row * width < size; ++row) {
      swap(t, row * width + a * part, row * width + b * part, part);
    }
  }
}

class Stops final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return true; }
};

}  // namespace

TEST_CASE("costs are those of the trainer's own metric without the head", "[torch]") {
  for (const std::string variant : {"softmax", "hyla"}) {
    INFO(variant);
    const Problem p(variant);
    const headway::NetworkPruneResult result = p.prune();
    REQUIRE(result.runs.size() == 1);
    const headway::RunPruning& run = result.runs.front();
    CHECK(run.metric == "r2");
    CHECK(run.network.measured_on == "held_out");
    CHECK(run.network.greedy_on == "validation");
    REQUIRE(run.heads.size() == 6);
    REQUIRE(run.splits.size() == 3);
    // Head 2 of layer 2, removed by hand.
    headway::TrainedNetwork pruned = p.network;
    for (NamedTensor& t : pruned.parameters) {
      const bool values = t.name == "layers.2.value.weight" || t.name == "layers.2.value.bias";
      if (values && variant == "hyla") {
        const auto third = static_cast<std::ptrdiff_t>(t.values.size() / 3);
        std::fill_n(t.values.begin() + third, third, 0.0F);
      }
      for (std::size_t row = 0; t.name == "layers.2.output.weight" && row < 12; ++row) {
        std::fill_n(t.values.begin() + static_cast<std::ptrdiff_t>(row * 9 + 3), 3, 0.0F);
      }
    }
    const auto evaluate = [&](const headway::TrainedNetwork& network, const std::string& split) {
      auto ready = headway::ready_network(network, network.study, &headway::make_generated_task);
      return ready.trainer->evaluate(split, 40);
    };
    const auto whole = evaluate(p.network, "unknown_terms");
    const auto without = evaluate(pruned, "unknown_terms");
    CHECK(run.splits[2].split == "unknown_terms");
    CHECK_THAT(run.splits[2].drop[4].mean,
               WithinAbs(whole.metric("r2") - without.metric("r2"), 1e-5));
    CHECK_THAT(run.splits[2].rise[4].mean, WithinAbs(without.loss - whole.loss, 1e-6));
    CHECK(std::abs(run.splits[2].rise[4].mean) > 1e-4);
    CHECK(run.heads[4].layer == 2);
    CHECK(run.heads[4].rise.mean == run.splits[1].rise[4].mean);
    CHECK(run.heads[4].gradient_sensitivity > 0.0);
    CHECK(run.heads[4].rise_mean.mean != run.heads[4].rise.mean);
    // One head stays in each layer; the curves begin with the whole network.
    CHECK(run.network.greedy.quality.size() == 5);
    CHECK(run.network.baselines[0].rising.quality.size() == 5);
    CHECK(run.network.greedy.quality[0].accuracy.mean == run.network.sets[1].quality.accuracy.mean);
    CHECK(run.network.random.size() == 2);
  }
}

TEST_CASE("heads in another order have their changes in that order", "[torch]") {
  for (const std::string variant : {"softmax", "hyla_deep"}) {
    INFO(variant);
    Problem p(variant);
    p.study.prune.cumulative = false;
    const auto before = p.prune().runs.front().heads;
    swap_heads(&p.network.parameters, 0, 2);
    const auto after = p.prune().runs.front().heads;
    for (const auto& [one, other] : {std::pair{3, 5}, {5, 3}, {4, 4}, {0, 0}}) {
      CHECK_THAT(after[other].rise.mean,
                 WithinAbs(before[one].rise.mean, 1e-5 * (1 + std::abs(before[one].rise.mean))));
      CHECK_THAT(
          after[other].rise_mean.mean,
          WithinAbs(before[one].rise_mean.mean, 1e-4 * (1 + std::abs(before[one].rise_mean.mean))));
      CHECK_THAT(after[other].gradient_sensitivity,
                 WithinAbs(before[one].gradient_sensitivity,
                           1e-4 * (1 + before[one].gradient_sensitivity)));
    }
    CHECK(std::abs(before[3].rise.mean - before[5].rise.mean) > 1e-4);
  }
}

TEST_CASE("the theory's scores are those of the parts of each head", "[torch]") {
  const Problem p("hyla");
  const std::vector<headway::TheoryScores> theory = {
      {"one N = 10 T = 0.1",
       "abc",
       {"L2 residual", "L2H1 generates", "L2H2 generates", "L2H3 generates", "L2H1 reads",
        "L2H3 reads"},
       {9.0, 1.0, 2.0, 3.0, 10.0, 30.0},
       {0.9, 0.1, 0.2, 0.3, 0.0, 0.0},
       {0.8, 0.3, 0.2, 0.1, 0.0, 0.0}}};
  const auto result = p.prune(theory);
  const auto& scores = result.runs.front().network.baselines;
  REQUIRE(scores.size() == 5);
  CHECK(scores[2].name == "theory error_rise one N = 10 T = 0.1");
  CHECK(scores[3].name == "theory U=1 one N = 10 T = 0.1");
  CHECK(scores[3].score[3] == 0.3);
  CHECK(scores[4].score[3] == 11.0);
  CHECK(scores[4].score[4] == 2.0);
  CHECK(scores[4].score[5] == 33.0);
  CHECK(std::isnan(scores[4].score[0]));  // a layer that the theory was not told of
  CHECK(scores[4].rising.order == std::vector<int>{4, 3});
  CHECK(std::isfinite(scores[4].error_rise.spearman));
  REQUIRE(result.groups.size() == 1);
  CHECK(result.groups[0].scores[4].name == "theory score N = 10 T = 0.1");
  CHECK(result.groups[0].scores[4].rise.mean == scores[4].error_rise.spearman);
  auto other = theory;
  other[0].weights_sha256 = "another";
  try {
    static_cast<void>(p.prune(other));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    CHECK(std::string(error.what()) ==
          "prune.theory: one N = 10 T = 0.1 belongs to a network with other weights than the runs "
          "have: must come from headway extract of one of these runs, with the same weights (best "
          "or last)");
  }
}

TEST_CASE("networks that are pruned are counted, and grouped over their seeds", "[torch]") {
  class Share final : public Observer {
   public:
    void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
      if (stage == "prune") told.emplace_back(done, total);
    }
    std::vector<std::pair<double, double>> told;
  };
  Problem p("softmax");
  p.study.prune.cumulative = false;
  std::vector<headway::TrainedNetwork> networks(2, p.network);
  networks[1].study.seed = p.network.study.seed + 1;
  Share share;
  const auto result =
      headway::prune_network(p.study, networks, {}, &headway::make_generated_task, share);
  CHECK(share.told == std::vector<std::pair<double, double>>{{1.0, 2.0}, {2.0, 2.0}});
  CHECK(result.threads == 1);
  CHECK(result.planned == 2);
  REQUIRE(result.groups.size() == 1);
  CHECK(result.groups[0].label == "softmax");
  CHECK(result.groups[0].seeds ==
        std::vector<std::uint64_t>{networks[0].study.seed, networks[1].study.seed});
  const auto& baselines = result.runs[0].network.baselines;
  REQUIRE(result.groups[0].scores.size() == baselines.size());
  for (std::size_t i = 0; i < baselines.size(); ++i) {
    const headway::ScoreAgreement& score = result.groups[0].scores[i];
    CHECK(score.name == baselines[i].name);
    CHECK(score.rise.count == 2);
    CHECK_THAT(score.rise.mean,
               WithinAbs(0.5 * (baselines[i].error_rise.spearman +
                                result.runs[1].network.baselines[i].error_rise.spearman),
                         1e-12));
    CHECK_THAT(score.drop.mean,
               WithinAbs(0.5 * (baselines[i].accuracy_drop.spearman +
                                result.runs[1].network.baselines[i].accuracy_drop.spearman),
                         1e-12));
  }
}

TEST_CASE("SRAVEN is pruned on held-out rules, and groups tell its accuracy from its loss",
          "[torch]") {
  Problem p("softmax", headway::TaskKind::kSraven);
  p.study.prune.cumulative = false;
  p.study.prune.trained().examples = 500;  // so that a few are right
  const headway::NetworkPruneResult result = p.prune();
  const headway::NetworkPruning& network = result.runs.front().network;
  CHECK(network.measured_on == "held_out");
  CHECK(network.greedy_on == "validation");
  REQUIRE(result.runs.front().splits.back().split == "held_out");
  CHECK(result.runs.front().heads[4].rise.mean == result.runs.front().splits.back().rise[4].mean);
  REQUIRE(result.groups.size() == 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const headway::NetworkScore& score = network.baselines[i];
    INFO(score.name);
    REQUIRE(std::isfinite(score.accuracy_drop.spearman));
    REQUIRE(std::abs(score.accuracy_drop.spearman - score.error_rise.spearman) > 0.01);
    CHECK(result.groups[0].scores[i].drop.mean == score.accuracy_drop.spearman);
    CHECK(result.groups[0].scores[i].rise.mean == score.error_rise.spearman);
  }
}

TEST_CASE("random orders have the mean, the spread and the error of their qualities", "[torch]") {
  Problem p("softmax");
  p.study.prune.random_orders = 5;
  p.study.prune.greedy = false;
  const headway::NetworkPruning network = p.prune().runs.front().network;
  REQUIRE(network.random.size() == 5);
  REQUIRE(network.random_sd.size() == 5);
  for (std::size_t k = 1; k < 5; ++k) {
    double mean = 0.0, squares = 0.0;
    for (const auto& curve : network.random) mean += curve.quality[k].accuracy.mean / 5.0;
    for (const auto& curve : network.random) {
      squares += std::pow(curve.quality[k].accuracy.mean - mean, 2);
    }
    CHECK(squares > 1e-6);
    CHECK_THAT(network.random_mean[k], WithinAbs(mean, 1e-12));
    CHECK_THAT(network.random_sd[k], WithinAbs(std::sqrt(squares / 4.0), 1e-12));
    CHECK_THAT(network.random_error[k], WithinAbs(std::sqrt(squares / 20.0), 1e-12));
  }
}

TEST_CASE("a head's sensitivity is the mean size of the slopes of its mask", "[torch]") {
  Problem p("softmax");
  p.study.prune.cumulative = false;
  std::vector<double> found;
  for (const auto& head : p.prune().runs.front().heads) found.push_back(head.gradient_sensitivity);
  REQUIRE(found.size() == 6);
  testing::check_mean_slopes(found, p.network, &headway::make_generated_task, "train", 6);
}

TEST_CASE("an interrupted run is left out, and an encoder is refused", "[torch]") {
  Problem p("softmax");
  Stops stops;
  const auto result =
      headway::prune_network(p.study, {&p.network, 1}, {}, &headway::make_generated_task, stops);
  CHECK(result.interrupted);
  CHECK(result.runs.empty());
  p.network.study.train.model.encoder_layers = 1;
  const auto task = headway::make_generated_task(p.network.study);
  p.network.parameters = training::detail::initial_parameters(
      training::detail::parameter_shapes(p.network.study.train.model, task.task->format()), 3);
  CHECK_THROWS_AS(p.prune(), Error);
}

TEST_CASE("pruning names the run whose heads have no mean", "[torch]") {
  Problem dead("softmax");
  dead.network.run = 3;
  dead.network.study.seed = 41;
  for (training::NamedTensor& tensor : dead.network.parameters) {
    if (tensor.name == "layers.1.output.weight") {
      std::fill(tensor.values.begin(), tensor.values.end(), 3e38F);  // the mean of a head overflows
    }
  }
  CHECK_THROWS_WITH(dead.prune(),
                    Catch::Matchers::ContainsSubstring("run 3 (softmax, seed 41): weights: "));
}
