#include "headway/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "headway/core/interruption.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/extract.hpp"
#include "headway/model/path_index.hpp"
#include "headway/training/contributions.hpp"
#include "headway/training/head_removal.hpp"
#include "verbs/head_ranker.hpp"
#include "verbs/networks/checked_removal.hpp"
#include "verbs/networks/keep_runs.hpp"
#include "verbs/networks/scored_labels.hpp"

namespace headway {
namespace {

using training::FrozenNetwork;

constexpr double kGradientPasses = 3.0;  // forward, and a backward pass that costs two

void check_rankable(const Study& study) {
  if (study.train.model.network == training::NetworkKind::kLinearValue) {
    throw OptionError(
        "train.network = \"linear_value\": must be \"transformer\": prune-network removes the "
        "heads "
        "of these networks",
        {"train.network"});
  }
  check_extractable(study);
}

/// Walks through the examples of one trained transformer.
class NetworkHeads {
 public:
  NetworkHeads(const TrainedNetwork& network, const Study& study, const TaskMaker& make_task,
               Observer& observer)
      : threads_(resolve_threads(study.threads)), observer_(observer) {
    ready_ = ready_for_gradients(network, study.threads, make_task);
    model_ = ready_.trainer->model_options();
    parameters_ = ready_.trainer->state().parameters;
    check_heads_come_off(network, model_, task(), parameters_, observer);
    split_ = std::string(task().selection_split());
    const Index size = task().size(split_);
    task().batch(split_, 0, size > 0 ? std::min(size, study.rank.examples) : study.rank.examples,
                 examples_);
    labels_ = MatrixXd::Zero(examples_.examples, format().outputs);
    for (Index i = 0; i < examples_.examples; ++i) {
      Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(format().outputs);
      add_label(format(), examples_, i, format().scored - 1, row);
      labels_.row(i) = row;
    }
    // While every class has its own number: messages name it.
    check_labels_to_rank_by(network.study_name + ": " + split_, labels_);
    // Classes that no example has tell no head from another.
    if (format().loss == training::LossKind::kCrossEntropy) {
      std::vector<Index> there;
      for (Index c = 0; c < labels_.cols(); ++c) {
        if (labels_.col(c).any()) there.push_back(c);
      }
      labels_ = MatrixXd(labels_(Eigen::all, there));
    }
    require_cut_memory(network.study_name + ": " + split_, labels_, physical_memory());
    means_.emplace(model_, format(), parameters_, examples_, threads_, observer);
  }

  [[nodiscard]] const std::string& split() const { return split_; }
  [[nodiscard]] const MatrixXd& labels() const { return labels_; }
  [[nodiscard]] std::vector<int> heads() const { return training::head_counts(model_); }
  [[nodiscard]] MatrixXd embeddings() const { return embeddings(parameters_); }

  [[nodiscard]] MatrixXd embeddings_without(int head, RemovedAs removed_as) const {
    return embeddings(removed_as == RemovedAs::kMean
                          ? means_->without({head})
                          : training::without_heads(model_, parameters_, {head}));
  }

  /// |dL / dm_h| of every example, [H, P], with the network's own loss.
  [[nodiscard]] MatrixXd slopes() {
    ready_.trainer->set_parameters(parameters_);
    const Index count = examples_.examples;
    MatrixXd out;
    for (Index i = 0; i < count; ++i) {
      throw_if_interrupted(observer_);
      const std::vector<double> slopes =
          training::mask_derivatives(model_, parameters_, ready_.trainer->gradients(split_, i, 1));
      if (i == 0) out.resize(static_cast<Index>(slopes.size()), count);
      for (std::size_t h = 0; h < slopes.size(); ++h) {
        out(static_cast<Index>(h), i) = std::abs(slopes[h]);
      }
    }
    return out;
  }

  [[nodiscard]] VectorXd weight_norms() const {
    const std::vector<double> norms = training::head_weight_norms(model_, parameters_);
    return Eigen::Map<const VectorXd>(norms.data(), static_cast<Index>(norms.size()));
  }

  [[nodiscard]] bool normalises() const {
    return training::normalises_over_keys(model_.attention_options().normalisation);
  }

  /// Mean over queries of the entropy of a layer's attention, [H, P], in nats.
  [[nodiscard]] MatrixXd entropies(Index layer) const {
    const FrozenNetwork network = frozen(parameters_, layer);
    const Index tokens = format().tokens, heads = network.heads();
    MatrixXd out(heads, examples_.examples);
    for_each_example([&](Index i) {
      const std::vector<double> a = network.attention(examples_, i, tokens - 1).weights.front();
      for (Index h = 0; h < heads; ++h) {
        const Eigen::Map<const VectorXd> of_head(a.data() + h * tokens * tokens, tokens * tokens);
        const auto information =
            of_head.unaryExpr([](double x) { return x > 0.0 ? -x * std::log(x) : 0.0; });
        out(h, i) = information.sum() / static_cast<double>(tokens);
      }
    });
    return out;
  }

  [[nodiscard]] LayerParts parts(Index layer) const {
    const FrozenNetwork network = frozen(parameters_, layer);
    const std::vector<int>& heads = network.levels().heads.front();
    LayerParts out;
    out.count = network.levels().paths();
    out.values.resize(examples_.examples, out.count * network.features());
    for_each_example([&](Index i) {
      const RowMatrixXd parts = network.contributions(examples_, i, token()).parts;
      out.values.row(i) = Eigen::Map<const Eigen::RowVectorXd>(parts.data(), parts.size());
    });
    out.of_heads.resize(static_cast<std::size_t>(network.heads()));
    for (std::size_t part = 0; part < heads.size(); ++part) {
      if (heads[part] < 0) continue;
      out.of_heads[static_cast<std::size_t>(heads[part] % network.heads())].push_back(
          static_cast<int>(part));
    }
    return out;
  }

 private:
  [[nodiscard]] const training::TrainingTask& task() const { return *ready_.task.task; }
  [[nodiscard]] const training::TaskFormat& format() const { return task().format(); }
  [[nodiscard]] Index token() const { return format().tokens - 1; }

  template <class Work>
  void for_each_example(const Work& work) const {
    parallel_for(examples_.examples, threads_, [&](Index i) {
      throw_if_interrupted(observer_);
      work(i);
    });
  }

  [[nodiscard]] FrozenNetwork frozen(const std::vector<training::NamedTensor>& parameters,
                                     Index layer) const {
    return {model_, format(), parameters, {layer}, training::GeneratedParts::kHeads};
  }

  /// What the last linear layer reads, [P, D].
  [[nodiscard]] MatrixXd embeddings(const std::vector<training::NamedTensor>& parameters) const {
    const FrozenNetwork network = frozen(parameters, static_cast<Index>(heads().size()));
    MatrixXd out(examples_.examples, network.features());
    for_each_example([&](Index i) {
      out.row(i) = network.contributions(examples_, i, token()).embedding.transpose();
    });
    return out;
  }

  int threads_;
  Observer& observer_;
  ReadyNetwork ready_;
  training::TransformerOptions model_;
  std::vector<training::NamedTensor> parameters_;
  std::string split_;
  training::TaskBatch examples_;
  MatrixXd labels_;
  std::optional<training::MeanHeads> means_;
};

/// Removes every head in every mode. `done` counts heads of all networks.
void measure_removals(const NetworkHeads& network, const analysis::RankedReadout& whole,
                      const std::function<void()>& done, MeasuredHeads& measured) {
  constexpr RemovedAs kModes[] = {RemovedAs::kMean, RemovedAs::kZero};
  const std::vector<model::HeadAddress> all = model::all_heads(network.heads());
  std::vector<analysis::RemovalChanges> changes[2][2];
  for (std::size_t h = 0; h < all.size(); ++h) {
    for (std::size_t mode = 0; mode < 2; ++mode) {
      auto found = whole.without(network.embeddings_without(static_cast<int>(h), kModes[mode]));
      changes[mode][0].push_back(std::move(found[0]));
      changes[mode][1].push_back(std::move(found[1]));
    }
    const int layer = static_cast<int>(all[h].layer) + 1, head = all[h].head + 1;
    measured.names.push_back(fmt::format("L{}H{}", layer, head));
    measured.layers.push_back(layer);
    measured.heads.push_back(head);
    done();
  }
  for (std::size_t mode = 0; mode < 2; ++mode) {
    for (std::size_t readout = 0; readout < 2; ++readout) {
      measured.removals.emplace_back(
          fmt::format(
              "{}_{}", word_of(kModes[mode]),
              word_of(readout == 0 ? ReadoutAfterRemoval::kFixed : ReadoutAfterRemoval::kRefitted)),
          analysis::stacked(changes[mode][readout]));
    }
  }
  measured.removal_passes = static_cast<double>(all.size()) + 1.0;
}

/// Rows of heads, layer after layer.
MatrixXd below(const std::vector<MatrixXd>& layers) {
  Index rows = 0;
  for (const MatrixXd& layer : layers) rows += layer.rows();
  MatrixXd out(rows, layers.front().cols());
  rows = 0;
  for (const MatrixXd& layer : layers) {
    out.middleRows(rows, layer.rows()) = layer;
    rows += layer.rows();
  }
  return out;
}

void measure_scores(NetworkHeads& network, double penalty, int threads, const Observer& observer,
                    MeasuredHeads& measured) {
  const auto layers = static_cast<Index>(network.heads().size());
  const auto passes = static_cast<double>(layers);
  std::vector<MatrixXd> without_theory, of_theory, entropies;
  for (Index layer = 1; layer <= layers; ++layer) {
    const FrozenCuts cuts =
        frozen_cuts(network.parts(layer), network.labels(), penalty, threads, observer);
    without_theory.push_back(cuts.without_theory);
    of_theory.push_back(cuts.of_theory);
    if (network.normalises()) entropies.push_back(network.entropies(layer));
  }
  measured.others.push_back(
      column_of_examples("cut_without_theory", below(without_theory), passes));
  measured.others.push_back(column_of_examples("cut_of_theory", below(of_theory), passes));
  measured.others.push_back(column_of_examples("gradient", network.slopes(), kGradientPasses));
  const VectorXd norms = network.weight_norms();
  const std::vector<double> listed(norms.begin(), norms.end());
  measured.others.push_back({"weight_norm", listed, std::vector<double>(listed.size(), 0.0), 0.0});
  if (!entropies.empty()) {
    measured.others.push_back(column_of_examples("attention_entropy", below(entropies), passes));
  }
}

HeadRanking rank_network(const TrainedNetwork& trained, const Study& study,
                         const TaskMaker& make_task, const std::function<void()>& done,
                         Observer& observer) {
  NetworkHeads network(trained, study, make_task, observer);
  const analysis::RankedReadout whole(network.embeddings(), network.labels(), study.rank.penalty,
                                      study.seed);
  MeasuredHeads measured;
  measure_removals(network, whole, done, measured);
  measure_scores(network, whole.readout().penalty, resolve_threads(study.threads), observer,
                 measured);
  HeadRanking out = ranking_of(
      measured, fmt::format("{}_{}", word_of(study.rank.removed_as), word_of(study.rank.readout)),
      whole, network.labels(), study.rank, study.seed);
  static_cast<NetworkRun&>(out) = run_of(trained);
  out.split = network.split();
  return out;
}

}  // namespace

RankResult rank_networks(const Study& study, std::span<const TrainedNetwork> networks,
                         const TaskMaker& make_task, Observer& observer) {
  RankResult result;
  result.threads = resolve_threads(study.threads);
  double done = 0.0, total = 0.0;
  for (const TrainedNetwork& network : networks) {
    check_rankable(network.study);
    total += static_cast<double>(
        model::all_heads(training::head_counts(network.study.train.model)).size());
  }
  const auto tell = [&] { observer.whole("rank", ++done, total); };
  keep_runs(result, networks, observer, [&](const TrainedNetwork& network) {
    return rank_network(network, study, make_task, tell, observer);
  });
  return result;
}

}  // namespace headway
