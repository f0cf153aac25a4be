#include "verbs/theory/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/model/linear_value_network.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/solve.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/theory/empty_directions.hpp"
#include "headway/theory/gram.hpp"
#include "headway/verbs/theory/action.hpp"
#include "headway/verbs/theory/learned_attention.hpp"
#include "verbs/theory/value_problem.hpp"

namespace headway {
namespace {

[[noreturn]] void bad_study(const std::string& key, const std::string& message) {
  throw OptionError(message, {key});
}

/// Kernels of data that are Gram matrices.
std::shared_ptr<const theory::PathKernels> gram_kernels(const Study& study,
                                                        const tasks::Dataset& dataset,
                                                        double input_variance) {
  using theory::KernelForm;
  const theory::PathKernelOptions options = kernel_options(study);
  if (options.form != KernelForm::kAuto && options.form != KernelForm::kGram) {
    bad_study(
        "solve.kernels",
        fmt::format("solve.kernels = \"{}\": {} holds Gram matrices; allowed: \"auto\" or \"gram\"",
                    word_of(options.form), dataset.name));
  }
  if (!(options.smallest_temperature > 0.0)) {
    bad_study(
        "model.temperature",
        fmt::format("model.temperature = {}: {} holds Gram matrices, which need a temperature "
                    "> 0",
                    options.smallest_temperature, dataset.name));
  }
  const Index paths = model::path_count(dataset.heads);
  GramMatrices scaled = theory::scale_gram(*dataset.gram, input_variance);
  if (!gram_becomes_rows(study, dataset)) {
    return theory::make_path_kernels(std::move(scaled), paths, options.threads);
  }
  theory::GramRows rows = theory::rows_of_gram(scaled);
  // What rounding of the sums took from the rows shows beside T. The sums say so at every point.
  constexpr double kTolerated = 1e-8;
  const double noise = std::numeric_limits<double>::epsilon() * scaled.gram.trace();
  if (noise > kTolerated * options.smallest_temperature && rows.rounding > kTolerated)
    return theory::make_path_kernels(std::move(scaled), paths, options.threads);
  return theory::make_path_kernels(std::move(rows.features), std::move(rows.labels), paths,
                                   options);
}

void warn_of_silence(Observer& observer) {
  observer.warning(
      "no path carries information about the training labels, so every prediction is 0: "
      "labels or features may be all 0, or equal examples may have opposite labels");
}

/// Warns of real labels whose mean is far from 0, that of the prior: to fit it U_1 grows large.
void warn_of_offset(const MatrixXd& labels, Observer& observer) {
  constexpr double kMostDeviations = 5.0;
  const auto of_classes = labels.array().abs() == 1.0 || labels.array() == 0.0;
  if (of_classes.all()) return;  // also where there are sums over examples alone
  for (Index c = 0; c < labels.cols(); ++c) {
    const double mean = labels.col(c).mean();
    const double deviation = std::sqrt((labels.col(c).array() - mean).square().mean());
    if (!(deviation > 0.0) || std::abs(mean) <= kMostDeviations * deviation) continue;
    observer.warning(fmt::format(
        "the training labels of output {} have a mean of {:.3g} and a deviation of {:.3g}: "
        "subtract the mean, since that of the prior is 0",
        c + 1, mean, deviation));
    return;
  }
}

/// Whether any path carries information about the labels (Evaluation::told); warns if none does.
/// `features`: P x (p r). Cost: one column if something is told, else all.
bool paths_tell(const MatrixXd& features, const MatrixXd& labels, Observer& observer) {
  const double rounding =
      static_cast<double>(labels.rows()) * std::numeric_limits<double>::epsilon();
  for (Index j = 0; j < features.cols(); ++j) {
    for (Index c = 0; c < labels.cols(); ++c) {
      if (std::abs(features.col(j).dot(labels.col(c))) >
          rounding * features.col(j).norm() * labels.col(c).norm()) {
        return true;
      }
    }
  }
  warn_of_silence(observer);
  return false;
}

/// The same from sums over the examples: features Phi, labels Y.
bool paths_tell(const GramMatrices& data, Observer& observer) {
  const double rounding =
      static_cast<double>(data.examples) * std::numeric_limits<double>::epsilon();
  for (Index j = 0; j < data.gram.rows(); ++j) {
    for (Index c = 0; c < data.outputs(); ++c) {
      if (std::abs(data.projection(j, c)) >
          rounding * std::sqrt(data.gram(j, j) * data.label_square(c, c))) {
        return true;
      }
    }
  }
  warn_of_silence(observer);
  return false;
}

/// Path outputs of the data set's network on scaled features X_pi = s_0 xi_pi / sqrt(N_0 p).
class NetworkOutputs {
 public:
  NetworkOutputs(const LinearValueNetwork& network, const tasks::Dataset& dataset,
                 double input_variance)
      : network_(network), dataset_(dataset) {
    const Index paths = model::path_count(dataset.heads);
    unscale_ = std::sqrt(static_cast<double>(dataset.features * paths) / input_variance);
  }
  [[nodiscard]] NetworkExamples on(const std::string& name, const MatrixXd& scaled,
                                   const MatrixXd& labels) const {
    return {name,
            {dataset_.heads, dataset_.outputs(),
             unscale_ * model::path_outputs(network_, RowMatrixXd(scaled))},
            labels};
  }

 private:
  const LinearValueNetwork& network_;
  const tasks::Dataset& dataset_;
  double unscale_;
};

/// The network of the data set on every split, from the features that the theory has of them.
std::optional<NetworkProblem> network_problem(const tasks::Dataset& dataset,
                                              const TheoryProblem& problem,
                                              const MatrixXd& train_features,
                                              double input_variance) {
  if (!dataset.network) return std::nullopt;
  const NetworkOutputs outputs(*dataset.network, dataset, input_variance);
  NetworkProblem result{*dataset.network, {}};
  result.sets.push_back(outputs.on("train", train_features, dataset.train.labels));
  Index row = 0;
  const auto append = [&](const std::string& name, const tasks::Split& split) {
    result.sets.push_back(
        outputs.on(name, problem.evaluation_features.middleRows(row, split.size()), split.labels));
    row += split.size();
  };
  if (dataset.test) append("test", *dataset.test);
  for (const tasks::NamedSplit& set : dataset.sets) append(set.name, set.split);
  return result;
}

}  // namespace

void check_study_against_dataset(const Study& study, const tasks::Dataset& dataset) {
  tasks::check_dataset(dataset);
  check_value_network(study, dataset);
  if (!study.model.heads.empty() && study.model.heads != dataset.heads) {
    bad_study(
        "model.heads",
        fmt::format("model.heads = [{}]: the data ({}) have heads [{}]; leave model.heads out",
                    join(study.model.heads, ", "), dataset.name, join(dataset.heads, ", ")));
  }
  if (dataset.form == AttentionForm::kPathFeatures && study.model.readout &&
      study.model.readout != dataset.readout) {
    bad_study(
        "model.readout",
        fmt::format("model.readout: {} holds path features that were taken with {}; leave "
                    "model.readout out",
                    dataset.name, dataset.readout ? "another readout" : "an unknown readout"));
  }
  if (dataset.network && study.model.readout && study.model.readout != dataset.readout) {
    bad_study("model.readout", fmt::format("model.readout: {} holds a network that was trained "
                                           "with another readout; leave model.readout out",
                                           dataset.name));
  }
  if (study.model.widths.empty()) {
    bad_study("model.widths", "model.widths: is empty; allowed: a width, or a list of them");
  }
  if (study.model.temperatures.empty()) {
    bad_study("model.temperature",
              "model.temperature: is empty; allowed: a temperature, or a list of them");
  }
  for (const std::vector<Index>& widths : study.model.widths)
    architecture_of(study, dataset, widths).validate();
  for (double t : study.model.temperatures) {
    if (!(t >= 0.0) || !(t < 1e300))
      bad_study("model.temperature",
                fmt::format("model.temperature = {}: must be a finite number >= 0", t));
  }
}

namespace {

/// "N_1, N_2"; of four layers or more "N_1, ..., N_4".
std::string layers_in_words(std::string_view prefix, std::string_view suffix, Index first,
                            std::size_t last) {
  const auto name = [&](Index layer) { return fmt::format("{}{}{}", prefix, layer, suffix); };
  const auto end = static_cast<Index>(last);
  if (end - first > 2) return fmt::format("{}, ..., {}", name(first), name(end));
  std::vector<std::string> names;
  for (Index layer = first; layer <= end; ++layer) names.push_back(name(layer));
  return join(names);
}

}  // namespace

model::Architecture architecture_of(const Study& study, const tasks::Dataset& dataset,
                                    const std::vector<Index>& widths) {
  model::Architecture architecture;
  architecture.heads = readout_heads(study, dataset);
  architecture.outputs = dataset.outputs();
  const std::size_t layers = dataset.heads.size();
  if (widths.size() == 1) {
    architecture.widths.assign(layers + 1, widths[0]);
  } else if (widths.size() == layers + 1) {
    architecture.widths = widths;
  } else {
    bad_study("model.widths",
              fmt::format("model.widths: the entry [{}] has {} numbers; with {} it must have one "
                          "number or {} ({}, N_a)",
                          join(widths, ", "), widths.size(), count_text(layers, "layer"),
                          layers + 1, layers_in_words("N_", "", 1, layers)));
  }
  const std::vector<double>& variances = study.model.variances;
  if (variances.size() == 1) {
    architecture.variances.assign(layers + 2, variances[0]);
  } else if (variances.size() == layers + 2) {
    architecture.variances = variances;
  } else {
    bad_study("model.variances",
              fmt::format("model.variances has {} numbers; with {} it must have one number or {} "
                          "({}, s_a^2)",
                          variances.size(), count_text(layers, "layer"), layers + 2,
                          layers_in_words("s_", "^2", 0, layers)));
  }
  return architecture;
}

std::vector<SweepPoint> sweep_points(const Study& study, const tasks::Dataset& dataset) {
  std::vector<SweepPoint> points;
  for (const std::vector<Index>& widths : study.model.widths) {
    const std::vector<Index> full = architecture_of(study, dataset, widths).widths;
    for (double t : study.model.temperatures) points.push_back({full, t});
  }
  return points;
}

Readout readout_of(const Study& study, const tasks::Dataset& dataset) {
  return study.model.readout.value_or(dataset.readout.value_or(Readout::kLastToken));
}

bool gram_becomes_rows(const Study& study, const tasks::Dataset& dataset) {
  return dataset.gram && study.solve.kernels == theory::KernelForm::kAuto &&
         theory::has_few_rows(*dataset.gram);
}

theory::PathKernelOptions kernel_options(const Study& study) {
  theory::PathKernelOptions options;
  options.form = study.solve.kernels;
  options.threads = resolve_threads(study.threads);
  options.memory_limit_bytes = study.solve.memory_limit_gib * 1024.0 * 1024.0 * 1024.0;
  options.smallest_temperature =
      *std::min_element(study.model.temperatures.begin(), study.model.temperatures.end());
  return options;
}

TheoryProblem make_problem(const Study& study, const tasks::Dataset& dataset, Observer& observer,
                           FeatureDirections directions) {
  numerics::prepare_blas();
  if (learns_attention(study)) {
    bad_study("model.attention_prior",
              "model.attention_prior: attention is learned by solve and sample alone, since other "
              "verbs need path features that are given; must be absent here");
  }
  check_study_against_dataset(study, dataset);
  warn_of_offset(dataset.train.labels, observer);
  if (study.model.value_network) {
    TheoryProblem problem = make_value_problem(study, dataset, observer);
    problem.evaluation.told =
        paths_tell(problem.kernels->features(), problem.train_labels, observer);
    return problem;
  }
  TheoryProblem problem = make_evaluation(study, dataset, observer);
  const model::Architecture architecture =
      architecture_of(study, dataset, study.model.widths.front());
  const Index paths = architecture.paths();
  if (dataset.gram) {
    if (directions == FeatureDirections::kAll) {
      bad_study("sample.sampler",
                fmt::format("sample.sampler = \"{}\": draws weights, which needs examples, and {} "
                            "holds Gram matrices; allowed: \"auto\" or \"exact\"",
                            word_of(study.sample.sampler), dataset.name));
    }
    problem.evaluation.told = paths_tell(*dataset.gram, observer);
    problem.kernels = gram_kernels(study, dataset, architecture.variance(0));
    return problem;
  }
  MatrixXd train_features = scaled_features(dataset.train, study, dataset, observer);
  problem.network = network_problem(dataset, problem, train_features, architecture.variance(0));
  problem.evaluation.told = paths_tell(train_features, problem.train_labels, observer);
  if (directions == FeatureDirections::kUsed)
    theory::drop_empty_directions(train_features, problem.evaluation_features, paths,
                                  kernel_options(study).smallest_temperature);
  problem.kernels = theory::make_path_kernels(std::move(train_features), problem.train_labels,
                                              paths, kernel_options(study));
  return problem;
}

theory::Action make_action(const Study& study, const tasks::Dataset& dataset, Observer& observer) {
  const TheoryProblem problem = make_problem(study, dataset, observer);
  const SweepPoint point = sweep_points(study, dataset).front();
  return {architecture_of(study, dataset, point.widths), point.temperature, problem.kernels};
}

Index Evaluation::examples() const {
  Index count = test_labels.rows();
  for (const MatrixXd& labels : set_labels) count += labels.rows();
  return count;
}

MatrixXd Evaluation::answers(MatrixXd mean) const {
  if (!told) mean.setZero();
  return mean;
}

theory::PredictorStatistics test_statistics(const Evaluation& evaluation, const MatrixXd& mean) {
  const Index test = std::min(evaluation.test_labels.rows(), mean.rows());
  return theory::predictor_statistics({evaluation.answers(mean.topRows(test)), {}},
                                      evaluation.test_labels);
}

PredictorReport report_evaluation(const Evaluation& evaluation,
                                  const theory::Prediction& prediction) {
  const auto rows = [&](Index begin, Index count) {
    const auto of = [&](const MatrixXd& m) -> MatrixXd {
      return m.rows() < begin + count ? MatrixXd(0, m.cols())
                                      : MatrixXd(m.middleRows(begin, count));
    };
    return theory::Prediction{evaluation.answers(of(prediction.mean)), of(prediction.variance)};
  };
  Index begin = evaluation.test_labels.rows();
  theory::Prediction test = rows(0, begin);
  PredictorReport report{theory::predictor_statistics(test, evaluation.test_labels),
                         std::move(test.mean),
                         std::move(test.variance),
                         kUndefined,
                         {}};
  for (std::size_t i = 0; i < evaluation.set_names.size(); ++i) {
    const MatrixXd& labels = evaluation.set_labels[i];
    const theory::PredictorStatistics s =
        theory::predictor_statistics({rows(begin, labels.rows()).mean, {}}, labels);
    report.sets.push_back({evaluation.set_names[i], s.accuracy, s.mean_squared_error});
    begin += labels.rows();
  }
  return report;
}

PredictorReport report_predictor(const TheoryProblem& problem, const theory::Prediction& train,
                                 const theory::Prediction& evaluated) {
  PredictorReport report = report_evaluation(problem.evaluation, evaluated);
  report.train_accuracy = theory::predictor_statistics({problem.evaluation.answers(train.mean), {}},
                                                       problem.train_labels)
                              .accuracy;
  return report;
}

std::vector<std::vector<std::string>> names_of_heads(const tasks::Dataset& dataset) {
  std::vector<std::vector<std::string>> names(dataset.heads.size());
  for (std::size_t l = 0; l < names.size(); ++l) {
    const bool given = l < dataset.layers.size() &&
                       dataset.layers[l].names.size() == static_cast<std::size_t>(dataset.heads[l]);
    for (int h = 0; h < dataset.heads[l]; ++h) {
      names[l].push_back(given ? dataset.layers[l].names[h] : fmt::format("head {}", h + 1));
    }
  }
  return names;
}

}  // namespace headway
