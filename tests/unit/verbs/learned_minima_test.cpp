// What a solve reports of each minimum of learned attention: the weights that it reports have the
// action and the attention that it reports.
#include <Eigen/SVD>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/action.hpp"
#include "headway/core/rng.hpp"
#include "headway/model/learned_attention.hpp"
#include "headway/solve.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "random_examples.hpp"

using namespace headway;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using model::AttentionPriorForm;
using model::LearnedKind;

namespace {

constexpr Index kWidth = 6;
constexpr double kTemperature = 0.3, kVariance = 5.0;

Study study_of(const AttentionPriorOptions& prior) {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.seed = 3;
  study.threads = 1;
  study.model.widths = {{kWidth}};
  study.model.temperatures = {kTemperature};
  study.model.attention_prior = prior;
  study.solve.attention_starts = 3;
  return study;
}

AttentionPriorOptions prior_of(AttentionPriorForm form, LearnedKind kind,
                               const std::vector<std::vector<int>>& frozen = {}) {
  AttentionPriorOptions prior;
  prior.form = form;
  prior.kind = kind;
  prior.variance = kVariance;
  if (form == AttentionPriorForm::kQueriesKeys) prior.dims = 2;
  prior.frozen = frozen;
  return prior;
}

/// The weights as the coordinates of a prior of matrices: z = W / s_w.
VectorXd coordinates_of(const std::vector<MatrixXd>& weights) {
  std::vector<double> z;
  for (const MatrixXd& w : weights) {
    for (const double x : w.reshaped()) z.push_back(x / std::sqrt(kVariance));
  }
  return Eigen::Map<const VectorXd>(z.data(), static_cast<Index>(z.size()));
}

/// All minima of a point, whose heads are [2, 2].
void check_minima(const AttentionPriorOptions& options, std::size_t learned_heads) {
  Rng rng(21, StreamPurpose::kTests);
  const testing::Shape shape = {7, 4, 3};
  tasks::Dataset data = testing::random_dataset({2, 2}, shape, rng);
  const Study study = study_of(options);
  learn_attention(study, data);
  Observer quiet;
  const SolveResult result = solve(study, data, quiet);
  REQUIRE(result.points.size() == 1);
  const std::vector<AttentionMinimum>& minima = result.points[0].minima;
  REQUIRE_FALSE(minima.empty());

  model::AttentionPrior prior;
  prior.heads = data.heads;
  prior.variance = kVariance;
  prior.kind = options.kind;
  for (const std::vector<int>& one : options.frozen) {
    prior.frozen.push_back({static_cast<std::size_t>(one[0] - 1), one[1] - 1});
  }
  const model::LearnedAttention attention(
      *data.train.examples, prior, prior.frozen.empty() ? std::vector<LayerHeads>{} : data.layers,
      Readout::kLastToken);
  const model::Architecture architecture = model::uniform_architecture(data.heads, kWidth);
  const double scale =
      std::sqrt(architecture.variance(0) / static_cast<double>(shape.features * attention.paths()));
  Index starts = 0;
  for (std::size_t i = 0; i < minima.size(); ++i) {
    INFO("minimum " << i);
    const AttentionMinimum& minimum = minima[i];
    CHECK(minimum.converged);
    CHECK(minimum.gradient_norm <= 1e-6);
    starts += minimum.starts;
    if (i > 0) CHECK(minima[i - 1].action <= minimum.action);
    REQUIRE(minimum.attention_weights.size() == learned_heads);
    for (const MatrixXd& w : minimum.attention_weights) {
      REQUIRE(w.rows() == shape.features);
      REQUIRE(w.cols() == shape.features);
    }
    const VectorXd z = coordinates_of(minimum.attention_weights);
    model::LearnedAttention::Workspace workspace;
    MatrixXd features;
    REQUIRE(attention.path_features(z, scale, workspace, features));
    const model::AttentionStatistics seen = attention.statistics(z, workspace);
    CHECK_THAT(minimum.attention_largest, WithinRel(seen.largest, 1e-9));
    if (options.kind == LearnedKind::kSoftmax) {
      CHECK_THAT(minimum.attention_entropy, WithinRel(seen.entropy, 1e-9));
    } else {
      CHECK(std::isnan(minimum.attention_entropy));
    }
    const theory::Action action(
        architecture, kTemperature,
        theory::make_path_kernels(features, data.train.labels, attention.paths()));
    const double of_u = action.evaluate(minimum.order_parameters).value;
    const double of_w = minimum.action * static_cast<double>(kWidth) - of_u;
    if (options.form == AttentionPriorForm::kMatrix) {
      CHECK_THAT(of_w, WithinRel(z.squaredNorm(), 1e-6) || WithinAbs(z.squaredNorm(), 1e-6));
    } else {
      // At a minimum |W_Q| = |W_K|; the sum of their squares is twice the nuclear norm of W_Q^T
      // W_K.
      double nuclear = 0.0;
      for (const MatrixXd& w : minimum.attention_weights) {
        nuclear += Eigen::JacobiSVD<MatrixXd>(w).singularValues().sum();
      }
      const double wanted = 2.0 * nuclear * std::sqrt(2.0 / kVariance);
      CHECK_THAT(of_w, WithinRel(wanted, 1e-4) || WithinAbs(wanted, 1e-6));
    }
  }
  CHECK(starts <= study.solve.attention_starts);
  CHECK(result.points[0].action == minima[0].action);
}

}  // namespace

TEST_CASE("a minimum reports the weights of each learned head") {
  check_minima(prior_of(AttentionPriorForm::kMatrix, LearnedKind::kSoftmax), 4);
  check_minima(prior_of(AttentionPriorForm::kMatrix, LearnedKind::kLinear), 4);
}

TEST_CASE("a minimum reports the weights of heads that are not frozen") {
  check_minima(prior_of(AttentionPriorForm::kMatrix, LearnedKind::kSoftmax, {{1, 2}}), 3);
  check_minima(prior_of(AttentionPriorForm::kMatrix, LearnedKind::kSoftmax, {{1, 1}, {2, 2}}), 2);
}

TEST_CASE("of queries and keys a minimum reports the matrices of their logits") {
  check_minima(prior_of(AttentionPriorForm::kQueriesKeys, LearnedKind::kSoftmax), 4);
}
