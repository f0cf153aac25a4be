#include "training/model/transformer_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "headway/core/option_error.hpp"
#include "training/attention/attention_reference.hpp"
#include "training/model/named_tensors.hpp"

namespace headway::training::reference {
namespace {

constexpr double kRmsEpsilon = 1e-6;

/// Tensors by name, in double precision.
class Tensors {
 public:
  Tensors(const std::vector<detail::ParameterShape>& shapes,
          const std::vector<NamedTensor>& parameters) {
    static_cast<void>(detail::join_tensors(shapes, detail::in_order(shapes, parameters)));
    for (const NamedTensor& tensor : parameters) tensors_[tensor.name] = &tensor;
  }
  /// All dimensions but the last one together are the rows.
  [[nodiscard]] RowMatrixXd matrix(const std::string& name) const {
    const NamedTensor& tensor = *tensors_.at(name);
    const Index columns = tensor.shape.back();
    const auto rows = static_cast<Index>(tensor.values.size()) / columns;
    return Eigen::Map<const RowMatrixXf>(tensor.values.data(), rows, columns).cast<double>();
  }
  /// 0 where there is none.
  [[nodiscard]] VectorXd vector(const std::string& name, Index size) const {
    if (!has(name)) return VectorXd::Zero(size);
    return Eigen::Map<const Eigen::VectorXf>(tensors_.at(name)->values.data(), size).cast<double>();
  }
  [[nodiscard]] bool has(const std::string& name) const { return tensors_.contains(name); }
  [[nodiscard]] NormParameters norm(const std::string& name, const TransformerOptions& n) const {
    return {n.norm == Norm::kLayerNorm, vector(name + ".scale", n.model_dim),
            vector(name + ".bias", n.model_dim)};
  }

 private:
  using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  std::map<std::string, const NamedTensor*> tensors_;
};

AttentionParameters attention_of(const Tensors& all, const std::string& prefix,
                                 const TransformerOptions& n) {
  AttentionParameters p;
  p.norm = all.norm(prefix + "attention_norm", n);
  p.query = all.matrix(prefix + "query.weight");
  p.key = all.matrix(prefix + "key.weight");
  p.value = all.matrix(prefix + "value.weight");
  p.query_bias = all.vector(prefix + "query.bias", n.query_dim);
  p.key_bias = all.vector(prefix + "key.bias", n.query_dim);
  p.value_bias = all.vector(prefix + "value.bias", n.value_dim);
  p.output = all.matrix(prefix + "output.weight");
  p.output_bias = all.vector(prefix + "output.bias", n.model_dim);
  if (all.has(prefix + "mixing")) {
    const RowMatrixXd mixing = all.matrix(prefix + "mixing");
    p.mixing.assign(mixing.data(), mixing.data() + mixing.size());
  }
  if (all.has(prefix + "positions")) p.positions = all.matrix(prefix + "positions");
  return p;
}

std::vector<ExpertParameters> experts_of(const Tensors& all, const std::string& prefix,
                                         const TransformerOptions& n) {
  const bool mixture = n.feed_forward == FeedForward::kMixture;
  const Index count = mixture ? n.experts : 1;
  const Index d = n.model_dim;
  const Index m = n.mlp_dim;
  const RowMatrixXd up = all.matrix(prefix + "up.weight");
  const RowMatrixXd down = all.matrix(prefix + "down.weight");
  const VectorXd up_bias = all.vector(prefix + "up.bias", count * m);
  const VectorXd down_bias = all.vector(prefix + "down.bias", count * d);
  std::vector<ExpertParameters> experts;
  for (Index e = 0; e < count; ++e) {
    experts.push_back({{},
                       up.middleRows(e * m, m),
                       down.middleRows(e * d, d),
                       up_bias.segment(e * m, m),
                       down_bias.segment(e * d, d)});
  }
  if (n.feed_forward == FeedForward::kSwiglu) {
    experts.front().gate = all.matrix(prefix + "gate.weight");
  }
  return experts;
}

void require_one_stream(const TransformerOptions& options) {
  if (options.network != NetworkKind::kTransformer) {
    throw OptionError("train.network = \"linear_value\": must be \"transformer\" here",
                      {"train.network"});
  }
  if (options.encoder_layers == 0) return;
  throw OptionError(fmt::format("train.encoder_layers = {}: must be 0: contributions and removals "
                                "are for networks without an encoder",
                                options.encoder_layers),
                    {"train.encoder_layers"});
}

NormedTokens apply(const NormParameters& norm, const RowMatrixXd& x) {
  NormedTokens out{x, VectorXd(x.rows())};
  if (norm.centred) out.tokens.colwise() -= x.rowwise().mean();
  for (Index t = 0; t < x.rows(); ++t) {
    const double square = out.tokens.row(t).squaredNorm() / static_cast<double>(x.cols());
    out.factors[t] = 1.0 / std::sqrt(square + kRmsEpsilon);
    out.tokens.row(t) = out.factors[t] * out.tokens.row(t).cwiseProduct(norm.scale.transpose()) +
                        norm.bias.transpose();
  }
  return out;
}

/// Turns queries or keys [S, H d] by their place.
void rotate(Index heads, RowMatrixXd& rows) {
  const Index dim = rows.cols() / heads;
  const Index half = dim / 2;
  for (Index t = 0; t < rows.rows(); ++t) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(t) *
            std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
        double& a = rows(t, h * dim + i);
        double& b = rows(t, h * dim + half + i);
        const double turned = std::cos(angle) * a - std::sin(angle) * b;
        b = std::sin(angle) * a + std::cos(angle) * b;
        a = turned;
      }
    }
  }
}

RowMatrixXd linear(const RowMatrixXd& x, const RowMatrixXd& weight, const VectorXd& bias) {
  return (x * weight.transpose()).rowwise() + bias.transpose();
}

/// [H, S, S] of the table of distances; empty without one.
std::vector<double> position_scores(const RowMatrixXd& table, Index tokens) {
  std::vector<double> scores;
  for (Index h = 0; h < table.cols(); ++h) {
    for (Index q = 0; q < tokens; ++q) {
      for (Index k = 0; k < tokens; ++k) {
        scores.push_back(table(relative_position_bucket(q - k, table.rows()), h));
      }
    }
  }
  return scores;
}

/// Fills all of the block that belongs to its attention.
void attend(const Transformer& model, const AttentionParameters& p, const std::uint8_t* mask,
            BlockTrace& block) {
  const TransformerOptions& n = model.options;
  const Index tokens = block.entered.rows();
  block.attention_norm = apply(p.norm, block.entered);
  const RowMatrixXd& z = block.attention_norm.tokens;
  RowMatrixXd query = linear(z, p.query, p.query_bias);
  RowMatrixXd key = linear(z, p.key, p.key_bias);
  block.values = linear(z, p.value, p.value_bias);
  if (n.positions == Positions::kRotary) {
    rotate(n.heads, query);
    rotate(n.heads, key);
  }
  const std::vector<double> scores = position_scores(p.positions, tokens);
  const AttentionShape shape{
      1, n.heads, tokens, tokens, n.query_dim / n.heads, n.value_dim / n.heads};
  const AttentionInputs<double> inputs{query.data(),
                                       key.data(),
                                       block.values.data(),
                                       scores.empty() ? nullptr : scores.data(),
                                       mask,
                                       nullptr,
                                       p.mixing.empty() ? nullptr : p.mixing.data()};
  block.weights.resize(static_cast<std::size_t>(n.heads * tokens * tokens));
  attention_weights(shape, n.attention_options(), inputs, block.weights.data());
  RowMatrixXd out(tokens, n.value_dim);
  attention_forward(shape, n.attention_options(), inputs, {out.data(), nullptr});
  block.between = block.entered + linear(out, p.output, p.output_bias);
}

/// Weights of the experts at one token: a softmax over the `active` largest of the router's
/// numbers.
VectorXd expert_weights(const VectorXd& logits, Index active) {
  std::vector<Index> order(static_cast<std::size_t>(logits.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return logits[a] > logits[b]; });
  VectorXd weights = VectorXd::Zero(logits.size());
  for (Index i = 0; i < active; ++i) {
    const Index e = order[static_cast<std::size_t>(i)];
    weights[e] = std::exp(logits[e] - logits.maxCoeff());
  }
  return weights / weights.sum();
}

/// What the feed-forward network adds; fills the rest of the block.
RowMatrixXd feed_forward(const Transformer& model, const BlockParameters& p, BlockTrace& block) {
  block.feed_forward_norm = apply(p.feed_forward_norm, block.between);
  const RowMatrixXd& z = block.feed_forward_norm.tokens;
  const auto experts = static_cast<Index>(p.experts.size());
  RowMatrixXd weights = RowMatrixXd::Ones(z.rows(), experts);
  if (p.router.size() > 0) {
    const Index active = model.options.active_experts;
    for (Index t = 0; t < z.rows(); ++t) {
      weights.row(t) =
          expert_weights(p.router * z.row(t).transpose(), active == 0 ? experts : active);
    }
  }
  RowMatrixXd sum = RowMatrixXd::Zero(z.rows(), z.cols());
  for (Index e = 0; e < experts; ++e) {
    const ExpertParameters& expert = p.experts[static_cast<std::size_t>(e)];
    const bool gated = expert.gate.size() > 0;
    const RowMatrixXd u = linear(z, expert.up, expert.up_bias);
    const RowMatrixXd g = gated ? RowMatrixXd(z * expert.gate.transpose()) : u;
    const Nonlinearity phi = gated ? Nonlinearity::kSilu : Nonlinearity::kGelu;
    const RowMatrixXd active = g.unaryExpr([phi](double x) { return nonlinearity(phi, x); });
    const RowMatrixXd hidden = gated ? RowMatrixXd(active.cwiseProduct(u)) : active;
    sum += weights.col(e).asDiagonal() * linear(hidden, expert.down, expert.down_bias);
    const RowMatrixXd factor =
        gated ? active : RowMatrixXd(u.unaryExpr([phi](double x) { return frozen_gate(phi, x); }));
    block.experts.push_back({weights.col(e), factor});
  }
  return sum;
}

const std::uint8_t* mask_of(const Transformer& model, const TaskBatch& batch, Index index) {
  return batch.mask.empty() ? nullptr : batch.mask.data() + index * model.format.tokens;
}

RowMatrixXd embed(const Transformer& model, const TaskBatch& batch, Index index) {
  const TaskFormat& format = model.format;
  if (format.features > 0) {
    using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const RowMatrixXd x =
        Eigen::Map<const RowMatrixXf>(batch.inputs.data() + index * format.tokens * format.features,
                                      format.tokens, format.features)
            .cast<double>();
    return linear(x, model.embedding, model.embedding_bias);
  }
  RowMatrixXd x(format.tokens, model.options.model_dim);
  for (Index t = 0; t < format.tokens; ++t) {
    x.row(t) = model.embedding.row(batch.ids[static_cast<std::size_t>(index * format.tokens + t)]);
  }
  return x;
}

}  // namespace

Transformer make_transformer(const TransformerOptions& options, const TaskFormat& format,
                             const std::vector<NamedTensor>& parameters) {
  require_one_stream(options);
  const Tensors all(detail::parameter_shapes(options, format), parameters);
  Transformer model;
  model.options = options.widened();
  model.format = format;
  const TransformerOptions& n = model.options;
  model.embedding = all.matrix("embedding.weight");
  model.embedding_bias = all.vector("embedding.bias", n.model_dim);
  for (Index l = 1; l <= n.layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l);
    BlockParameters block{attention_of(all, prefix, n),
                          all.norm(prefix + "feed_forward_norm", n),
                          {},
                          experts_of(all, prefix, n)};
    if (all.has(prefix + "router.weight")) block.router = all.matrix(prefix + "router.weight");
    model.blocks.push_back(std::move(block));
  }
  model.norm = all.norm("norm", n);
  model.logits = all.matrix("logits.weight");
  model.logits_bias = all.vector("logits.bias", format.outputs);
  return model;
}

Trace trace_example(const Transformer& model, const TaskBatch& batch, Index index) {
  const std::uint8_t* mask = mask_of(model, batch, index);
  Trace trace;
  trace.left = embed(model, batch, index);
  for (const BlockParameters& p : model.blocks) {
    BlockTrace block;
    block.entered = trace.left;
    attend(model, p.attention, mask, block);
    trace.left = block.between + feed_forward(model, p, block);
    trace.blocks.push_back(std::move(block));
  }
  trace.norm = apply(model.norm, trace.left);
  trace.outputs = linear(trace.norm.tokens, model.logits, model.logits_bias);
  return trace;
}

RowMatrixXd attention_between(const Transformer& model, const AttentionParameters& p,
                              const TaskBatch& batch, Index index, const RowMatrixXd& entered) {
  BlockTrace block;
  block.entered = entered;
  attend(model, p, mask_of(model, batch, index), block);
  return block.between;
}

double frozen_gate(Nonlinearity phi, double u) {
  return u == 0.0 ? nonlinearity_derivative(phi, u) : nonlinearity(phi, u) / u;
}

}  // namespace headway::training::reference
