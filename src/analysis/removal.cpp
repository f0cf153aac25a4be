#include "headway/analysis/removal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/example_errors.hpp"
#include "headway/analysis/head_scores.hpp"
#include "headway/core/labels.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::analysis {

using model::all_heads;
using model::HeadAddress;
using model::PathMembership;

namespace {

/// Heads left in each layer, and for each head whether it is gone.
struct Kept {
  std::vector<int> count;
  std::vector<char> gone;
};

Kept kept_heads(const std::vector<int>& heads, const std::vector<int>& removed) {
  const std::vector<HeadAddress> addresses = all_heads(heads);
  Kept kept{heads, std::vector<char>(addresses.size(), 0)};
  for (const int head : removed) {
    if (head < 0 || head >= static_cast<int>(addresses.size())) {
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("removed head {}: must be from 0 to {}", head, addresses.size() - 1));
    }
    if (kept.gone[head] != 0) continue;
    kept.gone[head] = 1;
    const std::size_t layer = addresses[head].layer;
    if (--kept.count[layer] > 0) continue;
    throw Error(ErrorKind::kBadStudy,
                fmt::format("layer {}: all of its {} heads are removed; at least one must stay",
                            layer + 1, heads[layer]));
  }
  return kept;
}

ExampleQuality examples_of(const MatrixXd& outputs, const MatrixXd& labels) {
  ExampleQuality examples{{}, squared_errors(outputs, labels)};
  if (labels_are_classes(labels)) examples.score = right_answers(outputs, labels);
  return examples;
}

/// Outputs through one head alone, examples x C.
MatrixXd outputs_through(const PathOutputs& paths, const HeadAddress& address) {
  const PathMembership membership(paths.heads, paths.outputs);
  MatrixXd sum = MatrixXd::Zero(paths.values.rows(), paths.outputs);
  for (Index i = 0; i < membership.size(); ++i) {
    if (membership.uses(i, address)) sum.col(i % paths.outputs) += paths.values.col(i);
  }
  return sum;
}

void check_sizes(const PathOutputs& paths, const MatrixXd& labels) {
  const Index columns = model::path_count(paths.heads) * paths.outputs;
  if (paths.values.cols() == columns && labels.cols() == paths.outputs &&
      labels.rows() == paths.values.rows()) {
    return;
  }
  throw Error(ErrorKind::kBadData,
              fmt::format("path outputs {} x {} and labels {} x {}: must be P x {} and P x {}",
                          paths.values.rows(), paths.values.cols(), labels.rows(), labels.cols(),
                          columns, paths.outputs));
}

}  // namespace

VectorXd path_factors(const std::vector<int>& heads, const std::vector<int>& removed,
                      Rescaling rescaling) {
  const Kept kept = kept_heads(heads, removed);
  double scale = 1.0;
  for (std::size_t l = 0; l < heads.size() && rescaling == Rescaling::kLayer; ++l) {
    scale *= std::sqrt(static_cast<double>(heads[l]) / kept.count[l]);
  }
  const PathMembership membership(heads, 1);
  const std::vector<HeadAddress> addresses = all_heads(heads);
  VectorXd factors = VectorXd::Constant(membership.size(), scale);
  for (std::size_t h = 0; h < addresses.size(); ++h) {
    if (kept.gone[h] == 0) continue;
    for (Index i = 0; i < factors.size(); ++i) {
      if (membership.uses(i, addresses[h])) factors[i] = 0.0;
    }
  }
  return factors;
}

MatrixXd outputs_without(const PathOutputs& paths, const std::vector<int>& removed,
                         Rescaling rescaling) {
  const VectorXd factors = path_factors(paths.heads, removed, rescaling);
  MatrixXd outputs = MatrixXd::Zero(paths.values.rows(), paths.outputs);
  for (Index i = 0; i < factors.size(); ++i) {
    if (factors[i] == 0.0) continue;
    outputs += factors[i] * paths.values.middleCols(i * paths.outputs, paths.outputs);
  }
  return outputs;
}

Estimate estimate_mean(const VectorXd& values) {
  const numerics::Moments m = numerics::moments(values);
  return {m.mean, m.standard_error()};
}

Quality quality_of(const ExampleQuality& examples) {
  Quality quality{{numerics::kUndefined, numerics::kUndefined}, estimate_mean(examples.error)};
  if (examples.score.size() > 0) quality.accuracy = estimate_mean(examples.score);
  return quality;
}

Quality quality_of(const MatrixXd& outputs, const MatrixXd& labels) {
  return quality_of(examples_of(outputs, labels));
}

Removal removal_of(const PathOutputs& paths, const MatrixXd& labels, Rescaling rescaling) {
  check_sizes(paths, labels);
  return [&paths, &labels, rescaling](const std::vector<int>& removed) {
    return examples_of(outputs_without(paths, removed, rescaling), labels);
  };
}

QualityCurve quality_curve(const Removal& removal, const std::vector<int>& order) {
  QualityCurve curve{order, {}};
  std::vector<int> removed;
  curve.quality.push_back(quality_of(removal(removed)));
  for (const int head : order) {
    removed.push_back(head);
    curve.quality.push_back(quality_of(removal(removed)));
  }
  return curve;
}

HeadDrops head_drops(const std::vector<int>& heads, const Removal& removal, bool only_heads) {
  const std::vector<HeadAddress> addresses = all_heads(heads);
  const auto count = static_cast<Index>(addresses.size());
  const ExampleQuality whole = removal({});
  HeadDrops drops{MatrixXd(whole.score.size(), whole.score.size() > 0 ? count : 0),
                  MatrixXd(whole.error.size(), count)};
  for (Index h = 0; h < count; ++h) {
    if (heads[addresses[h].layer] == 1 && !only_heads) {
      if (drops.score.cols() > 0) drops.score.col(h).setConstant(numerics::kUndefined);
      drops.error.col(h).setConstant(numerics::kUndefined);
      continue;
    }
    const ExampleQuality without = removal({static_cast<int>(h)});
    if (drops.score.cols() > 0) drops.score.col(h) = whole.score - without.score;
    drops.error.col(h) = without.error - whole.error;
  }
  return drops;
}

std::vector<int> greedy_order(const std::vector<int>& heads, const Removal& removal) {
  return greedy_order(heads, [&](const std::vector<int>& removed) -> RemovalQuality {
    const ExampleQuality q = removal(removed);
    return {q.score.size() > 0 ? q.score.mean() : 0.0, -q.error.mean()};
  });
}

std::vector<double> gradient_sensitivity(const PathOutputs& paths, const MatrixXd& labels) {
  check_sizes(paths, labels);
  const MatrixXd residual = outputs_without(paths, {}, Rescaling::kNone) - labels;
  std::vector<double> sensitivity;
  for (const HeadAddress& address : all_heads(paths.heads)) {
    const MatrixXd gradient = residual.cwiseProduct(outputs_through(paths, address));
    sensitivity.push_back(2.0 / static_cast<double>(paths.outputs) *
                          gradient.rowwise().sum().cwiseAbs().mean());
  }
  return sensitivity;
}

std::vector<double> normalised_by_layer(const std::vector<double>& scores,
                                        const std::vector<int>& heads) {
  std::vector<double> squares(heads.size(), 0.0);
  const std::vector<HeadAddress> addresses = all_heads(heads);
  for (std::size_t h = 0; h < addresses.size(); ++h) {
    squares[addresses[h].layer] += scores.at(h) * scores.at(h);
  }
  std::vector<double> normalised = scores;
  for (std::size_t h = 0; h < addresses.size(); ++h) {
    const double norm = std::sqrt(squares[addresses[h].layer]);
    if (norm > 0.0) normalised[h] /= norm;
  }
  return normalised;
}

std::vector<double> weight_norms(const std::vector<std::vector<MatrixXd>>& values) {
  std::vector<double> norms;
  for (const std::vector<MatrixXd>& layer : values) {
    for (const MatrixXd& v : layer) norms.push_back(v.norm());
  }
  return norms;
}

std::vector<double> path_norms(const MatrixXd& u, const std::vector<int>& heads, Index outputs) {
  const PathMembership membership(heads, outputs);
  std::vector<double> norms;
  for (const HeadAddress& address : all_heads(heads)) {
    double sum = 0.0;
    for (Index i = 0; i < u.rows(); ++i) {
      if (membership.uses(i, address)) sum += u(i, i);
    }
    norms.push_back(std::sqrt(sum));
  }
  return norms;
}

}  // namespace headway::analysis
