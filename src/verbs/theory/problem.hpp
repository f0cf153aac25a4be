#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/analysis/removal.hpp"
#include "headway/architecture.hpp"
#include "headway/core/block_cyclic.hpp"
#include "headway/core/linear_value_network.hpp"
#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/path_kernels.hpp"
#include "headway/predictor.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"

/// Private to verbs: what every theory verb needs of a study and its data.
namespace headway {

/// Labels of all that predictors are judged on. A prediction has the test examples first, then
/// those of each further set.
struct Evaluation {
  MatrixXd test_labels;  // P_test x C, 0 x C without a test set
  std::vector<std::string> set_names;
  std::vector<MatrixXd> set_labels;
  /// Whether some path feature tells something of the training labels. Else, of equal examples with
  /// opposite labels, say, X_pi^T y = 0 for all paths and every mean is 0 but for rounding.
  bool told = true;

  [[nodiscard]] Index examples() const;
  /// A mean as it would be without rounding where nothing is told: exactly 0.
  [[nodiscard]] MatrixXd answers(MatrixXd mean) const;
};

/// What a trained network gives along its paths on one set of examples.
struct NetworkExamples {
  std::string name;
  analysis::PathOutputs paths;
  MatrixXd labels;
};

/// The trained network that a data set carries.
struct NetworkProblem {
  LinearValueNetwork network;
  std::vector<NetworkExamples> sets;  // train first, then test and the further sets
};

/// In which directions path features are held: all N_0, as weights on them need, or the r <= N_0
/// that any example has (theory::drop_empty_directions), which give the same kernels.
enum class FeatureDirections { kUsed, kAll };

struct ValueData;

/// Path features of all splits in the theory's scaling, and the kernels of the training split.
struct TheoryProblem {
  std::vector<int> heads;
  Index outputs = 1;
  MatrixXd train_labels;  // P x C
  Evaluation evaluation;
  MatrixXd evaluation_features;  // test examples, then those of each further set: x (p r)
  std::shared_ptr<const theory::PathKernels> kernels;
  std::optional<NetworkProblem> network;
  std::shared_ptr<const ValueData> values;  ///< of a value network, whose features these are
};

/// Labels and heads alone, for attention that is not known yet.
TheoryProblem outline_problem(const tasks::Dataset& dataset);

/// The same with the features of what predictors are judged on.
TheoryProblem make_evaluation(const Study& study, const tasks::Dataset& dataset,
                              Observer& observer);

/// The entries [begin, begin + count) of a part of some examples.
struct ExamplesRead {
  BlockCyclic part;
  Index begin, count;
};
ExamplesRead all_of(const tasks::Split& split);

/// Unscaled path features of these examples of a split.
RowMatrixXd read_features(const tasks::Split& split, const Study& study,
                          const tasks::Dataset& dataset, const ExamplesRead& some, int threads,
                          Observer& observer);

/// Scaled path features of a split, or of a part of its examples.
MatrixXd scaled_features(const tasks::Split& split, const Study& study,
                         const tasks::Dataset& dataset, Observer& observer,
                         const std::optional<BlockCyclic>& part = {});

/// Computes path features (timed and reported through the observer) and builds the path kernels.
TheoryProblem make_problem(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                           FeatureDirections directions = FeatureDirections::kUsed);

/// Whether the Gram matrices of a data set are factored into rows, which take the place of its
/// examples. They are if rows are fewer than directions, and solve.kernels = "auto".
bool gram_becomes_rows(const Study& study, const tasks::Dataset& dataset);

/// How the kernels of this study are made.
theory::PathKernelOptions kernel_options(const Study& study);

/// The readout that path features are taken with.
Readout readout_of(const Study& study, const tasks::Dataset& dataset);

/// The architecture of one entry of model.widths.
model::Architecture architecture_of(const Study& study, const tasks::Dataset& dataset,
                                    const std::vector<Index>& widths);

/// Sweep points, widths outer and temperatures inner.
struct SweepPoint {
  std::vector<Index> widths;  // N_1, ..., N_L, N_a
  double temperature = 0.0;
};
std::vector<SweepPoint> sweep_points(const Study& study, const tasks::Dataset& dataset);

/// Statistics of a prediction for all examples of `evaluation`; keeps mean and variance on the test
/// set. All are undefined if the prediction is empty. If it has no variances, those that need
/// variances are undefined.
PredictorReport report_evaluation(const Evaluation& evaluation,
                                  const theory::Prediction& prediction);

/// The same, and the accuracy on the training set.
PredictorReport report_predictor(const TheoryProblem& problem, const theory::Prediction& train,
                                 const theory::Prediction& evaluated);

/// Statistics on the test set alone.
theory::PredictorStatistics test_statistics(const Evaluation& evaluation, const MatrixXd& mean);

/// A result without its points: names, labels, sizes, and the kernels that figures show, where
/// there are some.
SolveResult describe_problem(const Study& study, const tasks::Dataset& dataset,
                             const TheoryProblem& problem);

/// Solves the sweep on a problem that is already made, or only its points with the `wanted` numbers
/// (rising). Includes the Gaussian process at their temperatures.
SolveResult solve_problem(const Study& study, const tasks::Dataset& dataset,
                          const TheoryProblem& problem, Observer& observer,
                          const SolveHooks& hooks = {},
                          const std::optional<std::vector<std::size_t>>& wanted = {});

struct NearbyStart {
  const SweepPoint& sweep;
  std::size_t index;  ///< of the point in the sweep
  const theory::OrderParameters& order_parameters;
};
/// One point on a problem that is already made, from a start that is near.
void solve_point_from(const Study& study, const tasks::Dataset& dataset,
                      const TheoryProblem& problem, const NearbyStart& start, Observer& observer,
                      SolvePoint& point);

/// What the leading order drops, relative to what it keeps: the largest (C p_l + 1) / N_l of a
/// point's layers, and how that is written.
struct DroppedTerms {
  double ratio = 0.0;
  std::string name;
};
DroppedTerms dropped_terms(const SolvePoint& point);

/// Says why points have no 1/N correction, each reason once.
void note_missing_corrections(const SolveResult& result, Observer& observer);

/// Warns of the points where the theory is outside its range, a line a network and three at most:
/// (C p_l + 1)/N_l, the relative order of what it drops, above 1, or a 1/N correction of more than
/// one posterior deviation.
void warn_of_range(const SolveResult& result, Observer& observer);

/// Warns of each point of `result` that says something there, its other_minima say.
void warn_of_points(const SolveResult& result, std::string SolvePoint::*says, Observer& observer);

/// The points of this study's sweep: from the earlier result `known` if it has them, else solved.
SolveResult solve_or_reuse(const Study& study, const tasks::Dataset& dataset,
                           const TheoryProblem& problem, Observer& observer,
                           const SolveResult* known,
                           const std::optional<std::vector<std::size_t>>& wanted = {});

/// Head names of the data set, or "head <h>" where it has none.
std::vector<std::vector<std::string>> names_of_heads(const tasks::Dataset& dataset);

}  // namespace headway
