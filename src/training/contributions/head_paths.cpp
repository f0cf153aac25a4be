#include "training/contributions/head_paths.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "training/model/row_pieces.hpp"

namespace headway::training::detail {
namespace {

enum Buffer : int { kRows, kRowGradients, kPairs, kProjected };  // of thread_buffer()

// The rows of all levels of one example, end to end: level l = 1..L+1 holds [H^(L-l+1), S], the
// averages that paths take from layer l up.
class Levels {
 public:
  explicit Levels(const HeadPathShape& n) {
    for (Index l = 1; l <= n.layers + 1; ++l) {
      offsets_.push_back(floats_);
      rows_.push_back(n.rows_above(l));
      floats_ += rows_.back() * n.tokens;
    }
  }
  [[nodiscard]] Index floats() const { return floats_; }
  [[nodiscard]] Index rows(Index layer) const { return rows_[static_cast<std::size_t>(layer - 1)]; }
  [[nodiscard]] float* at(float* base, Index layer) const {
    return base + offsets_[static_cast<std::size_t>(layer - 1)];
  }

 private:
  std::vector<Index> offsets_, rows_;
  Index floats_ = 0;
};

// One example: where its arrays lie. projected is null where nobody needs it.
struct Example {
  const float* x;
  const float* projected;
  float* attention;
};

class HeadPaths {
 public:
  HeadPaths(const BlockContext& context, const HeadPathShape& shape)
      : context_(context),
        n_(shape),
        levels_(shape),
        pairs_(shape.tokens * shape.tokens),
        scale_(1.0F / std::sqrt(static_cast<float>(shape.query_dim))) {}

  [[nodiscard]] const Levels& levels() const { return levels_; }

  // Omega of every head, from the projected tokens.
  void attend(const Example& e) const {
    for (Index layer = 1; layer <= n_.layers; ++layer) {
      for (Index h = 0; h < n_.heads; ++h) {
        float* omega = attention(e, layer, h);
        const float* rows = e.projected + query(layer, h);
        if (n_.merged) {
          context_.product(false, true, n_.tokens, n_.tokens, n_.features, rows, n_.projected(),
                           e.x, n_.features, 0.0F, omega, n_.tokens);
        } else {
          context_.product(false, true, n_.tokens, n_.tokens, n_.query_dim, rows, n_.projected(),
                           e.projected + key(layer, h), n_.projected(), 0.0F, omega, n_.tokens);
        }
        context_.kernels->softmax(n_.tokens, n_.tokens, scale_, omega);
      }
    }
  }

  // Level L+1 is r; row (h, g) of level l is row g of level l+1 times Omega_l^h.
  void average(const Example& e, float* rows) const {
    std::fill_n(levels_.at(rows, n_.layers + 1), n_.tokens, 1.0F / static_cast<float>(n_.tokens));
    for (Index layer = n_.layers; layer >= 1; --layer) {
      const float* above = levels_.at(rows, layer + 1);
      const Index count = levels_.rows(layer + 1);
      for (Index h = 0; h < n_.heads; ++h) {
        context_.product(false, false, count, n_.tokens, n_.tokens, above, n_.tokens,
                         attention(e, layer, h), n_.tokens, 0.0F,
                         levels_.at(rows, layer) + h * count * n_.tokens, n_.tokens);
      }
    }
  }

  // From the gradient of level 1 in `gradients`, those of the other levels and of the projected
  // tokens, [S, L, 2, H, G].
  void back(const Example& e, float* rows, float* gradients, float* d_projected) const {
    float* d_omega = thread_buffer(kPairs, pairs_);
    for (Index layer = 1; layer <= n_.layers; ++layer) {
      const float* above = levels_.at(rows, layer + 1);
      const Index count = levels_.rows(layer + 1);
      for (Index h = 0; h < n_.heads; ++h) {
        const float* omega = attention(e, layer, h);
        const float* d = levels_.at(gradients, layer) + h * count * n_.tokens;
        context_.product(true, false, n_.tokens, n_.tokens, count, above, n_.tokens, d, n_.tokens,
                         0.0F, d_omega, n_.tokens);
        if (layer < n_.layers) {
          context_.product(false, true, count, n_.tokens, n_.tokens, d, n_.tokens, omega, n_.tokens,
                           h == 0 ? 0.0F : 1.0F, levels_.at(gradients, layer + 1), n_.tokens);
        }
        context_.kernels->softmax_backward(n_.tokens, n_.tokens, scale_, omega, d_omega);
        logits_back(e, layer, h, d_omega, d_projected);
      }
    }
  }

 private:
  // From the gradient of a head's logits, that of the projected tokens.
  void logits_back(const Example& e, Index layer, Index h, const float* d_logits,
                   float* d_projected) const {
    float* d_query = d_projected + query(layer, h);
    if (n_.merged) {
      context_.product(false, false, n_.tokens, n_.features, n_.tokens, d_logits, n_.tokens, e.x,
                       n_.features, 0.0F, d_query, n_.projected());
      return;
    }
    context_.product(false, false, n_.tokens, n_.query_dim, n_.tokens, d_logits, n_.tokens,
                     e.projected + key(layer, h), n_.projected(), 0.0F, d_query, n_.projected());
    context_.product(true, false, n_.tokens, n_.query_dim, n_.tokens, d_logits, n_.tokens,
                     e.projected + query(layer, h), n_.projected(), 0.0F,
                     d_projected + key(layer, h), n_.projected());
  }
  // Where the numbers of a head begin among those of a token: its queries, or M x.
  [[nodiscard]] Index query(Index layer, Index head) const {
    if (n_.merged) return ((layer - 1) * n_.heads + head) * n_.features;
    return ((layer - 1) * 2 * n_.heads + head) * n_.query_dim;
  }
  [[nodiscard]] Index key(Index layer, Index head) const {
    return query(layer, head) + n_.heads * n_.query_dim;
  }
  [[nodiscard]] float* attention(const Example& e, Index layer, Index head) const {
    return e.attention + ((layer - 1) * n_.heads + head) * pairs_;
  }

  const BlockContext& context_;
  const HeadPathShape& n_;
  Levels levels_;
  Index pairs_;
  float scale_;
};

}  // namespace

Index HeadPathShape::rows_above(Index layer) const {
  Index rows = 1;
  for (Index l = layer; l <= layers; ++l) rows *= heads;
  return rows;
}

HeadPathCosts head_path_costs(const HeadPathShape& n) {
  const auto tokens = static_cast<double>(n.batch * n.tokens);
  const auto features = static_cast<double>(n.features);
  const auto heads = static_cast<double>(n.layers * n.heads);
  const auto keys = static_cast<double>(n.tokens);
  const auto dim = static_cast<double>(n.query_dim);
  HeadPathCosts costs;
  costs.projections = 2.0 * tokens * features * static_cast<double>(n.projected());
  if (n.merged) costs.projections += 3.0 * heads * features * features * dim;
  costs.logits = tokens * heads * keys * (n.merged ? 2.0 * features : 3.0 * dim);
  return costs;
}

bool HeadPathShape::merging_pays() const {
  const auto total = [this](bool wanted) {
    HeadPathShape shape = *this;
    shape.merged = wanted;
    const HeadPathCosts costs = head_path_costs(shape);
    return costs.projections + costs.logits;
  };
  return total(true) < total(false);
}

void head_paths_forward(const BlockContext& context, const HeadPathShape& n,
                        const float* projections, const float* x, float* out,
                        const HeadPathSaved& saved) {
  const HeadPaths paths(context, n);
  const Index pairs = n.layers * n.heads * n.tokens * n.tokens;
  RowPieces(n.batch, n.tokens, 0).for_chunks(context.threads, [&](Index first, Index units) {
    const Index row = first * n.tokens;
    float* projected = saved.projected == nullptr
                           ? thread_buffer(kProjected, units * n.tokens * n.projected())
                           : saved.projected + row * n.projected();
    context.product(false, true, units * n.tokens, n.projected(), n.features, x + row * n.features,
                    n.features, projections, n.features, 0.0F, projected, n.projected());
    float* rows = thread_buffer(kRows, paths.levels().floats());
    for (Index u = first; u < first + units; ++u) {
      const Example e = {x + u * n.tokens * n.features,
                         projected + (u - first) * n.tokens * n.projected(),
                         saved.attention + u * pairs};
      paths.attend(e);
      paths.average(e, rows);
      context.product(false, false, n.paths(), n.features, n.tokens, paths.levels().at(rows, 1),
                      n.tokens, e.x, n.features, 0.0F, out + u * n.paths() * n.features,
                      n.features);
    }
  });
}

void head_paths_backward(const BlockContext& context, const HeadPathShape& n, const float* x,
                         const HeadPathSaved& saved, const float* d_out, float* d_projections) {
  const HeadPaths paths(context, n);
  const Index pairs = n.layers * n.heads * n.tokens * n.tokens;
  const Index weights = n.projected() * n.features;
  const RowPieces pieces(n.batch, n.tokens, weights);
  PartialSums sums(pieces.groups, {{d_projections, weights, PartialSums::Begins::kProduct}});
  pieces.for_groups(context.threads, [&](Index group, Index first, Index units) {
    float* rows = thread_buffer(kRows, paths.levels().floats());
    float* gradients = thread_buffer(kRowGradients, paths.levels().floats());
    float* d_projected = thread_buffer(kProjected, units * n.tokens * n.projected());
    for (Index i = 0; i < units; ++i) {
      const Index u = first + i;
      const float* projected = n.merged ? nullptr : saved.projected + u * n.tokens * n.projected();
      const Example e = {x + u * n.tokens * n.features, projected, saved.attention + u * pairs};
      paths.average(e, rows);
      context.product(false, true, n.paths(), n.tokens, n.features,
                      d_out + u * n.paths() * n.features, n.features, e.x, n.features, 0.0F,
                      paths.levels().at(gradients, 1), n.tokens);
      paths.back(e, rows, gradients, d_projected + i * n.tokens * n.projected());
    }
    context.product(true, false, n.projected(), n.features, units * n.tokens, d_projected,
                    n.projected(), x + first * n.tokens * n.features, n.features,
                    sums.begin_chunk(group), sums.at(group, 0), n.features);
  });
  sums.finish(context.threads);
}

}  // namespace headway::training::detail
