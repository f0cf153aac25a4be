#include "headway/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "headway/core/clock.hpp"
#include "headway/core/labels.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/numerics/matrix_moments.hpp"
#include "headway/theory/repeated_predictor.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "verbs/named_splits.hpp"
#include "verbs/theory/posterior_recorder.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {
namespace {

bool same_matrices(const std::vector<MatrixXd>& a, const std::vector<MatrixXd>& b) {
  return std::ranges::equal(a, b, [](const MatrixXd& x, const MatrixXd& y) {
    return x.rows() == y.rows() && x.cols() == y.cols() && x == y;
  });
}

/// Whether `inputs` has no head matrices, or those of `data`.
bool same_head_matrices(const tasks::Dataset& data, const tasks::Dataset& inputs) {
  for (std::size_t l = 0; l < inputs.layers.size(); ++l) {
    const LayerHeads& given = inputs.layers[l];
    if (given.weights.empty() && given.query.empty() && given.key.empty()) continue;
    if (l >= data.layers.size()) return false;
    const LayerHeads& own = data.layers[l];
    if (!same_matrices(own.weights, given.weights) || !same_matrices(own.query, given.query) ||
        !same_matrices(own.key, given.key)) {
      return false;
    }
  }
  return true;
}

const char* form_text(AttentionForm form) {
  if (form == AttentionForm::kPathFeatures) return "path features";
  return form == AttentionForm::kSupplied ? "inputs with their attention" : "inputs";
}

/// What keeps `inputs` from being inputs of `data` in this study, with what is allowed; or "".
std::string mismatch(const Study& study, const tasks::Dataset& data, const tasks::Dataset& inputs) {
  const bool matrices =
      data.form == AttentionForm::kWeights || data.form == AttentionForm::kQueryKey;
  const bool alike = inputs.form == data.form ||
                     (matrices && inputs.layers.empty() && inputs.form == AttentionForm::kWeights);
  if (!alike) {
    return fmt::format("holds {}; allowed: {}, as the training data ({}) have{}",
                       form_text(inputs.form), form_text(data.form), data.name,
                       matrices ? ", without attention: the heads are those of the training" : "");
  }
  if (inputs.features != data.features) {
    return fmt::format("has {} features a token; allowed: N_0 = {} as in {}", inputs.features,
                       data.features, data.name);
  }
  if (!inputs.heads.empty() && inputs.heads != data.heads) {
    return fmt::format("has heads [{}]; allowed: [{}] as in {}", join(inputs.heads, ", "),
                       join(data.heads, ", "), data.name);
  }
  if (matrices && !same_head_matrices(data, inputs)) {
    return fmt::format("has other attention than {}; allowed: inputs alone, or the same heads",
                       data.name);
  }
  const bool known = data.form != AttentionForm::kPathFeatures || data.readout;
  if (known && inputs.readout && *inputs.readout != readout_of(study, data)) {
    return fmt::format("has readout \"{}\"; allowed: \"{}\", as the training had",
                       word_of(*inputs.readout), word_of(readout_of(study, data)));
  }
  return {};
}

double normal_probability(double mean, double variance) {
  // Phi(mean / sd), with the limits 0, 1/2, 1 when the variance is 0
  if (variance > 0.0) return 0.5 * std::erfc(-mean / std::sqrt(2.0 * variance));
  return mean > 0.0 ? 1.0 : (mean < 0.0 ? 0.0 : 0.5);
}

/// Sums over draws of U_1. One draw: that of the saddle point.
struct PredictionSums {
  numerics::MatrixMoments predictors;  // M x C
  MatrixXd variance;                   // M x C
  VectorXd positive;                   // probability of f > 0; of one output

  void add(const theory::Prediction& prediction) {
    if (predictors.count == 0) {
      variance = MatrixXd::Zero(prediction.mean.rows(), prediction.mean.cols());
      positive = VectorXd::Zero(prediction.mean.cols() == 1 ? prediction.mean.rows() : 0);
    }
    predictors.add(prediction.mean);
    variance += prediction.variance;
    for (Index i = 0; i < positive.size(); ++i) {
      positive[i] += normal_probability(prediction.mean(i, 0), prediction.variance(i, 0));
    }
  }
  void add(const PredictionSums& other) {
    if (other.predictors.count == 0) return;
    if (predictors.count == 0) {
      *this = other;
      return;
    }
    predictors.add(other.predictors);
    variance += other.variance;
    positive += other.positive;
  }
};

/// The training data with the new inputs, ready to predict.
class NewInputs {
 public:
  NewInputs(const Study& study, const tasks::Dataset& dataset, std::vector<std::string> names,
            double predictions, Observer& observer)
      : study_(study),
        names_(std::move(names)),
        classes_(labels_are_classes(dataset.train.labels)),
        problem_(std::make_shared<const TheoryProblem>(make_problem(study, dataset, observer))),
        predictor_(problem_->kernels, {problem_->kernels, &problem_->evaluation_features},
                   predictions) {
    if (names_.size() == problem_->evaluation.set_labels.size()) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("predict: {} names of sets; allowed: {}, as many as the data set has: "
                            "with_inputs() and input_names() make both",
                            names_.size(), problem_->evaluation.set_labels.size()));
  }

  [[nodiscard]] theory::Prediction at(const MatrixXd& u, double temperature) const {
    check_fits(u);
    theory::Prediction prediction = predictor_.predict(*evaluated(*problem_, u, temperature), u);
    prediction.mean = problem_->evaluation.answers(std::move(prediction.mean));
    return prediction;
  }
  /// At a saddle point, of a value network with its own S.
  [[nodiscard]] theory::Prediction at(const SolvePoint& point) const {
    const MatrixXd& u = point.order_parameters.layers.front();
    const std::shared_ptr<const TheoryProblem> problem = problem_of_point(problem_, study_, point);
    if (problem == problem_) return at(u, point.temperature);
    theory::Prediction prediction =
        evaluated(*problem, u, point.temperature)->predict(problem->evaluation_features);
    prediction.mean = problem_->evaluation.answers(std::move(prediction.mean));
    return prediction;
  }

  /// The sets of a point. Law of total variance: Var f = E[variance given U_1] + Var[mean given
  /// U_1].
  [[nodiscard]] std::vector<PredictedSet> sets_of(const PredictionSums& sums) const {
    const auto count = static_cast<double>(sums.predictors.count);
    const MatrixXd& mean = sums.predictors.mean;
    const MatrixXd variance = sums.variance / count + sums.predictors.variance();
    std::vector<PredictedSet> sets;
    Index begin = 0;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const Index rows = problem_->evaluation.set_labels[i].rows();
      PredictedSet& set = sets.emplace_back();
      set.name = names_[i];
      set.mean = mean.middleRows(begin, rows);
      set.deviation = variance.middleRows(begin, rows).cwiseSqrt();
      begin += rows;
      if (!classes_) continue;
      for (Index r = 0; r < rows; ++r) set.predicted_class.push_back(class_of(set.mean.row(r)));
      if (sums.positive.size() > 0) {
        set.right_sign_probability = sums.positive.segment(begin - rows, rows) / count;
        for (Index r = 0; r < rows; ++r) {
          double& p = set.right_sign_probability(r, 0);
          if (set.mean(r, 0) < 0.0) p = 1.0 - p;
        }
      }
    }
    return sets;
  }

 private:
  /// Error{kBadData} where U_1 is of other heads or outputs.
  void check_fits(const MatrixXd& u) const {
    const Index rows = problem_->kernels->paths() * problem_->kernels->outputs();
    if (u.rows() == rows && u.cols() == rows) return;
    throw Error(ErrorKind::kBadData,
                fmt::format("predict: U_1 of the result is {} x {}; allowed: {} x {}, the paths "
                            "times the outputs of the data",
                            u.rows(), u.cols(), rows, rows));
  }
  static std::unique_ptr<theory::EnergyState> evaluated(const TheoryProblem& problem,
                                                        const MatrixXd& u, double temperature) {
    std::unique_ptr<theory::EnergyState> state = problem.kernels->evaluate(u, temperature);
    if (state) return state;
    throw Error(ErrorKind::kBadData,
                fmt::format("K(U_1) + T I is not positive definite at temperature {}: U_1 is not "
                            "that of these data",
                            temperature));
  }
  static int class_of(const Eigen::RowVectorXd& mean) {
    if (mean.size() == 1) return mean[0] > 0.0 ? 1 : (mean[0] < 0.0 ? -1 : 0);
    Index largest = 0;
    mean.maxCoeff(&largest);
    return static_cast<int>(largest);
  }

  const Study& study_;
  std::vector<std::string> names_;
  bool classes_;  // else targets are real, and their signs no answers
  std::shared_ptr<const TheoryProblem> problem_;
  theory::RepeatedPredictor predictor_;
};

/// Predicts at `count` points, one after another: point(i) gives all of a point but its time, or
/// nothing if it was interrupted.
template <class Point>
PredictResult predict_points(const Study& study, Index outputs, std::size_t count,
                             Observer& observer, const Point& point) {
  const Clock::time_point began = Clock::now();
  PredictResult result;
  result.outputs = outputs;
  result.threads = resolve_threads(study.threads);
  for (std::size_t i = 0; i < count; ++i) {
    if (observer.interrupted()) {
      result.interrupted = true;
      break;
    }
    const Clock::time_point start = Clock::now();
    std::optional<PredictedPoint> predicted = point(i);
    if (!predicted) {
      result.interrupted = true;
      break;
    }
    predicted->seconds = seconds_since(start);
    result.points.push_back(*std::move(predicted));
    observer.progress("predict", static_cast<double>(i + 1), static_cast<double>(count));
  }
  result.seconds = seconds_since(began);
  return result;
}

/// How many draws of each chain predict: those that `sample` predicted with, all if it was asked
/// for no predictions.
Index predicting_draws(const Study& study) {
  const Index wanted = study.sample.predictor_draws;
  return wanted > 0 ? wanted : study.sample.draws;
}

}  // namespace

std::vector<std::string> input_names(const tasks::Dataset& inputs) {
  std::vector<std::string> names;
  for (const tasks::NamedSplit& set : named_splits(inputs)) names.push_back(set.name);
  return names;
}

tasks::Dataset with_inputs(const Study& study, const tasks::Dataset& data,
                           const tasks::Dataset& inputs) {
  if (learns_attention(study)) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: the result has learned attention, and predicts its test set and "
                            "further sets alone: put new inputs among those, and solve or sample "
                            "again",
                            inputs.name));
  }
  const std::string fault = mismatch(study, data, inputs);
  if (!fault.empty()) throw Error(ErrorKind::kBadData, inputs.name + ": " + fault);
  tasks::Dataset all = data;
  all.test.reset();
  all.network.reset();
  all.sets.clear();
  for (tasks::NamedSplit& set : named_splits(inputs)) {
    set.split.labels = MatrixXd::Zero(set.split.size(), data.outputs());
    // "train" and "test" are no names of further sets
    all.sets.push_back({fmt::format("inputs{}", all.sets.size() + 1), std::move(set.split)});
  }
  return all;
}

PredictResult predict(const Study& study, const tasks::Dataset& dataset,
                      const std::vector<std::string>& names, const SolveResult& solved,
                      Observer& observer) {
  const auto count = solved.points.size();
  const NewInputs inputs(study, dataset, names, static_cast<double>(count), observer);
  const auto predicted_at = [&](std::size_t i) -> std::optional<PredictedPoint> {
    const SolvePoint& point = solved.points[i];
    PredictionSums sums;
    sums.add(inputs.at(point));
    return PredictedPoint{point.widths, point.temperature, point.method, 0, inputs.sets_of(sums)};
  };
  return predict_points(study, dataset.outputs(), count, observer, predicted_at);
}

PredictResult predict(const Study& study, const tasks::Dataset& dataset,
                      const std::vector<std::string>& names, const SampleResult& sampled,
                      Observer& observer) {
  if (study.model.value_network) {
    throw Error(ErrorKind::kBadStudy,
                "model.value_network: a result of sample keeps draws of order parameters, from "
                "which a value network cannot predict. Take a result of solve, or put the new "
                "inputs among the further sets and sample again");
  }
  const Index all = std::max<Index>(study.sample.draws, 1);
  const Index wanted = std::min(predicting_draws(study), all);
  double predictions = 0.0;
  for (const SamplePoint& point : sampled.points) {
    predictions += static_cast<double>(wanted) * point.chains;
  }
  const NewInputs inputs(study, dataset, names, predictions, observer);
  const auto predicted_at = [&](std::size_t i) -> std::optional<PredictedPoint> {
    const SamplePoint& point = sampled.points[i];
    const Tensor& draws = point.order_parameters.front().draws;
    const Index chains = draws.shape.at(0), kept = draws.shape.at(1), n = draws.shape.at(2);
    std::vector<PredictionSums> of_chain(static_cast<std::size_t>(chains));
    parallel_for(chains, resolve_threads(study.threads), [&](Index c) {
      for (Index d = 0; d < kept && !observer.interrupted(); ++d) {
        if (!PosteriorRecorder::predicts(d, wanted, all)) continue;
        const MatrixXd u =
            Eigen::Map<const RowMatrixXd>(draws.values.data() + (c * kept + d) * n * n, n, n);
        of_chain[static_cast<std::size_t>(c)].add(inputs.at(u, point.temperature));
      }
    });
    if (observer.interrupted()) return std::nullopt;
    PredictionSums sums;
    for (const PredictionSums& one : of_chain) sums.add(one);
    if (sums.predictors.count == 0) {
      throw Error(ErrorKind::kBadData, fmt::format("points/{}: has no draws to predict from", i));
    }
    return PredictedPoint{point.widths, point.temperature, point.sampler, sums.predictors.count,
                          inputs.sets_of(sums)};
  };
  return predict_points(study, dataset.outputs(), sampled.points.size(), observer, predicted_at);
}

}  // namespace headway
