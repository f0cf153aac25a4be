#include "headway/training/head_removal.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>

#include "headway/core/interruption.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "training/model/named_tensors.hpp"
#include "training/model/transformer_reference.hpp"

namespace headway::training {
namespace {

using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::string layer_prefix(std::size_t layer) { return fmt::format("layers.{}.", layer + 1); }

/// Calls `visit` with every range [first, first + count) of numbers of `tensor` that are 0 without
/// the head `head` of the layer.
void for_numbers_of_head(const TransformerOptions& widened, const NamedTensor& tensor,
                         std::size_t layer, Index head,
                         const std::function<void(std::size_t first, std::size_t count)>& visit) {
  const std::string prefix = layer_prefix(layer);
  if (!tensor.name.starts_with(prefix)) return;
  const std::string name = tensor.name.substr(prefix.size());
  const bool linear_value = widened.network == NetworkKind::kLinearValue;
  const bool generated = !linear_value && is_generated(widened.attention_options().value_network);
  const auto heads = static_cast<std::size_t>(widened.heads);
  if (name == "output.weight") {  // [D, H dv]: columns
    const std::size_t width = static_cast<std::size_t>(tensor.shape.back());
    const std::size_t dv = width / heads;
    for (std::size_t row = 0; row * width < tensor.values.size(); ++row) {
      visit(row * width + static_cast<std::size_t>(head) * dv, dv);
    }
    return;
  }
  const bool of_values = name == "value.weight" || (!linear_value && name == "value.bias");
  if ((of_values && (linear_value || generated)) || name == "mixing") {  // [H, ...]
    const std::size_t count = tensor.values.size() / heads;
    visit(static_cast<std::size_t>(head) * count, count);
  }
}

const NamedTensor& tensor_named(const std::vector<NamedTensor>& tensors, const std::string& name) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  throw Error(ErrorKind::kBadData, fmt::format("weights: {} is missing", name));
}

std::vector<model::HeadAddress> addresses_of(const TransformerOptions& options) {
  return model::all_heads(head_counts(options));
}

void check_removed(const std::vector<int>& removed, std::size_t heads) {
  for (const int head : removed) {
    if (head >= 0 && static_cast<std::size_t>(head) < heads) continue;
    throw Error(ErrorKind::kBadStudy,
                fmt::format("removed head {}: must be from 0 to {}", head, heads - 1));
  }
}

/// sqrt(H / heads left) of every layer.
std::vector<double> layer_factors(const std::vector<int>& heads,
                                  const std::vector<model::HeadAddress>& all,
                                  const std::vector<int>& removed) {
  std::vector<int> left = heads;
  for (const int head : removed) --left[all[static_cast<std::size_t>(head)].layer];
  std::vector<double> factors;
  for (std::size_t l = 0; l < heads.size(); ++l) {
    factors.push_back(left[l] > 0 ? std::sqrt(static_cast<double>(heads[l]) / left[l]) : 1.0);
  }
  return factors;
}

}  // namespace

std::vector<int> head_counts(const TransformerOptions& options) {
  if (options.encoder_layers > 0) {
    throw OptionError(fmt::format("train.encoder_layers = {}: must be 0: heads are removed only "
                                  "from networks without an encoder",
                                  options.encoder_layers),
                      {"train.encoder_layers"});
  }
  const TransformerOptions n = options.widened();
  std::vector<int> counts(static_cast<std::size_t>(n.layers), static_cast<int>(n.heads));
  return counts;
}

std::vector<NamedTensor> without_heads(const TransformerOptions& options,
                                       const std::vector<NamedTensor>& parameters,
                                       const std::vector<int>& removed, bool rescale) {
  const std::vector<model::HeadAddress> all = addresses_of(options);
  check_removed(removed, all.size());
  const TransformerOptions n = options.widened();
  const bool scales = rescale && n.network == NetworkKind::kLinearValue;
  const std::vector<double> factors = layer_factors(head_counts(options), all, removed);
  std::vector<NamedTensor> out = parameters;
  for (NamedTensor& tensor : out) {
    for (const int head : removed) {
      const model::HeadAddress& at = all[static_cast<std::size_t>(head)];
      for_numbers_of_head(n, tensor, at.layer, at.head, [&](std::size_t first, std::size_t count) {
        std::fill_n(tensor.values.begin() + static_cast<std::ptrdiff_t>(first), count, 0.0F);
      });
    }
    for (std::size_t l = 0; scales && l < factors.size(); ++l) {
      if (tensor.name != layer_prefix(l) + "value.weight") continue;
      for (float& x : tensor.values) x = static_cast<float>(x * factors[l]);
    }
  }
  return out;
}

std::vector<double> mask_derivatives(const TransformerOptions& options,
                                     const std::vector<NamedTensor>& parameters,
                                     const std::vector<NamedTensor>& gradients) {
  const TransformerOptions n = options.widened();
  std::vector<double> derivatives;
  for (const model::HeadAddress& at : addresses_of(options)) {
    double sum = 0.0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const NamedTensor& p = parameters[i];
      const NamedTensor& d = gradients.at(i);
      for_numbers_of_head(n, p, at.layer, at.head, [&](std::size_t first, std::size_t count) {
        for (std::size_t j = first; j < first + count; ++j) {
          sum += static_cast<double>(p.values[j]) * d.values.at(j);  // eq. 21
        }
      });
    }
    derivatives.push_back(sum);
  }
  return derivatives;
}

std::vector<double> head_weight_norms(const TransformerOptions& options,
                                      const std::vector<NamedTensor>& parameters) {
  const TransformerOptions n = options.widened();
  std::vector<double> norms;
  for (const model::HeadAddress& at : addresses_of(options)) {
    const NamedTensor& value = tensor_named(parameters, layer_prefix(at.layer) + "value.weight");
    const Index rows = value.shape.at(1);
    const Index columns = value.shape.at(2);
    const MatrixXd v =
        Eigen::Map<const RowMatrixXf>(value.values.data() + at.head * rows * columns, rows, columns)
            .cast<double>();
    if (n.network == NetworkKind::kLinearValue) {
      norms.push_back(v.norm());
      continue;
    }
    const NamedTensor& output = tensor_named(parameters, layer_prefix(at.layer) + "output.weight");
    const Eigen::Map<const RowMatrixXf> all(output.values.data(), output.shape.at(0),
                                            output.shape.at(1));
    norms.push_back((all.middleCols(at.head * rows, rows).cast<double>() * v).norm());
  }
  return norms;
}

struct MeanHeads::State {
  struct Layer {
    RowMatrixXd entered, between;  // its attention: [S, D]
  };
  TransformerOptions options;
  TaskFormat format;
  std::vector<NamedTensor> parameters;
  TaskBatch examples;
  int threads;
  const Observer& observer;
  reference::Transformer whole;
  std::vector<std::vector<Layer>> streams;  // [examples][layers]

  /// What these heads of one layer add together.
  [[nodiscard]] VectorXd mean_of(std::size_t layer, const std::vector<int>& heads) const {
    const auto pruned =
        reference::make_transformer(options, format, without_heads(options, parameters, heads));
    const Index read = layer + 1 == whole.blocks.size() ? format.scored : format.tokens;
    MatrixXd of_example(whole.options.model_dim, examples.examples);
    parallel_for(examples.examples, threads, [&](Index i) {
      throw_if_interrupted(observer);
      const Layer& at = streams[static_cast<std::size_t>(i)][layer];
      const RowMatrixXd left = reference::attention_between(whole, pruned.blocks[layer].attention,
                                                            examples, i, at.entered);
      of_example.col(i) = (at.between - left).bottomRows(read).colwise().mean().transpose();
    });
    return of_example.rowwise().mean();
  }
};

MeanHeads::MeanHeads(const TransformerOptions& options, const TaskFormat& format,
                     const std::vector<NamedTensor>& parameters, const TaskBatch& examples,
                     int threads, const Observer& observer)
    : state_(new State{
          options, format, parameters, examples, threads, observer,
          reference::make_transformer(options, format, parameters),
          std::vector<std::vector<State::Layer>>(static_cast<std::size_t>(examples.examples))}) {
  head_counts(options);  // refuses an encoder
  parallel_for(examples.examples, threads, [&](Index i) {
    throw_if_interrupted(observer);
    reference::Trace trace = reference::trace_example(state_->whole, examples, i);
    for (reference::BlockTrace& block : trace.blocks) {
      state_->streams[static_cast<std::size_t>(i)].push_back(
          {std::move(block.entered), std::move(block.between)});
    }
  });
}

MeanHeads::MeanHeads(MeanHeads&&) noexcept = default;
MeanHeads& MeanHeads::operator=(MeanHeads&&) noexcept = default;
MeanHeads::~MeanHeads() = default;

std::vector<NamedTensor> MeanHeads::without(const std::vector<int>& removed) const {
  const std::vector<model::HeadAddress> all = addresses_of(state_->options);
  std::vector<NamedTensor> out = without_heads(state_->options, state_->parameters, removed);
  std::vector<std::vector<int>> by_layer(state_->whole.blocks.size());
  for (const int head : removed) {
    by_layer[all[static_cast<std::size_t>(head)].layer].push_back(head);
  }
  for (std::size_t l = 0; l < by_layer.size(); ++l) {
    if (by_layer[l].empty()) continue;
    const VectorXd mean = state_->mean_of(l, by_layer[l]);
    for (NamedTensor& tensor : out) {
      if (tensor.name != layer_prefix(l) + "output.bias") continue;
      for (Index i = 0; i < mean.size(); ++i) {
        float& x = tensor.values[static_cast<std::size_t>(i)];
        x = static_cast<float>(x + mean[i]);
      }
    }
  }
  return out;
}

}  // namespace headway::training
