#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/extract.hpp"
#include "headway/train.hpp"
#include "headway/training/contributions.hpp"
#include "headway/verbs/networks/trained.hpp"
#include "verbs/networks/extract_attention.hpp"
#include "verbs/networks/part_reader.hpp"

namespace headway {
namespace {

using training::FrozenNetwork;

constexpr double kLargestGap = 1e-5;  // of sum of parts and embedding, relative to the embedding

/// Removes the means over the training examples, of real labels too, and scales all features by one
/// number so that the mean diagonal of the kernel of the Gaussian process is 1: sum_pi |xi_pi|^2 /
/// (N_0 p), at variances 1.
void normalise(bool real_labels, tasks::Dataset& dataset) {
  const Eigen::RowVectorXd mean = dataset.train.path_features.colwise().mean();
  const Eigen::RowVectorXd label = dataset.train.labels.colwise().mean();
  for (tasks::Split* split : splits_of(dataset)) {
    split->path_features.rowwise() -= mean;
    if (real_labels) split->labels.rowwise() -= label;
  }
  const double diagonal = dataset.train.path_features.squaredNorm() /
                          static_cast<double>(dataset.train.path_features.size());
  if (!(diagonal > 0.0)) {
    throw Error(ErrorKind::kBadData,
                "the contributions are the same on all training examples, so nothing can be "
                "learned from them; more training examples may help");
  }
  for (tasks::Split* split : splits_of(dataset)) split->path_features /= std::sqrt(diagonal);
}

/// Path features of every part of the kept layers.
void extract_contributions(const PartReader& reader, const FrozenNetwork& network,
                           const std::vector<Part>& parts, const training::TaskFormat& format,
                           ExtractResult& out) {
  tasks::Dataset& dataset = out.dataset;
  dataset.form = AttentionForm::kPathFeatures;
  dataset.heads = network.levels().sizes;
  for (const std::vector<std::string>& names : network.levels().names) {
    dataset.layers.push_back({{}, {}, {}, names});
  }
  const Index columns = network.levels().paths() * network.features();
  for (const Part& part : parts) {
    tasks::Split split;
    split.path_features.resize(part.examples, columns);
    VectorXd gaps(part.examples);
    const Answers answers =
        reader.read(part, [&](Index example, const training::TaskBatch& batch, Index i) {
          const FrozenNetwork::Contributions c = network.contributions(batch, i, reader.token());
          split.path_features.row(example) =
              Eigen::Map<const Eigen::RowVectorXd>(c.parts.data(), columns);
          gaps[example] =
              (c.parts.colwise().sum().transpose() - c.embedding).norm() / c.embedding.norm();
          return c.outputs;
        });
    out.largest_gap = std::max(out.largest_gap, gaps.maxCoeff());
    out.splits.push_back(quality_of(part, answers, format));
    split.labels = answers.labels;
    add_split(part, std::move(split), dataset);
  }
  if (!(out.largest_gap < kLargestGap)) {
    throw Error(ErrorKind::kInternal, fmt::format("the sum of the parts differs from the embedding "
                                                  "by {:.2g} of its size: must be below {:g}",
                                                  out.largest_gap, kLargestGap));
  }
  normalise(format.loss == training::LossKind::kSquaredError && !format.signs, dataset);
  dataset.note =
      "contributions of frozen parts to the embedding that the network's last linear layer reads, "
      "without their means over the training examples (those of real labels too), scaled to a mean "
      "kernel diagonal of 1";
}

std::vector<Index> kept_layers(const Study& study) {
  return study.extract.layers.empty() ? std::vector<Index>{study.train.model.layers}
                                      : study.extract.layers;
}

FrozenNetwork frozen(const Study& study, const std::vector<training::NamedTensor>& parameters,
                     const training::TaskFormat& format) {
  check_extractable(study);
  const ExtractOptions& wanted = study.extract;
  FrozenNetwork network(study.train.model, format, parameters, kept_layers(study),
                        wanted.parts.value_or(training::GeneratedParts::kHeads));
  require_form(study, format, kept_layers(study));
  return network;
}

ExtractSizes sizes_of(const Study& study, const FrozenNetwork& network,
                      const training::TrainingTask& task) {
  const training::TaskFormat& format = task.format();
  ExtractSizes out;
  out.features = network.features();
  double numbers = 0.0;  // of an example
  if (has_inputs(study.extract)) {
    out.heads.assign(kept_layers(study).size(), static_cast<int>(network.heads()));
    const auto matrices = static_cast<double>(out.heads.size()) * network.heads();
    numbers = static_cast<double>(format.tokens) *
              (static_cast<double>(out.features) + matrices * static_cast<double>(format.tokens));
  } else {
    out.heads = network.levels().sizes;
    numbers = static_cast<double>(network.levels().paths()) * static_cast<double>(out.features);
  }
  for (const Part& part : parts_of(task, study)) {
    out.splits.emplace_back(part.set, part.examples);
    out.bytes += sizeof(double) * numbers * static_cast<double>(part.examples);
  }
  require_memory(out, physical_memory());
  return out;
}

}  // namespace

void require_memory(const ExtractSizes& sizes, double memory_bytes) {
  if (sizes.bytes <= memory_bytes) return;
  throw OptionError(
      fmt::format("extract.layers, extract.parts: parts [{}] of {} features need {:.1f} GiB for "
                  "these examples: must be at most {:.1f} GiB, the memory of this machine",
                  join(sizes.heads, ", "), sizes.features, sizes.bytes / kGibibyte,
                  memory_bytes / kGibibyte),
      {"extract.layers", "extract.parts"});
}

ExtractSizes extract_sizes(const Study& study, const std::vector<training::NamedTensor>& parameters,
                           const training::TrainingTask& task) {
  Observer quiet;
  static_cast<void>(PartReader(study, task, quiet));  // refuses a position that does not exist
  return sizes_of(study, frozen(study, parameters, task.format()), task);
}

ExtractResult extract(const Study& study, const std::vector<training::NamedTensor>& parameters,
                      const training::TrainingTask& task, Observer& observer) {
  const ExtractOptions& wanted = study.extract;
  const training::TaskFormat& format = task.format();
  const FrozenNetwork network = frozen(study, parameters, format);
  static_cast<void>(sizes_of(study, network, task));  // refuses data that do not fit into memory
  const std::vector<Index> layers = kept_layers(study);
  const PartReader reader(study, task, observer);
  const std::vector<Part> parts = parts_of(task, study);
  for (const Part& part : parts) {
    if (part.set == part.split) continue;
    observer.note(fmt::format("{}: what training calls {}", part.set, part.split));
  }
  ExtractResult out;
  out.dataset.name = study.name;
  out.dataset.features = network.features();
  if (has_inputs(wanted)) {
    extract_attention(reader, network, parts, study, format, out);
    for (const Index layer : layers) {
      LayerHeads names;
      for (Index h = 1; h <= network.heads(); ++h) {
        names.names.push_back(fmt::format("L{}H{}", layer, h));
      }
      out.dataset.layers.push_back(std::move(names));
    }
  } else {
    extract_contributions(reader, network, parts, format, out);
  }
  Sha256 hash;  // what the data are made of
  add_weights(parameters, hash);
  hash.update(examples_hash(task));
  hash.update(fmt::format("{} {} {} {}", join(layers, ","), static_cast<int>(out.dataset.form),
                          reader.token(), network.levels().paths()));
  if (out.dataset.any_rows) hash.update(word_of(ExtractForm::kValueNetwork));
  for (const ExtractedSplit& split : out.splits) {
    hash.update(fmt::format("{} {}", split.name, split.examples));
  }
  out.dataset.content_hash = hash.hex_digest();
  return out;
}

}  // namespace headway
