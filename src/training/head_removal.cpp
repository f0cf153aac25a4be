#include "headway/training/head_removal.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>

#include "headway/core/error.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/model/path_index.hpp"
#include "training/named_tensors.hpp"
#include "training/transformer_reference.hpp"

namespace headway::training {
namespace {

using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::string layer_prefix(std::size_t layer) { return fmt::format("layers.{}.", layer + 1); }

/// Calls `visit` with the place of every number of `tensor` that is 0 without head `head` of the
/// layer, [first, first + count) at a time.
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
    throw OptionError(fmt::format("train.encoder_layers = {}: must be 0: heads are removed from "
                                  "networks of one stream",
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

std::vector<VectorXd> mean_head_outputs(const TransformerOptions& options, const TaskFormat& format,
                                        const std::vector<NamedTensor>& parameters,
                                        const TaskBatch& examples, int threads,
                                        const Observer& observer) {
  const reference::Transformer whole = reference::make_transformer(options, format, parameters);
  const std::vector<model::HeadAddress> all = addresses_of(options);
  std::vector<reference::AttentionParameters> without;
  for (std::size_t h = 0; h < all.size(); ++h) {
    const auto pruned = reference::make_transformer(
        options, format, without_heads(options, parameters, {static_cast<int>(h)}));
    without.push_back(pruned.blocks[all[h].layer].attention);
  }
  const Index heads = static_cast<Index>(all.size());
  std::vector<MatrixXd> of_example(static_cast<std::size_t>(examples.examples));
  parallel_for(examples.examples, threads, [&](Index i) {
    if (observer.interrupted()) throw Error(ErrorKind::kInterrupted, "interrupted");
    const reference::Trace trace = reference::trace_example(whole, examples, i);
    MatrixXd sums(whole.options.model_dim, heads);
    for (Index h = 0; h < heads; ++h) {
      const model::HeadAddress& at = all[static_cast<std::size_t>(h)];
      const reference::BlockTrace& block = trace.blocks[at.layer];
      const Index read = at.layer + 1 == trace.blocks.size() ? format.scored : format.tokens;
      const RowMatrixXd pruned = reference::attention_between(
          whole, without[static_cast<std::size_t>(h)], examples, i, block.entered);
      sums.col(h) = (block.between - pruned).bottomRows(read).colwise().mean().transpose();
    }
    of_example[static_cast<std::size_t>(i)] = std::move(sums);
  });
  std::vector<VectorXd> means(all.size(), VectorXd::Zero(whole.options.model_dim));
  for (const MatrixXd& sums : of_example) {  // in index order: the same bits on any threads
    for (Index h = 0; h < heads; ++h) {
      means[static_cast<std::size_t>(h)] += sums.col(h) / static_cast<double>(examples.examples);
    }
  }
  return means;
}

std::vector<NamedTensor> with_mean_heads(const TransformerOptions& options,
                                         const std::vector<NamedTensor>& parameters,
                                         const std::vector<int>& removed,
                                         const std::vector<VectorXd>& means) {
  const std::vector<model::HeadAddress> all = addresses_of(options);
  std::vector<NamedTensor> out = without_heads(options, parameters, removed);
  for (const int head : removed) {
    const std::string name =
        layer_prefix(all[static_cast<std::size_t>(head)].layer) + "output.bias";
    const VectorXd& mean = means.at(static_cast<std::size_t>(head));
    for (NamedTensor& tensor : out) {
      if (tensor.name != name) continue;
      for (Index i = 0; i < mean.size(); ++i) {
        float& x = tensor.values[static_cast<std::size_t>(i)];
        x = static_cast<float>(x + mean[i]);
      }
    }
  }
  return out;
}

}  // namespace headway::training
