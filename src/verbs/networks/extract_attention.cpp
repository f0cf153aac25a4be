#include "verbs/networks/extract_attention.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "headway/model/value_kernel.hpp"

namespace headway {
namespace {

using training::FrozenNetwork;

/// A split whose examples are not put together yet.
struct AttentionSplit {
  const Part* part;
  Tensor inputs;
  std::vector<Tensor> attention;
  MatrixXd labels;
};

std::shared_ptr<tasks::MemoryExamples> examples_of(AttentionSplit split) {
  return std::make_shared<tasks::MemoryExamples>(
      std::move(split.inputs), std::vector<std::uint8_t>{}, std::move(split.attention));
}

/// The mean diagonal of the kernel of the Gaussian process (eq. 80 at S = 1, U = 1).
double mean_diagonal(const AttentionSplit& train, numerics::Nonlinearity nonlinearity,
                     Index heads) {
  const auto examples = examples_of(train);
  const model::ValueSites sites =
      model::value_sites({.form = model::ValueForm::kHyla, .nonlinearity = nonlinearity}, *examples,
                         {static_cast<int>(heads)}, {}, {}, no_observer());
  const Index d = sites.directions.cols();
  const MatrixXd blocks =
      model::value_kernel_diagonal(model::WhitenedSites(sites, MatrixXd::Identity(d, d)));
  double sum = 0.0;
  for (Index i = 0; i < blocks.rows(); ++i) sum += blocks(i, i % heads);
  return sum / static_cast<double>(sites.examples());
}

/// Scales inputs and centres labels. relu and the identity take factors out.
void scale_value_network(numerics::Nonlinearity nonlinearity, Index heads,
                         std::vector<AttentionSplit>& splits) {
  const auto train = std::find_if(splits.begin(), splits.end(), [](const AttentionSplit& split) {
    return split.part->set == "train";
  });
  const double diagonal = mean_diagonal(*train, nonlinearity, heads);
  if (!(diagonal > 0.0)) {
    throw Error(ErrorKind::kBadData,
                "the last layer's value network reads 0 on all training examples, so nothing can "
                "be learned from it");
  }
  const Eigen::RowVectorXd mean = train->labels.colwise().mean();
  for (AttentionSplit& split : splits) {
    split.labels.rowwise() -= mean;
    for (double& x : split.inputs.values) x /= std::sqrt(diagonal);
  }
}

numerics::Nonlinearity theory_nonlinearity(training::Nonlinearity phi) {
  return phi == training::Nonlinearity::kIdentity ? numerics::Nonlinearity::kIdentity
                                                  : numerics::Nonlinearity::kRelu;
}

[[noreturn]] void refuse_value_network(const std::string& what, const std::string& key) {
  throw OptionError("extract.form = \"value_network\": " + what, {"extract.form", key});
}

void require_value_network(const Study& study, const training::TaskFormat& format,
                           const std::vector<Index>& layers) {
  const training::TransformerOptions& model = study.train.model;
  const training::AttentionOptions attention = model.attention_options();
  if (attention.value_network != training::ValueNetwork::kHyla) {
    refuse_value_network(
        fmt::format("must be \"contributions\" for train.attention = \"{}\", whose values have {}",
                    model.attention,
                    is_generated(attention.value_network) ? "two hidden layers"
                                                          : "no hidden layer made by the heads"),
        "train.attention");
  }
  if (attention.nonlinearity != training::Nonlinearity::kRelu &&
      attention.nonlinearity != training::Nonlinearity::kIdentity) {
    refuse_value_network(fmt::format("must be \"contributions\" for train.nonlinearity = \"{}\": "
                                     "the theory has relu, and no nonlinearity",
                                     model.nonlinearity),
                         "train.nonlinearity");
  }
  if (layers != std::vector<Index>{model.layers}) {
    refuse_value_network(fmt::format("extract.layers must be [{}], the last layer", model.layers),
                         "extract.layers");
  }
  if (study.extract.parts == training::GeneratedParts::kPairs) {
    refuse_value_network("extract.parts must be \"heads\": its kernel has the pairs of heads in it",
                         "extract.parts");
  }
  if (format.loss != training::LossKind::kSquaredError) {
    refuse_value_network(
        "must be \"contributions\" for tasks of classes: what arrives around the layer is taken "
        "off the labels, which must be numbers",
        "task.kind");
  }
}

}  // namespace

bool has_inputs(const ExtractOptions& wanted) {
  return wanted.form && *wanted.form != ExtractForm::kContributions;
}

void require_form(const Study& study, const training::TaskFormat& format,
                  const std::vector<Index>& layers) {
  if (!has_inputs(study.extract)) return;
  const ExtractForm form = *study.extract.form;
  const auto& model = study.train.model;
  if (form == ExtractForm::kValueNetwork) {
    require_value_network(study, format, layers);
  } else if (!training::normalises_over_keys(model.attention_options().normalisation)) {
    throw OptionError(
        fmt::format("extract.form = \"attention\": must be \"contributions\" for train.attention = "
                    "\"{}\": the theory's attention sums to 1 over the keys",
                    model.attention),
        {"extract.form"});
  }
  const Index position = study.extract.position.value_or(format.scored);
  if (position == format.scored) return;
  throw OptionError(fmt::format("extract.position = {}: must be {} with extract.form = \"{}\": the "
                                "theory's readout takes the last token",
                                position, format.scored, word_of(form)),
                    {"extract.position"});
}

void extract_attention(const PartReader& reader, const FrozenNetwork& network,
                       const std::vector<Part>& parts, const Study& study,
                       const training::TaskFormat& format, ExtractResult& out) {
  tasks::Dataset& dataset = out.dataset;
  const bool values = study.extract.form == ExtractForm::kValueNetwork;
  const std::size_t layers = values ? 1 : std::max<std::size_t>(study.extract.layers.size(), 1);
  const Index heads = network.heads();
  dataset.form = AttentionForm::kSupplied;
  dataset.any_rows = values;
  dataset.readout = Readout::kLastToken;
  dataset.heads.assign(layers, static_cast<int>(heads));
  const Index tokens = format.tokens;
  std::vector<AttentionSplit> splits;
  for (const Part& part : parts) {
    AttentionSplit split{
        &part,
        Tensor({part.examples, tokens, network.features()}),
        std::vector<Tensor>(layers, Tensor({part.examples, heads, tokens, tokens})),
        {}};
    RowMatrixXd around = RowMatrixXd::Zero(part.examples, format.outputs);
    const Answers answers =
        reader.read(part, [&](Index example, const training::TaskBatch& batch, Index i) {
          const FrozenNetwork::Attention a = network.attention(batch, i, reader.token());
          std::copy_n(a.inputs.data(), a.inputs.size(),
                      split.inputs.values.begin() + example * a.inputs.size());
          for (std::size_t l = 0; l < layers; ++l) {
            std::copy(a.weights[l].begin(), a.weights[l].end(),
                      split.attention[l].values.begin() + example * heads * tokens * tokens);
          }
          if (values) around.row(example) = network.around(batch, i, reader.token()).transpose();
          return a.outputs;
        });
    out.splits.push_back(quality_of(part, answers, format));
    split.labels = answers.labels - around;
    splits.push_back(std::move(split));
  }
  if (values) {
    scale_value_network(theory_nonlinearity(study.train.model.attention_options().nonlinearity),
                        heads, splits);
  }
  for (AttentionSplit& split : splits) {
    const Part& part = *split.part;
    tasks::Split made;
    made.labels = std::move(split.labels);
    made.examples = examples_of(std::move(split));
    add_split(part, std::move(made), dataset);
  }
  dataset.note =
      values ? "inputs and attention of the last layer; labels are without what the network's "
               "answers are made of beside its heads, and without their mean over training"
             : "inputs and attention of a network that the theory approximates: its residual "
               "streams, feed-forward networks and nonlinear values are left out";
}

}  // namespace headway
