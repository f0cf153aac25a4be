#include "training/attention/attention_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace headway::training::reference {
namespace {

// One example: its sizes, inputs and the weights of all its pairs.
template <typename Scalar>
struct Example {
  const AttentionShape& n;
  const AttentionOptions& options;
  const AttentionInputs<Scalar>& in;
  Index b;

  const Scalar* query(Index q, Index h) const {
    return in.query + ((b * n.queries + q) * n.heads + h) * n.query_dim;
  }
  const Scalar* key(Index k, Index h) const {
    return in.key + ((b * n.keys + k) * n.heads + h) * n.query_dim;
  }
  const Scalar* value(Index k, Index h) const {
    return in.value + ((b * n.keys + k) * n.heads + h) * n.value_dim;
  }
  const Scalar* mixing(Index h) const { return in.mixing + h * n.value_dim * n.value_dim; }
  bool visible(Index q, Index k) const {
    if (options.causal && k > q + n.keys - n.queries) return false;
    return in.key_mask == nullptr || in.key_mask[b * n.keys + k] != 0;
  }
  Scalar dropout(Index q, Index k) const {
    return in.dropout == nullptr ? Scalar{1} : in.dropout[q * n.keys + k];
  }
  Scalar score(Index h, Index q, Index k) const {
    Scalar s = 0;
    for (Index i = 0; i < n.query_dim; ++i) s += query(q, h)[i] * key(k, h)[i];
    s /= std::sqrt(static_cast<Scalar>(n.query_dim));
    return in.bias == nullptr ? s : s + in.bias[(h * n.queries + q) * n.keys + k];
  }
  Scalar phi(Scalar x) const { return nonlinearity(options.nonlinearity, x); }
  Scalar d_phi(Scalar x) const { return nonlinearity_derivative(options.nonlinearity, x); }
};

// [h][k] of one query.
template <typename Scalar>
using Weights = std::vector<std::vector<Scalar>>;
template <typename Scalar>
using Vector = std::vector<Scalar>;

// Weights a[h][k] of query q; log sum_k exp s of each head into log_sum_exp[h] where it is softmax.
template <typename Scalar>
Weights<Scalar> weights(const Example<Scalar>& x, Index q, Vector<Scalar>* log_sum_exp) {
  const Index heads = x.n.heads;
  const Index keys = x.n.keys;
  Weights<Scalar> a(heads, Vector<Scalar>(keys, Scalar{0}));
  for (Index h = 0; h < heads; ++h) {
    for (Index k = 0; k < keys; ++k) {
      if (x.visible(q, k)) a[h][k] = x.score(h, q, k);
    }
  }
  switch (x.options.normalisation) {
    case Normalisation::kNone:
      break;
    case Normalisation::kRmsHead:
      for (Index k = 0; k < keys; ++k) {
        Scalar squares = 0;
        for (Index h = 0; h < heads; ++h) squares += a[h][k] * a[h][k];
        const Scalar mean = squares / static_cast<Scalar>(heads);
        const Scalar r = 1 / std::sqrt(mean + static_cast<Scalar>(kRmsHeadEpsilon));
        for (Index h = 0; h < heads; ++h) a[h][k] *= r;
      }
      break;
    case Normalisation::kSoftmax:
      for (Index h = 0; h < heads; ++h) {
        Scalar largest = -std::numeric_limits<Scalar>::infinity();
        for (Index k = 0; k < keys; ++k) {
          if (x.visible(q, k)) largest = std::max(largest, a[h][k]);
        }
        Scalar sum = 0;
        for (Index k = 0; k < keys; ++k) {
          if (x.visible(q, k)) sum += std::exp(a[h][k] - largest);
        }
        for (Index k = 0; k < keys; ++k) {
          if (x.visible(q, k)) a[h][k] = std::exp(a[h][k] - largest) / sum;
        }
        (*log_sum_exp)[h] =
            sum > 0 ? largest + std::log(sum) : std::numeric_limits<Scalar>::infinity();
      }
      break;
  }
  return a;
}

// u[q, k] = sum_h b[h, q, k] v[k, h]
template <typename Scalar>
Vector<Scalar> generated(const Example<Scalar>& x, const Weights<Scalar>& b, Index k) {
  Vector<Scalar> u(x.n.value_dim, Scalar{0});
  for (Index h = 0; h < x.n.heads; ++h) {
    for (Index e = 0; e < x.n.value_dim; ++e) u[e] += b[h][k] * x.value(k, h)[e];
  }
  return u;
}

// u2[q, k] = sum_h b[h, q, k] M_h z
template <typename Scalar>
Vector<Scalar> mixed(const Example<Scalar>& x, const Weights<Scalar>& b, Index k,
                     const Vector<Scalar>& z) {
  const Index dv = x.n.value_dim;
  Vector<Scalar> u2(dv, Scalar{0});
  for (Index h = 0; h < x.n.heads; ++h) {
    for (Index e = 0; e < dv; ++e) {
      for (Index f = 0; f < dv; ++f) u2[e] += b[h][k] * x.mixing(h)[e * dv + f] * z[f];
    }
  }
  return u2;
}

template <typename Scalar>
Vector<Scalar> apply_phi(const Example<Scalar>& x, const Vector<Scalar>& u) {
  Vector<Scalar> z = u;
  for (Scalar& value : z) value = x.phi(value);
  return z;
}

// What head h of key k hands to query q, times its weight: phi(v), phi(u) or phi(u2).
template <typename Scalar>
Vector<Scalar> last_layer(const Example<Scalar>& x, const Weights<Scalar>& b, Index k, Index h) {
  switch (x.options.value_network) {
    case ValueNetwork::kPlain:
      return apply_phi(x, Vector<Scalar>(x.value(k, h), x.value(k, h) + x.n.value_dim));
    case ValueNetwork::kHyla:
      return apply_phi(x, generated(x, b, k));
    case ValueNetwork::kHylaDeep:
      break;
  }
  return apply_phi(x, mixed(x, b, k, apply_phi(x, generated(x, b, k))));
}

template <typename Scalar>
Weights<Scalar> with_dropout(const Example<Scalar>& x, Index q, Weights<Scalar> a) {
  for (auto& head : a) {
    for (Index k = 0; k < x.n.keys; ++k) head[k] *= x.dropout(q, k);
  }
  return a;
}

// Gradients with respect to weights b[h][k], of query q, from d_output; adds those of values and M.
template <typename Scalar>
class ValueGradient {
 public:
  ValueGradient(const Example<Scalar>& x, const AttentionGradients<Scalar>& gradients,
                const Scalar* d_output)
      : x_(x), gradients_(gradients), d_output_(d_output) {}

  // d_b[h][k] for all h; d_output_ is that of query q: [H, dv].
  void add(const Weights<Scalar>& b, Index k, Weights<Scalar>* d_b) const {
    const Index dv = x_.n.value_dim;
    if (!is_generated(x_.options.value_network)) return add_plain(b, k, d_b);
    const Vector<Scalar> u = generated(x_, b, k);
    const bool deep = has_mixing(x_.options.value_network);
    const Vector<Scalar> z = apply_phi(x_, u);
    const Vector<Scalar> last = deep ? mixed(x_, b, k, z) : u;
    Vector<Scalar> d_last(dv, Scalar{0});
    for (Index h = 0; h < x_.n.heads; ++h) {
      for (Index e = 0; e < dv; ++e) {
        (*d_b)[h][k] += d_output_[h * dv + e] * x_.phi(last[e]);
        d_last[e] += b[h][k] * d_output_[h * dv + e] * x_.d_phi(last[e]);
      }
    }
    const Vector<Scalar> d_u = deep ? through_mixing(b, k, u, d_last, d_b) : d_last;
    for (Index h = 0; h < x_.n.heads; ++h) {
      for (Index e = 0; e < dv; ++e) {
        (*d_b)[h][k] += d_u[e] * x_.value(k, h)[e];
        d_value(k, h)[e] += b[h][k] * d_u[e];
      }
    }
  }

 private:
  Scalar* d_value(Index k, Index h) const {
    return gradients_.value + ((x_.b * x_.n.keys + k) * x_.n.heads + h) * x_.n.value_dim;
  }

  void add_plain(const Weights<Scalar>& b, Index k, Weights<Scalar>* d_b) const {
    const Index dv = x_.n.value_dim;
    for (Index h = 0; h < x_.n.heads; ++h) {
      for (Index e = 0; e < dv; ++e) {
        const Scalar v = x_.value(k, h)[e];
        (*d_b)[h][k] += d_output_[h * dv + e] * x_.phi(v);
        d_value(k, h)[e] += b[h][k] * d_output_[h * dv + e] * x_.d_phi(v);
      }
    }
  }

  // d_u from d_u2, u2 = sum_h b_h M_h phi(u).
  Vector<Scalar> through_mixing(const Weights<Scalar>& b, Index k, const Vector<Scalar>& u,
                                const Vector<Scalar>& d_u2, Weights<Scalar>* d_b) const {
    const Index dv = x_.n.value_dim;
    Vector<Scalar> d_u(dv, Scalar{0});
    for (Index h = 0; h < x_.n.heads; ++h) {
      for (Index e = 0; e < dv; ++e) {
        for (Index f = 0; f < dv; ++f) {
          const Scalar m = x_.mixing(h)[e * dv + f];
          (*d_b)[h][k] += d_u2[e] * m * x_.phi(u[f]);
          gradients_.mixing[(h * dv + e) * dv + f] += d_u2[e] * b[h][k] * x_.phi(u[f]);
          d_u[f] += d_u2[e] * b[h][k] * m * x_.d_phi(u[f]);
        }
      }
    }
    return d_u;
  }

  const Example<Scalar>& x_;
  const AttentionGradients<Scalar>& gradients_;
  const Scalar* d_output_;
};

// d_s[h][k] from d_a[h][k]; masked pairs get 0.
template <typename Scalar>
Weights<Scalar> score_gradient(const Example<Scalar>& x, Index q, const Weights<Scalar>& a,
                               const Weights<Scalar>& d_a) {
  const Index heads = x.n.heads;
  Weights<Scalar> d_s(heads, Vector<Scalar>(x.n.keys, Scalar{0}));
  Vector<Scalar> over_keys(heads, Scalar{0});  // sum_k a d_a
  for (Index h = 0; h < heads; ++h) {
    for (Index k = 0; k < x.n.keys; ++k) over_keys[h] += a[h][k] * d_a[h][k];
  }
  for (Index k = 0; k < x.n.keys; ++k) {
    if (!x.visible(q, k)) continue;
    Scalar squares = 0;
    Scalar over_heads = 0;
    for (Index h = 0; h < heads; ++h) {
      const Scalar s = x.score(h, q, k);
      squares += s * s;
      over_heads += a[h][k] * d_a[h][k];
    }
    const auto count = static_cast<Scalar>(heads);
    const Scalar r = 1 / std::sqrt(squares / count + static_cast<Scalar>(kRmsHeadEpsilon));
    for (Index h = 0; h < heads; ++h) {
      switch (x.options.normalisation) {
        case Normalisation::kNone:
          d_s[h][k] = d_a[h][k];
          break;
        case Normalisation::kRmsHead:
          d_s[h][k] = r * (d_a[h][k] - a[h][k] * over_heads / count);
          break;
        case Normalisation::kSoftmax:
          d_s[h][k] = a[h][k] * (d_a[h][k] - over_keys[h]);
          break;
      }
    }
  }
  return d_s;
}

template <typename Scalar>
void add_score_gradient(const Example<Scalar>& x, Index q, const Weights<Scalar>& d_s,
                        const AttentionGradients<Scalar>& gradients) {
  const AttentionShape& n = x.n;
  const Scalar scale = 1 / std::sqrt(static_cast<Scalar>(n.query_dim));
  for (Index h = 0; h < n.heads; ++h) {
    Scalar* d_query = gradients.query + ((x.b * n.queries + q) * n.heads + h) * n.query_dim;
    for (Index k = 0; k < n.keys; ++k) {
      Scalar* d_key = gradients.key + ((x.b * n.keys + k) * n.heads + h) * n.query_dim;
      for (Index i = 0; i < n.query_dim; ++i) {
        d_query[i] += scale * d_s[h][k] * x.key(k, h)[i];
        d_key[i] += scale * d_s[h][k] * x.query(q, h)[i];
      }
      if (gradients.bias != nullptr) {
        gradients.bias[(h * n.queries + q) * n.keys + k] += d_s[h][k];
      }
    }
  }
}

template <typename Scalar>
void clear(const AttentionShape& n, const AttentionGradients<Scalar>& gradients) {
  std::fill_n(gradients.query, n.batch * n.queries * n.heads * n.query_dim, Scalar{0});
  std::fill_n(gradients.key, n.batch * n.keys * n.heads * n.query_dim, Scalar{0});
  std::fill_n(gradients.value, n.batch * n.keys * n.heads * n.value_dim, Scalar{0});
  if (gradients.bias != nullptr) {
    std::fill_n(gradients.bias, n.heads * n.queries * n.keys, Scalar{0});
  }
  if (gradients.mixing != nullptr) {
    std::fill_n(gradients.mixing, n.heads * n.value_dim * n.value_dim, Scalar{0});
  }
}

}  // namespace

template <typename Scalar>
void attention_forward(const AttentionShape& shape, const AttentionOptions& options,
                       const AttentionInputs<Scalar>& inputs,
                       const AttentionOutputs<Scalar>& outputs) {
  for (Index b = 0; b < shape.batch; ++b) {
    const Example<Scalar> x{shape, options, inputs, b};
    for (Index q = 0; q < shape.queries; ++q) {
      Vector<Scalar> log_sum_exp(shape.heads);
      const Weights<Scalar> weight = with_dropout(x, q, weights(x, q, &log_sum_exp));
      for (Index h = 0; h < shape.heads; ++h) {
        Scalar* o = outputs.output + ((b * shape.queries + q) * shape.heads + h) * shape.value_dim;
        std::fill_n(o, shape.value_dim, Scalar{0});
        for (Index k = 0; k < shape.keys; ++k) {
          const Vector<Scalar> w = last_layer(x, weight, k, h);
          for (Index e = 0; e < shape.value_dim; ++e) o[e] += weight[h][k] * w[e];
        }
        if (outputs.log_sum_exp != nullptr) {
          outputs.log_sum_exp[(b * shape.heads + h) * shape.queries + q] = log_sum_exp[h];
        }
      }
    }
  }
}

template <typename Scalar>
void attention_weights(const AttentionShape& shape, const AttentionOptions& options,
                       const AttentionInputs<Scalar>& inputs, Scalar* out) {
  for (Index b = 0; b < shape.batch; ++b) {
    const Example<Scalar> x{shape, options, inputs, b};
    for (Index q = 0; q < shape.queries; ++q) {
      Vector<Scalar> unused(shape.heads);
      const Weights<Scalar> a = weights(x, q, &unused);
      for (Index h = 0; h < shape.heads; ++h) {
        std::copy(a[h].begin(), a[h].end(),
                  out + ((b * shape.heads + h) * shape.queries + q) * shape.keys);
      }
    }
  }
}

template <typename Scalar>
void attention_backward(const AttentionShape& shape, const AttentionOptions& options,
                        const AttentionInputs<Scalar>& inputs, const Scalar* d_output,
                        const AttentionGradients<Scalar>& gradients) {
  clear(shape, gradients);
  for (Index b = 0; b < shape.batch; ++b) {
    const Example<Scalar> x{shape, options, inputs, b};
    for (Index q = 0; q < shape.queries; ++q) {
      Vector<Scalar> unused(shape.heads);
      const Weights<Scalar> a = weights(x, q, &unused);
      const Weights<Scalar> dropped = with_dropout(x, q, a);
      Weights<Scalar> d_weight(shape.heads, Vector<Scalar>(shape.keys, Scalar{0}));
      const ValueGradient<Scalar> value_gradient(
          x, gradients, d_output + (b * shape.queries + q) * shape.heads * shape.value_dim);
      for (Index k = 0; k < shape.keys; ++k) value_gradient.add(dropped, k, &d_weight);
      const Weights<Scalar> d_a = with_dropout(x, q, d_weight);
      add_score_gradient(x, q, score_gradient(x, q, a, d_a), gradients);
    }
  }
}

template void attention_forward(const AttentionShape&, const AttentionOptions&,
                                const AttentionInputs<float>&, const AttentionOutputs<float>&);
template void attention_forward(const AttentionShape&, const AttentionOptions&,
                                const AttentionInputs<double>&, const AttentionOutputs<double>&);
template void attention_weights(const AttentionShape&, const AttentionOptions&,
                                const AttentionInputs<float>&, float*);
template void attention_weights(const AttentionShape&, const AttentionOptions&,
                                const AttentionInputs<double>&, double*);
template void attention_backward(const AttentionShape&, const AttentionOptions&,
                                 const AttentionInputs<float>&, const float*,
                                 const AttentionGradients<float>&);
template void attention_backward(const AttentionShape&, const AttentionOptions&,
                                 const AttentionInputs<double>&, const double*,
                                 const AttentionGradients<double>&);

}  // namespace headway::training::reference
