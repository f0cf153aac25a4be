#include "headway/extract.hpp"

#include <fmt/format.h>

#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/results/trained_network.hpp"
#include "headway/train.hpp"

namespace headway {
namespace {

using tasks::OneShotSplit;

/// The weights must be those of the network that the study describes.
void check_architecture(const Study& study, const training::TrainedLinearValue& trained) {
  const training::TransformerOptions& model = study.train.model;
  const Index query_dim = trained.heads.front().query.front().rows();
  bool fits = static_cast<Index>(trained.heads.size()) == model.layers &&
              trained.network.input.rows() == model.model_dim &&
              trained.network.input.cols() == tasks::kOneShotFeatures &&
              trained.network.readout.rows() == 1;
  for (const LayerHeads& layer : trained.heads) {
    fits = fits && static_cast<Index>(layer.query.size()) == model.heads &&
           layer.query.front().rows() == model.query_dim / model.heads;
  }
  if (fits) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("the weights belong to a network with heads [{}], {} features, width {} "
                          "and {} query dims a head: must have {} layers of {} heads, {} features, "
                          "width {} and {} query dims a head, as in the study",
                          join(trained.head_counts(), ", "), trained.network.input.cols(),
                          trained.network.input.rows(), query_dim, model.layers, model.heads,
                          tasks::kOneShotFeatures, model.model_dim, model.query_dim / model.heads));
}

ExtractedSplit evaluate(const std::string& name, const tasks::Split& examples,
                        const training::TrainedLinearValue& trained, int threads,
                        Observer& observer) {
  ExtractedSplit out;
  out.name = name;
  out.examples = examples.size();
  const VectorXd labels = examples.labels.col(0);
  const VectorXd answers =
      training::trained_path_outputs(trained, *examples.examples, labels, threads, observer)
          .outputs.rowwise()
          .sum();
  const auto count = static_cast<double>(labels.size());
  out.accuracy = static_cast<double>((answers.array() * labels.array() > 0.0).count()) / count;
  out.mean_squared_error = (answers - labels).squaredNorm() / count;
  return out;
}

/// Examples for choosing a temperature, and those out of distribution; the hash of the data set
/// grows with them.
void add_sets(const ExtractOptions& wanted, const training::OneShotExamples& examples,
              tasks::Dataset& dataset) {
  Sha256 hash;
  hash.update(dataset.content_hash);
  const auto add = [&](const std::string& name,
                       const std::shared_ptr<const tasks::OneShotImagesGenerator>& images,
                       OneShotSplit split, Index count) {
    if (count == 0) return;
    dataset.sets.push_back({name, tasks::one_shot_split(images, split, 0, count)});
    hash.update(fmt::format("\n{} {} {}", name, images->content_hash(), count));
  };
  add(tasks::kValidationSet, examples.images, OneShotSplit::kValidation,
      wanted.validation_examples);
  for (const training::OutOfDistributionImages& other : examples.out_of_distribution) {
    add(other.name, other.examples, OneShotSplit::kOutOfDistribution,
        wanted.out_of_distribution_examples);
  }
  dataset.content_hash = hash.hex_digest();
}

}  // namespace

ExtractResult extract(const Study& study, const std::vector<training::NamedTensor>& parameters,
                      const training::OneShotExamples& examples, Observer& observer) {
  check_extractable(study);
  const ExtractOptions& wanted = study.extract;
  ExtractResult out;
  const training::TrainedLinearValue trained = training::linear_value_network(parameters);
  check_architecture(study, trained);
  out.order_parameter = model::order_parameter(trained.network);
  tasks::OneShotDatasetOptions options;
  options.train_examples = wanted.train_examples;
  options.test_examples = examples.images->classes().test.empty() ? 0 : wanted.test_examples;
  out.dataset =
      tasks::make_one_shot_dataset(examples.images, examples.images, trained.heads, options);
  out.dataset.name = study.name;
  out.dataset.readout = Readout::kMean;
  out.dataset.network = trained.network;
  add_sets(wanted, examples, out.dataset);
  const int threads = resolve_threads(study.threads);
  const auto add = [&](const std::string& name, const tasks::Split& split) {
    out.splits.push_back(evaluate(name, split, trained, threads, observer));
  };
  add("train", out.dataset.train);
  if (out.dataset.test) add("test", *out.dataset.test);
  for (const tasks::NamedSplit& set : out.dataset.sets) add(set.name, set.split);
  return out;
}

}  // namespace headway
