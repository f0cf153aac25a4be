#include "headway/prune_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "headway/core/interruption.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/training/head_removal.hpp"
#include "results/by_label.hpp"
#include "verbs/network_pruner.hpp"
#include "verbs/networks/checked_removal.hpp"
#include "verbs/networks/keep_runs.hpp"

namespace headway {
namespace {

using analysis::Estimate;
using analysis::ExampleQuality;

constexpr Index kEvaluated = 256;  // examples at a time
// Defaults of the study.
constexpr Index kExamples = 1000;
constexpr Index kSensitivityExamples = 256;
constexpr Index kMeanExamples = 64;

/// A network that answers without some of its heads.
class RemovableHeads {
 public:
  RemovableHeads(const TrainedNetwork& network, const Study& study, const TaskMaker& make_task,
                 Observer& observer)
      : study_(study), model_(network.study.train.model), observer_(observer) {
    ready_ = ready_for_gradients(network, study.threads, make_task);
    model_ = ready_.trainer->model_options();
    parameters_ = ready_.trainer->state().parameters;
    if (transformer()) {
      training::TaskBatch examples;
      task().batch("train", 0, study.prune.trained().mean_examples.value_or(kMeanExamples),
                   examples);
      means_.emplace(model_, task().format(), parameters_, examples, resolve_threads(study.threads),
                     observer);
      check_heads_come_off(network, model_, task(), parameters_, observer);
    }
  }

  [[nodiscard]] const training::TrainingTask& task() const { return *ready_.task.task; }
  [[nodiscard]] bool transformer() const {
    return model_.network == training::NetworkKind::kTransformer;
  }
  [[nodiscard]] std::vector<int> heads() const { return training::head_counts(model_); }
  [[nodiscard]] std::vector<double> weight_norms() const {
    return training::head_weight_norms(model_, parameters_);
  }

  [[nodiscard]] std::string metric() const {
    training::TaskBatch batch;
    task().batch(task().selection_split(), 0, 1, batch);
    return training::example_metric(task().format(), batch);
  }

  /// The quality on the first examples of a split. Throws Error{kInterrupted}.
  [[nodiscard]] analysis::Removal on(const std::string& split, RemovedAs removed_as) {
    return [this, split, removed_as](const std::vector<int>& removed) {
      throw_if_interrupted(observer_);
      ready_.trainer->set_parameters(without(removed, removed_as));
      return quality(split);
    };
  }

  /// Mean |dL / dm_h| over training examples (training, eq. 21).
  [[nodiscard]] std::vector<double> sensitivity() {
    ready_.trainer->set_parameters(parameters_);
    std::vector<double> sums;
    const Index count = study_.prune.trained().sensitivity_examples.value_or(kSensitivityExamples);
    for (Index i = 0; i < count; ++i) {
      throw_if_interrupted(observer_);
      const std::vector<double> slopes =
          training::mask_derivatives(model_, parameters_, ready_.trainer->gradients("train", i, 1));
      sums.resize(slopes.size(), 0.0);
      for (std::size_t h = 0; h < slopes.size(); ++h) {
        sums[h] += std::abs(slopes[h]) / static_cast<double>(count);
      }
    }
    return sums;
  }

 private:
  [[nodiscard]] std::vector<training::NamedTensor> without(const std::vector<int>& removed,
                                                           RemovedAs removed_as) const {
    if (removed_as == RemovedAs::kMean) {
      return means_->without(removed);
    }
    return training::without_heads(model_, parameters_, removed, study_.prune.rescale);
  }

  [[nodiscard]] ExampleQuality quality(const std::string& split) {
    const Index size = task().size(split);
    const Index wanted = study_.prune.trained().examples.value_or(kExamples);
    const Index examples = size > 0 ? std::min(size, wanted) : wanted;
    std::vector<training::ExampleScore> all;
    training::Evaluator evaluator(task().format());
    training::TaskBatch batch;
    for (Index first = 0; first < examples; first += kEvaluated) {
      const Index count = std::min(kEvaluated, examples - first);
      task().batch(split, first, count, batch);
      const std::vector<float> outputs = ready_.trainer->outputs(split, first, count);
      evaluator.add(batch, outputs);
      for (const auto& score : training::example_scores(task().format(), batch, outputs)) {
        if (score.tokens > 0) all.push_back(score);  // else nothing is asked of it
      }
    }
    const auto kept = static_cast<Index>(all.size());
    ExampleQuality out{VectorXd(kept), VectorXd(kept)};
    const double variance = evaluator.target_variance();
    for (Index i = 0; i < kept; ++i) {
      const training::ExampleScore& score = all[static_cast<std::size_t>(i)];
      out.score[i] = training::example_metric_value(task().format(), batch, score, variance);
      out.error[i] = score.loss;
    }
    return out;
  }

  const Study& study_;
  training::TransformerOptions model_;
  Observer& observer_;
  ReadyNetwork ready_;
  std::vector<training::NamedTensor> parameters_;
  std::optional<training::MeanHeads> means_;
};

std::vector<Estimate> estimates(const MatrixXd& effects, Index heads) {
  std::vector<Estimate> out;
  for (Index h = 0; h < heads; ++h) {
    out.push_back(h < effects.cols() ? analysis::estimate_mean(effects.col(h))
                                     : Estimate{kUndefined, kUndefined});
  }
  return out;
}

SplitCosts split_costs(const std::string& split, const std::string& metric,
                       const analysis::HeadDrops& drops) {
  const Index heads = drops.error.cols();
  return {split, metric, estimates(drops.score, heads), estimates(drops.error, heads)};
}

/// The split that drops and curves are reported on.
std::string measured_split(const training::TrainingTask& task) {
  for (const char* wanted : {"held_out", "test"}) {
    const std::vector<std::string>& splits = task.splits();
    if (std::find(splits.begin(), splits.end(), wanted) != splits.end()) return wanted;
  }
  return std::string(task.selection_split());
}

/// The number of the head that a part belongs to, from its name "L2H3" or "L2H3 reads"; else -1.
int head_of(const std::string& name, const std::vector<int>& heads) {
  const std::vector<model::HeadAddress> all = model::all_heads(heads);
  const std::string first = name.substr(0, name.find(' '));
  for (std::size_t h = 0; h < all.size(); ++h) {
    if (first == fmt::format("L{}H{}", all[h].layer + 1, all[h].head + 1)) {
      return static_cast<int>(h);
    }
  }
  return -1;
}

/// Values of the heads, summed over their parts; NaN for heads without parts.
std::vector<double> sum_over_parts(const std::vector<std::string>& names,
                                   const std::vector<double>& values,
                                   const std::vector<int>& heads) {
  std::vector<double> sums(model::all_heads(heads).size(), kUndefined);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const int head = head_of(names[i], heads);
    if (head < 0) continue;
    double& sum = sums[static_cast<std::size_t>(head)];
    sum = std::isnan(sum) ? values[i] : sum + values[i];
  }
  return sums;
}

void add_scores(const NetworkPruner& pruner, const std::vector<int>& heads,
                const std::string& weights_sha256, std::span<const TheoryScores> theory,
                NetworkPruning& network) {
  for (const TheoryScores& scores : theory) {
    if (scores.weights_sha256 != weights_sha256) continue;
    const auto judge = [&](const char* what, const std::vector<double>& values) {
      network.baselines.push_back(pruner.judge(fmt::format("theory {} {}", what, scores.label),
                                               sum_over_parts(scores.names, values, heads)));
    };
    judge("error_rise", scores.error_rise);
    if (!scores.without_theory.empty()) judge("U=1", scores.without_theory);
    judge("score", scores.score);
  }
}

/// Every head removed alone: set to zero on every split but train, and, in transformers, replaced
/// by its mean on `measured`.
void remove_each(RemovableHeads& network, const NetworkPruner& pruner, const std::string& measured,
                 const analysis::QualityNames& names, const std::vector<double>& sensitivity,
                 RunPruning& out) {
  const std::vector<int> heads = network.heads();
  analysis::HeadDrops zero, mean;
  for (const std::string& split : network.task().splits()) {
    if (split == "train") continue;
    const bool here = split == measured;
    const analysis::Removal removal = network.on(split, RemovedAs::kZero);
    const ExampleQuality whole = removal({});
    out.network.sets.push_back({split, names, whole.error.size(), analysis::quality_of(whole)});
    const analysis::HeadDrops drops =
        here && out.removed_as == RemovedAs::kZero
            ? pruner.drops()
            : analysis::head_drops(heads, removal, network.transformer());
    out.splits.push_back(split_costs(split, names.score, drops));
    if (here) zero = drops;
  }
  if (network.transformer()) {
    mean = out.removed_as == RemovedAs::kMean
               ? pruner.drops()
               : analysis::head_drops(heads, network.on(measured, RemovedAs::kMean), true);
  }
  const SplitCosts by_zero = split_costs(measured, names.score, zero);
  const auto count = static_cast<Index>(sensitivity.size());
  const std::vector<Estimate> drop_mean = estimates(mean.score, count);
  const std::vector<Estimate> rise_mean = estimates(mean.error, count);
  const std::vector<model::HeadAddress> all = model::all_heads(heads);
  for (std::size_t h = 0; h < all.size(); ++h) {
    out.heads.push_back({names.score, static_cast<int>(all[h].layer) + 1, all[h].head + 1,
                         by_zero.drop[h], by_zero.rise[h], drop_mean[h], rise_mean[h],
                         sensitivity[h]});
  }
}

RunPruning prune_run(const Study& study, const TrainedNetwork& trained,
                     std::span<const TheoryScores> theory, const TaskMaker& make_task,
                     Observer& observer) {
  RemovableHeads network(trained, study, make_task, observer);
  RunPruning out;
  static_cast<NetworkRun&>(out) = run_of(trained);
  out.metric = network.metric();
  out.weights_sha256 = trained.weights_sha256;
  if (!network.transformer() && study.prune.trained().removed_as == RemovedAs::kMean) {
    throw OptionError(
        "prune.removed_as = \"mean\": must be \"zero\" for train.network = \"linear_value\"",
        {"prune.removed_as", "train.network"});
  }
  out.removed_as = network.transformer()
                       ? study.prune.trained().removed_as.value_or(RemovedAs::kZero)
                       : RemovedAs::kZero;
  const std::vector<int> heads = network.heads();
  const std::string measured = measured_split(network.task());
  const std::string chosen(network.task().selection_split());
  const analysis::QualityNames names{out.metric, "loss"};
  const NetworkPruner pruner(
      {heads, network.on(measured, out.removed_as), network.on(chosen, out.removed_as), measured,
       chosen, names, network.transformer()},
      study);
  const std::vector<double> sensitivity = network.sensitivity();
  remove_each(network, pruner, measured, names, sensitivity, out);
  out.network.rescaled = !network.transformer() && study.prune.rescale;
  out.network.sensitivity_on = "train";
  out.network.baselines.push_back(pruner.judge("weight_norm", network.weight_norms()));
  out.network.baselines.push_back(
      pruner.judge("sensitivity", study.prune.normalise_sensitivity
                                      ? analysis::normalised_by_layer(sensitivity, heads)
                                      : sensitivity));
  add_scores(pruner, heads, trained.weights_sha256, theory, out.network);
  pruner.measure(out.network, observer);
  throw_if_interrupted(observer);
  return out;
}

/// The name of a score without the name of its file, which differs from run to run.
std::string without_file(const std::string& score) {
  if (!score.starts_with("theory ")) return score;
  const std::size_t what = score.find(' ', 7);
  const std::size_t point = score.find(" N = ");
  return point == std::string::npos ? score : score.substr(0, what) + score.substr(point);
}

/// The name of a score in tables over seeds. If a network has several theories of the same name (of
/// other layers, for example), the names keep their files.
std::string kind_of(const NetworkScore& score, const RunPruning& run) {
  const std::string kind = without_file(score.name);
  const auto count = std::ranges::count_if(
      run.network.baselines, [&](const NetworkScore& s) { return without_file(s.name) == kind; });
  return count == 1 ? kind : score.name;
}

std::vector<PruneGroup> group_over_seeds(const std::vector<RunPruning>& runs) {
  std::vector<PruneGroup> groups;
  for (const std::vector<const RunPruning*>& members : by_label(runs)) {
    PruneGroup& group = groups.emplace_back();
    group.label = members.front()->label;
    std::vector<std::pair<std::string, std::pair<double, double>>> values;
    for (const RunPruning* run : members) {
      group.seeds.push_back(run->seed);
      for (const NetworkScore& score : run->network.baselines) {
        const std::string kind = kind_of(score, *run);
        values.push_back({kind, {score.accuracy_drop.spearman, score.error_rise.spearman}});
        const bool known = std::any_of(group.scores.begin(), group.scores.end(),
                                       [&](const ScoreAgreement& a) { return a.name == kind; });
        if (!known) group.scores.push_back({kind, score.names.score, {}, {}});
      }
    }
    for (ScoreAgreement& agreement : group.scores) {
      std::vector<double> drop, rise;
      for (const auto& [kind, rho] : values) {
        if (kind != agreement.name) continue;
        drop.push_back(rho.first);
        rise.push_back(rho.second);
      }
      agreement.drop = spread_of(std::move(drop));
      agreement.rise = spread_of(std::move(rise));
    }
  }
  return groups;
}

void check_theory(std::span<const TrainedNetwork> networks, std::span<const TheoryScores> theory) {
  for (const TheoryScores& scores : theory) {
    const bool known =
        std::any_of(networks.begin(), networks.end(), [&](const TrainedNetwork& network) {
          return network.weights_sha256 == scores.weights_sha256;
        });
    if (known) continue;
    throw Error(
        ErrorKind::kBadData,
        fmt::format(
            "prune.theory: {} belongs to a network with other weights than the runs have: must "
            "come from headway extract of one of these runs, with the same weights (best or last)",
            scores.label));
  }
}

}  // namespace

NetworkPruneResult prune_network(const Study& study, std::span<const TrainedNetwork> networks,
                                 std::span<const TheoryScores> theory, const TaskMaker& make_task,
                                 Observer& observer) {
  check_theory(networks, theory);
  NetworkPruneResult result;
  result.threads = resolve_threads(study.threads);
  keep_runs(result, networks, observer, [&](const TrainedNetwork& network) {
    RunPruning run = prune_run(study, network, theory, make_task, observer);
    observer.whole("prune", static_cast<double>(result.runs.size() + 1),
                   static_cast<double>(networks.size()));
    return run;
  });
  result.groups = group_over_seeds(result.runs);
  return result;
}

}  // namespace headway
