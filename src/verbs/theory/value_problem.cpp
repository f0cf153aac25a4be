#include "verbs/theory/value_problem.hpp"

#include <fmt/format.h>

#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/theory/value_saddle.hpp"

namespace headway {
namespace {

constexpr const char* kValueNetwork = "model.value_network";
// Matrices of the size of S that are held: by kernels, and by the search for an adapted S, which
// keeps 50 pairs of steps and slopes.
constexpr double kMatricesOfKernels = 6.0;
constexpr double kMatricesOfSearch = 60.0;

using model::FeatureLearning;
using model::ValueForm;
using model::ValueSites;

[[noreturn]] void bad_network(const std::string& key, const std::string& message) {
  const std::string full = fmt::format("{}.{}", kValueNetwork, key);
  throw OptionError(full + message, {full, kValueNetwork});
}

/// Unlike value_sites(), the message names the data.
void check_layers_of(const model::ValueNetwork& network, const tasks::Dataset& dataset) {
  const std::size_t layers = dataset.heads.size();
  if (layers <= 1) return;
  if (network.form != ValueForm::kBeforeAttention) {
    bad_network("form", fmt::format(" = \"{}\": has one layer of attention, and {} has {}; must be "
                                    "\"before_attention\"",
                                    word_of(network.form), dataset.name, layers));
  }
  if (network.features == FeatureLearning::kAdapted) {
    bad_network("features", fmt::format(" = \"adapted\": {} has {} layers of attention; must be "
                                        "\"fixed\" with more than one",
                                        dataset.name, layers));
  }
}

void check_room_for_s(const Study& study, const tasks::Dataset& dataset) {
  const model::ValueNetwork& network = *study.model.value_network;
  const auto d =
      static_cast<double>(model::value_inputs(network.form, dataset.heads, dataset.features));
  const bool adapted = network.features == FeatureLearning::kAdapted;
  const double bytes = (adapted ? kMatricesOfSearch : kMatricesOfKernels) * sizeof(double) * d * d;
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  if (bytes <= study.solve.memory_limit_gib * kGib) return;
  throw OptionError(
      fmt::format("solve.memory_limit_gib = {:g}: hidden units of the value network read d = "
                  "{:.0f} numbers, and features = \"{}\" with a covariance S of {:.0f} x {:.0f} "
                  "take {:.1f} GiB: must be at least that. Or take {}fewer inputs or heads",
                  study.solve.memory_limit_gib, d, word_of(network.features), d, d, bytes / kGib,
                  adapted ? "features = \"fixed\", " : ""),
      {"solve.memory_limit_gib", kValueNetwork});
}

ValueSites sites_of(const tasks::Split& split, const Study& study, const tasks::Dataset& dataset,
                    Observer& observer) {
  const bool supplied = dataset.form == AttentionForm::kSupplied;  // layers then hold names alone
  try {
    return model::value_sites(
        *study.model.value_network, *split.examples, dataset.heads,
        supplied ? std::vector<LayerHeads>{} : dataset.layers,
        {.readout = readout_of(study, dataset), .attention = study.model.attention}, observer);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    throw Error(ErrorKind::kBadData, fmt::format("{}: {}", dataset.name, error.what()));
  }
}

/// Sites of several splits as of one.
ValueSites joined_sites(const std::vector<ValueSites>& parts, Index inputs, Index readouts) {
  Index sites = 0;
  for (const ValueSites& part : parts) sites += part.directions.rows();
  ValueSites all;
  all.directions.resize(sites, inputs);
  all.weights.resize(sites, readouts);
  all.offsets = {0};
  Index row = 0;
  for (const ValueSites& part : parts) {
    all.directions.middleRows(row, part.directions.rows()) = part.directions;
    all.weights.middleRows(row, part.weights.rows()) = part.weights;
    for (Index i = 0; i < part.examples(); ++i) all.offsets.push_back(row + part.first(i + 1));
    row += part.directions.rows();
  }
  return all;
}

std::shared_ptr<const ValueData> make_sites(const Study& study, const tasks::Dataset& dataset,
                                            Observer& observer) {
  auto data = std::make_shared<ValueData>();
  data->train = sites_of(dataset.train, study, dataset, observer);
  std::vector<ValueSites> others;
  if (dataset.test) others.push_back(sites_of(*dataset.test, study, dataset, observer));
  for (const tasks::NamedSplit& set : dataset.sets)
    others.push_back(sites_of(set.split, study, dataset, observer));
  data->evaluated = joined_sites(others, data->train.directions.cols(), data->train.weights.cols());
  data->evaluated.nonlinearity = data->train.nonlinearity;
  return data;
}

}  // namespace

bool adapts_features(const Study& study) {
  return study.model.value_network &&
         study.model.value_network->features == FeatureLearning::kAdapted;
}

std::vector<int> readout_heads(const Study& study, const tasks::Dataset& dataset) {
  const auto& network = study.model.value_network;
  if (network && network->form == ValueForm::kAfterAttention) return {1};
  return dataset.heads;
}

void check_value_network(const Study& study, const tasks::Dataset& dataset) {
  if (!study.model.value_network) {
    if (!dataset.any_rows) return;
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: attention_rows = \"any\": its attention may be signed, which is "
                            "allowed with model.value_network only",
                            dataset.name));
  }
  if (dataset.train.examples == nullptr) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: holds {}, where no value network can act; allowed with "
                            "model.value_network: inputs [P, S, N_0] with their attention",
                            dataset.name, dataset.gram ? "Gram matrices" : "path features"));
  }
  check_layers_of(*study.model.value_network, dataset);
  check_room_for_s(study, dataset);
}

TheoryProblem make_value_problem(const Study& study, const tasks::Dataset& dataset,
                                 Observer& observer) {
  const model::ValueNetwork& network = *study.model.value_network;
  if (network.features == FeatureLearning::kAdapted &&
      network.nonlinearity == numerics::Nonlinearity::kIdentity) {
    observer.warning(
        "model.value_network.features = \"adapted\": with nonlinearity = \"identity\" U and S both "
        "describe how the values adapt, which is then counted twice. Take features = \"fixed\"");
  }
  TheoryProblem problem = outline_problem(dataset);
  problem.values = make_sites(study, dataset, observer);
  const model::Architecture architecture =
      architecture_of(study, dataset, study.model.widths.front());
  const Index d = problem.values->train.directions.cols();
  observer.progress("kernel of the value network", 0.0, 1.0);
  return with_features(problem, study, architecture.variance(0) * MatrixXd::Identity(d, d));
}

TheoryProblem with_features(const TheoryProblem& problem, const Study& study, const MatrixXd& s) {
  const theory::PathKernelOptions options = kernel_options(study);
  theory::ValueFeatures features =
      theory::value_features(problem.values->train, problem.values->evaluated, s, options.threads);
  TheoryProblem result = problem;
  result.evaluation_features = std::move(features.other);
  result.kernels = theory::make_path_kernels(std::move(features.train), problem.train_labels,
                                             problem.values->train.readouts(), options);
  return result;
}

std::shared_ptr<const TheoryProblem> problem_of_point(
    const std::shared_ptr<const TheoryProblem>& problem, const Study& study,
    const SolvePoint& point) {
  if (!adapts_features(study) || !point.features) return problem;
  return std::make_shared<const TheoryProblem>(with_features(*problem, study, point.features->s));
}

}  // namespace headway
