#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/core/interruption.hpp"
#include "headway/core/labels.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"
#include "headway/extract.hpp"
#include "headway/train.hpp"
#include "headway/training/contributions.hpp"
#include "headway/verbs/networks/trained.hpp"
#include "verbs/networks/scored_labels.hpp"

namespace headway {
namespace {

using training::FrozenNetwork;

constexpr Index kBlock = 64;          // examples of a batch
constexpr double kLargestGap = 1e-5;  // of sum of parts and embedding, relative to the embedding

/// Which split becomes what.
struct Part {
  std::string split;
  std::string set;  ///< "train", "test", else the name of a further set
  Index examples;
};

std::vector<Part> parts_of(const training::TrainingTask& task, const ExtractOptions& wanted) {
  const std::vector<std::string>& splits = task.splits();
  const bool held_out = std::find(splits.begin(), splits.end(), "held_out") != splits.end();
  const std::string test = held_out ? "held_out" : "test";
  std::vector<Part> parts;
  for (const std::string& split : splits) {
    if (split == training::kSeenSplit) continue;  // no set of its own: train has these examples
    Part part{split, split, wanted.out_of_distribution_examples};
    const Index distinct = task.train_examples();
    if (split == "train") {
      part.examples =
          distinct > 0 ? std::min(wanted.train_examples, distinct) : wanted.train_examples;
    }
    if (split == task.selection_split()) {
      part = {split, tasks::kValidationSet, wanted.validation_examples};
    }
    if (held_out && split == "test") part.set = "in_distribution";  // SRAVEN has both
    if (split == test) part = {split, "test", wanted.test_examples};
    if (task.size(split) > 0) part.examples = std::min(part.examples, task.size(split));
    if (part.examples > 0) parts.push_back(std::move(part));
  }
  return parts;
}

/// Labels of one split and what the network answers there.
struct Answers {
  RowMatrixXd labels, outputs;
};

/// Reads a transformer example by example.
class PartReader {
 public:
  PartReader(const Study& study, const training::TrainingTask& task, Observer& observer)
      : task_(task),
        format_(task.format()),
        threads_(resolve_threads(study.threads)),
        observer_(observer) {
    const Index position = study.extract.position.value_or(format_.scored);
    if (position > format_.scored) {
      throw OptionError(
          fmt::format("extract.position = {}: must be from 1 to {}, the number of scored tokens",
                      position, format_.scored),
          {"extract.position"});
    }
    place_ = position - 1;
    token_ = format_.tokens - format_.scored + place_;
  }

  [[nodiscard]] Index token() const { return token_; }

  /// Calls read(example of the split, batch, index in it) in parallel, block by block.
  template <class Read>
  Answers read(const Part& part, const Read& read_example) const {
    Answers out{RowMatrixXd::Zero(part.examples, format_.outputs),
                RowMatrixXd(part.examples, format_.outputs)};
    training::TaskBatch batch;
    for (Index first = 0; first < part.examples; first += kBlock) {
      const Index count = std::min(kBlock, part.examples - first);
      task_.batch(part.split, first, count, batch);
      parallel_for(count, threads_, [&](Index i) {
        throw_if_interrupted(observer_);
        out.outputs.row(first + i) = read_example(first + i, batch, i).transpose();
        add_label(format_, batch, i, place_, out.labels.row(first + i));
      });
      observer_.progress("extract " + part.split, static_cast<double>(first + count),
                         static_cast<double>(part.examples));
    }
    return out;
  }

 private:
  const training::TrainingTask& task_;
  training::TaskFormat format_;
  int threads_;
  Observer& observer_;
  Index place_ = 0, token_ = 0;
};

ExtractedSplit quality_of(const Part& part, const Answers& answers,
                          const training::TaskFormat& format) {
  ExtractedSplit out;
  out.name = part.set;
  out.examples = part.examples;
  if (format.signs || format.loss == training::LossKind::kCrossEntropy) {
    out.accuracy = right_answers(answers.outputs, answers.labels).mean();
  }
  if (format.loss == training::LossKind::kSquaredError) {
    out.mean_squared_error = (answers.outputs - answers.labels).squaredNorm() /
                             static_cast<double>(answers.labels.size());
  }
  return out;
}

void add_split(const Part& part, tasks::Split split, tasks::Dataset& dataset) {
  if (part.set == "train") {
    dataset.train = std::move(split);
  } else if (part.set == "test") {
    dataset.test = std::move(split);
  } else {
    dataset.sets.push_back({part.set, std::move(split)});
  }
}

std::vector<tasks::Split*> splits_of(tasks::Dataset& dataset) {
  std::vector<tasks::Split*> splits = {&dataset.train};
  if (dataset.test) splits.push_back(&*dataset.test);
  for (tasks::NamedSplit& set : dataset.sets) splits.push_back(&set.split);
  return splits;
}

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

void require_attention_form(const Study& study, const training::TaskFormat& format,
                            Index position) {
  const auto& model = study.train.model;
  if (!training::normalises_over_keys(model.attention_options().normalisation)) {
    throw OptionError(
        fmt::format("extract.form = \"attention\": must be \"contributions\" for train.attention = "
                    "\"{}\": the theory's attention sums to 1 over the keys",
                    model.attention),
        {"extract.form"});
  }
  if (position == format.scored) return;
  throw OptionError(fmt::format("extract.position = {}: must be {} with extract.form = "
                                "\"attention\": the theory's readout takes the last token",
                                position, format.scored),
                    {"extract.position"});
}

/// Inputs and attention matrices of the kept layers.
void extract_attention(const PartReader& reader, const FrozenNetwork& network,
                       const std::vector<Part>& parts, const training::TaskFormat& format,
                       std::size_t layers, ExtractResult& out) {
  tasks::Dataset& dataset = out.dataset;
  const Index heads = network.heads();
  dataset.form = AttentionForm::kSupplied;
  dataset.readout = Readout::kLastToken;
  dataset.heads.assign(layers, static_cast<int>(heads));
  const Index tokens = format.tokens;
  for (const Part& part : parts) {
    Tensor inputs({part.examples, tokens, network.features()});
    std::vector<Tensor> attention(layers, Tensor({part.examples, heads, tokens, tokens}));
    std::vector<std::uint8_t> mask;
    const Answers answers =
        reader.read(part, [&](Index example, const training::TaskBatch& batch, Index i) {
          const FrozenNetwork::Attention a = network.attention(batch, i, reader.token());
          std::copy_n(a.inputs.data(), a.inputs.size(),
                      inputs.values.begin() + example * a.inputs.size());
          for (std::size_t l = 0; l < layers; ++l) {
            std::copy(a.weights[l].begin(), a.weights[l].end(),
                      attention[l].values.begin() + example * heads * tokens * tokens);
          }
          return a.outputs;
        });
    out.splits.push_back(quality_of(part, answers, format));
    tasks::Split split;
    split.examples =
        std::make_shared<tasks::MemoryExamples>(std::move(inputs), mask, std::move(attention));
    split.labels = answers.labels;
    add_split(part, std::move(split), dataset);
  }
  dataset.note =
      "inputs and attention of a network that the theory approximates: its residual streams, "
      "feed-forward networks and nonlinear values are left out";
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
  if (wanted.form == ExtractForm::kAttention) {
    require_attention_form(study, format, wanted.position.value_or(format.scored));
  }
  return network;
}

ExtractSizes sizes_of(const Study& study, const FrozenNetwork& network,
                      const training::TrainingTask& task) {
  const training::TaskFormat& format = task.format();
  ExtractSizes out;
  out.features = network.features();
  double numbers = 0.0;  // of an example
  if (study.extract.form == ExtractForm::kAttention) {
    out.heads.assign(kept_layers(study).size(), static_cast<int>(network.heads()));
    const auto matrices = static_cast<double>(out.heads.size()) * network.heads();
    numbers = static_cast<double>(format.tokens) *
              (static_cast<double>(out.features) + matrices * static_cast<double>(format.tokens));
  } else {
    out.heads = network.levels().sizes;
    numbers = static_cast<double>(network.levels().paths()) * static_cast<double>(out.features);
  }
  for (const Part& part : parts_of(task, study.extract)) {
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
                  fmt::join(sizes.heads, ", "), sizes.features, sizes.bytes / kGibibyte,
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
  const std::vector<Part> parts = parts_of(task, wanted);
  ExtractResult out;
  out.dataset.name = study.name;
  out.dataset.features = network.features();
  if (wanted.form == ExtractForm::kAttention) {
    extract_attention(reader, network, parts, format, layers.size(), out);
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
  hash.update(fmt::format("{} {} {} {}", fmt::join(layers, ","), static_cast<int>(out.dataset.form),
                          reader.token(), network.levels().paths()));
  for (const ExtractedSplit& split : out.splits) {
    hash.update(fmt::format("{} {}", split.name, split.examples));
  }
  out.dataset.content_hash = hash.hex_digest();
  return out;
}

}  // namespace headway
