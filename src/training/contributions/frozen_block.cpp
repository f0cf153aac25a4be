#include "training/contributions/frozen_block.hpp"

namespace headway::training::reference {

FrozenBlock::FrozenBlock(const Transformer& model, const BlockParameters& block,
                         const BlockTrace& trace, QueryRange queries)
    : block_(block),
      trace_(trace),
      queries_(queries),
      options_(model.options.attention_options()),
      heads_(model.options.heads),
      value_dim_(model.options.value_dim / model.options.heads),
      tokens_(trace.entered.rows()) {
  make_gates();
}

int FrozenBlock::depth() const {
  if (!is_generated(options_.value_network)) return 1;
  return has_mixing(options_.value_network) ? 3 : 2;
}

double FrozenBlock::weight(Index h, Index q, Index k) const {
  return trace_.weights[static_cast<std::size_t>((h * tokens_ + q) * tokens_ + k)];
}

void FrozenBlock::make_gates() {
  const auto gate = [phi = options_.nonlinearity](double u) { return frozen_gate(phi, u); };
  if (!is_generated(options_.value_network)) {
    gates_.values = trace_.values.unaryExpr(gate);
    return;
  }
  using Mixing = Eigen::Map<const RowMatrixXd>;
  const Index dv = value_dim_;
  gates_.layers.assign(has_mixing(options_.value_network) ? 2 : 1,
                       RowMatrixXd(queries_.count * tokens_, dv));
  for (Index i = 0; i < queries_.count; ++i) {
    const Index q = queries_.first + i;
    for (Index k = 0; k < tokens_; ++k) {
      VectorXd u = VectorXd::Zero(dv);
      for (Index h = 0; h < heads_; ++h) {
        u += weight(h, q, k) * trace_.values.row(k).segment(h * dv, dv).transpose();
      }
      const Index row = i * tokens_ + k;
      gates_.layers.front().row(row) = u.unaryExpr(gate).transpose();
      if (gates_.layers.size() == 1) continue;
      const VectorXd z = gates_.layers.front().row(row).transpose().cwiseProduct(u);
      u.setZero();
      for (Index h = 0; h < heads_; ++h) {
        u += weight(h, q, k) * (Mixing(block_.attention.mixing.data() + h * dv * dv, dv, dv) * z);
      }
      gates_.layers.back().row(row) = u.unaryExpr(gate).transpose();
    }
  }
}

RowMatrixXd FrozenBlock::values(const RowMatrixXd& stream, bool biases) const {
  const AttentionParameters& p = block_.attention;
  RowMatrixXd v =
      frozen_norm(p.norm, trace_.attention_norm.factors, stream, biases) * p.value.transpose();
  if (biases) v.rowwise() += p.value_bias.transpose();
  return v;
}

/// [count, dv] of a head through its slice of the output projection.
RowMatrixXd FrozenBlock::projected(const RowMatrixXd& read, Index head) const {
  return read * block_.attention.output.middleCols(head * value_dim_, value_dim_).transpose();
}

/// generated: gated outputs of the value network of query q's pairs, [S, dv]; parts first, first +
/// 1, ... are those of the heads that read it.
void FrozenBlock::add_generated(const RowMatrixXd& generated, Index q, std::size_t first,
                                std::vector<RowMatrixXd>* parts) const {
  for (Index g = 0; g < heads_; ++g) {
    RowMatrixXd read = RowMatrixXd::Zero(1, value_dim_);
    for (Index k = 0; k < tokens_; ++k) read += weight(g, q, k) * generated.row(k);
    parts->at(first + static_cast<std::size_t>(g)).row(q - queries_.first) = read;
  }
}

std::vector<RowMatrixXd> FrozenBlock::heads(const RowMatrixXd& stream, bool biases) const {
  const RowMatrixXd v = values(stream, biases);
  const Index dv = value_dim_;
  const auto h_count = static_cast<std::size_t>(heads_);
  std::size_t count = h_count;
  for (int d = 1; d < depth(); ++d) count *= h_count;
  std::vector<RowMatrixXd> parts(count, RowMatrixXd::Zero(queries_.count, dv));
  for (Index h = 0; depth() == 1 && h < heads_; ++h) {
    const Eigen::Map<const RowMatrixXd> a(trace_.weights.data() + h * tokens_ * tokens_, tokens_,
                                          tokens_);
    parts[static_cast<std::size_t>(h)] =
        a.middleRows(queries_.first, queries_.count) *
        v.middleCols(h * dv, dv).cwiseProduct(gates_.values.middleCols(h * dv, dv));
  }
  for (Index i = 0; depth() > 1 && i < queries_.count; ++i) {
    const Index q = queries_.first + i;
    const auto gate = gates_.layers.front().middleRows(i * tokens_, tokens_);
    for (Index h = 0; h < heads_; ++h) {
      RowMatrixXd z(tokens_, dv);  // gate(u) * a_h v_h
      for (Index k = 0; k < tokens_; ++k) {
        z.row(k) = weight(h, q, k) * gate.row(k).cwiseProduct(v.row(k).segment(h * dv, dv));
      }
      if (depth() == 2) {
        add_generated(z, q, static_cast<std::size_t>(h) * h_count, &parts);
        continue;
      }
      const auto second = gates_.layers.back().middleRows(i * tokens_, tokens_);
      for (Index m = 0; m < heads_; ++m) {
        const Eigen::Map<const RowMatrixXd> mixing(block_.attention.mixing.data() + m * dv * dv, dv,
                                                   dv);
        RowMatrixXd z2 = z * mixing.transpose();
        for (Index k = 0; k < tokens_; ++k) {
          z2.row(k) = weight(m, q, k) * second.row(k).cwiseProduct(z2.row(k));
        }
        add_generated(z2, q, static_cast<std::size_t>(h * heads_ + m) * h_count, &parts);
      }
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = projected(parts[i], static_cast<Index>(i % h_count));
  }
  return parts;
}

RowMatrixXd FrozenBlock::feed_forward(const RowMatrixXd& stream, bool biases) const {
  const VectorXd factors = trace_.feed_forward_norm.factors.segment(queries_.first, queries_.count);
  const RowMatrixXd z = frozen_norm(block_.feed_forward_norm, factors, stream, biases);
  RowMatrixXd sum = RowMatrixXd::Zero(z.rows(), z.cols());
  for (std::size_t e = 0; e < block_.experts.size(); ++e) {
    const ExpertParameters& expert = block_.experts[e];
    const ExpertTrace& frozen = trace_.experts[e];
    RowMatrixXd u = z * expert.up.transpose();
    if (biases) u.rowwise() += expert.up_bias.transpose();
    RowMatrixXd out = u.cwiseProduct(frozen.factor.middleRows(queries_.first, queries_.count)) *
                      expert.down.transpose();
    if (biases) out.rowwise() += expert.down_bias.transpose();
    sum += frozen.weight.segment(queries_.first, queries_.count).asDiagonal() * out;
  }
  return sum;
}

RowMatrixXd frozen_norm(const NormParameters& norm, const VectorXd& factors, const RowMatrixXd& x,
                        bool biases) {
  RowMatrixXd y = x;
  if (norm.centred) y.colwise() -= x.rowwise().mean();
  y = factors.asDiagonal() * y * norm.scale.asDiagonal();
  if (biases) y.rowwise() += norm.bias.transpose();
  return y;
}

}  // namespace headway::training::reference
