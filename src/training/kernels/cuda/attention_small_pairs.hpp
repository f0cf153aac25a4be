#pragma once

#include "training/kernels/cuda/attention_arguments.hpp"
#include "training/kernels/cuda/tile_product.hpp"

// What the kernels for small layers share. A pair of tokens belongs to a few lanes of a warp beside
// each other. A lane has 16 numbers of each of the pair's rows in registers: of some heads of the
// query and the key, and of all heads and some dims of the value and the gradient of the output.
// (Of a plain network: of the same heads as of the query.) So scores and gradients of scores are
// made head by head, the value network dim by dim, and only weights and their gradients pass from
// lane to lane.
namespace headway::training::HEADWAY_GPU {

constexpr int kSmallRow = 16;

template <int count>
struct RowOfLane {
  float x[count];
};

/// How a layer of at most `heads` heads and `dims` dims a head is dealt to lanes; all are powers of
/// two, and missing heads and dims count as 0. A lane has `row` numbers of a token's row.
template <int heads, int dims, int row = kSmallRow>
struct SmallCut {
  static constexpr int kHeads = heads;
  static constexpr int kDims = dims;
  static constexpr int kRow = row;
  /// From one lane's numbers to the next lane's in shared memory: eight lanes that read four
  /// numbers each meet different banks.
  static constexpr int kRowStep = row + 4;
  static constexpr int kLanes = heads * dims / row;  // of a pair
  static constexpr int kHeadsOfLane = row / dims;
  static constexpr int kDimsOfLane = row / heads;
};

/// Sizes of the shared memory of a block, which works on a tile of tokens of an example and all
/// tokens that they may be paired with.
struct SmallSizes {
  int tokens;    ///< the larger of queries and keys
  int tile;      ///< tokens of a block
  int row;       ///< numbers of a token, padded
  int heads;     ///< padded
  bool softmax;  ///< and in the backward pass
};

struct SmallArrays {
  SmallArrays() = default;
  template <typename Memory>
  HEADWAY_DEVICE SmallArrays(Memory& memory, const SmallSizes& n)
      : first(memory.template take<float>("first rows", n.tokens * n.row)),
        second(memory.template take<float>("second rows", n.tokens * n.row)),
        dropout(memory.template take<float>("dropout of pairs", n.tile * n.tokens)) {
    if (!n.softmax) return;
    log_sum = memory.template take<float>("log sums", n.tokens * n.heads);
    over_keys = memory.template take<float>("over keys", n.tokens * n.heads);
  }

  Shared<float> first = {};      // [token][lane][number]: keys, or queries
  Shared<float> second = {};     // [token][lane][number]: values, or the gradient of the output
  Shared<float> dropout = {};    // [token of the tile][token]; hidden pairs: kHiddenPair
  Shared<float> log_sum = {};    // [query][head]
  Shared<float> over_keys = {};  // [query][head]
};

constexpr float kHiddenPair = -1.0F;  // no factor of dropout is negative

template <typename T, typename Cut, bool generated>
class SmallPairs {
 protected:
  static constexpr int kLanes = Cut::kLanes;
  static constexpr int kOwn = Cut::kHeadsOfLane;               // heads whose scores a lane makes
  static constexpr int kAll = generated ? Cut::kHeads : kOwn;  // whose weights it needs
  static constexpr int kDims = Cut::kDimsOfLane;               // dims of u, of a generated network
  static constexpr int kTokenStep = kLanes * Cut::kRowStep;
  using SmallRow = RowOfLane<Cut::kRow>;

  HEADWAY_DEVICE SmallPairs(Block& block, const AttentionArguments<T>& arguments,
                            const SmallArrays& arrays)
      : block_(block),
        x_(arguments),
        arrays_(arrays),
        token_lanes_(arguments.plan.token_lanes),
        tile_(arguments.plan.tile_queries) {}

  HEADWAY_DEVICE bool softmax() const {
    return x_.options.normalisation == Normalisation::kSoftmax;
  }
  HEADWAY_DEVICE bool rms_head() const {
    return x_.options.normalisation == Normalisation::kRmsHead;
  }

  /// Where a lane is: `own` is the token that its warp works on, a query or a key, `part` its place
  /// among the lanes of a pair.
  struct Place {
    int row, own, slice, part;
    bool inside;
  };
  HEADWAY_DEVICE Place place(const Warp& warp, int lane, int owns) const {
    const int lanes = kLanes * token_lanes_;
    Place p;
    p.row = warp.index() * (32 / lanes) + lane / lanes;
    p.slice = lane / kLanes % token_lanes_;
    p.part = lane % kLanes;
    p.own = first_own_ + p.row;
    p.inside = p.own < owns;
    if (!p.inside) {
      p.row -= p.own - (owns - 1);
      p.own = owns - 1;
    }
    return p;
  }

  // --- rows ---------------------------------------------------------------------------------

  /// A part of a row: number i of the lane's 16 is (head, dim). By heads, or by dims: then the
  /// heads of lane p stand in the order in which its neighbours p ^ 0, p ^ 1, ... own them.
  struct Slot {
    int head, dim;
  };
  template <bool by_dims>
  static HEADWAY_DEVICE Slot slot(int part, int i) {
    if constexpr (!by_dims) return {part * kOwn + i / Cut::kDims, i % Cut::kDims};
    const int neighbour = part ^ (i / (kOwn * kDims));
    return {neighbour * kOwn + i / kDims % kOwn, part * kDims + i % kDims};
  }
  /// The place of (head, dim) in a token's row of shared memory.
  template <bool by_dims>
  static HEADWAY_DEVICE int place_in_row(int head, int dim) {
    const int owner = head / kOwn;
    if constexpr (!by_dims) return owner * Cut::kRowStep + head % kOwn * Cut::kDims + dim;
    const int part = dim / kDims;
    return part * Cut::kRowStep + ((part ^ owner) * kOwn + head % kOwn) * kDims + dim % kDims;
  }

  /// An array of the layer, [B, tokens, H, dim], as operands: scaled, or phi of it.
  struct Rows {
    Global<const T> data;
    TokenSteps steps;
    int tokens, dim;
    float scale;
    Nonlinearity phi;
  };
  HEADWAY_DEVICE Rows queries() const {
    return {x_.query,
            x_.query_steps,
            x_.queries,
            x_.query_dim,
            1.0F / sqrtf(static_cast<float>(x_.query_dim)),
            Nonlinearity::kIdentity};
  }
  HEADWAY_DEVICE Rows keys() const {
    return {x_.key, x_.key_steps, x_.keys, x_.query_dim, 1.0F, Nonlinearity::kIdentity};
  }
  HEADWAY_DEVICE Rows values() const {
    return {x_.value, x_.value_steps,
            x_.keys,  x_.value_dim,
            1.0F,     generated ? Nonlinearity::kIdentity : x_.options.nonlinearity};
  }
  /// Of the output or its gradient.
  HEADWAY_DEVICE Rows outputs(Global<const T> data) const {
    const std::int64_t row = static_cast<std::int64_t>(x_.heads) * x_.value_dim;
    return {data, {row, row * x_.queries}, x_.queries, x_.value_dim, 1.0F, Nonlinearity::kIdentity};
  }

  HEADWAY_DEVICE std::int64_t start_of(const TokenSteps& steps, int token) const {
    return example_ * steps.example + token * steps.token;
  }
  HEADWAY_DEVICE float raw(const Rows& rows, std::int64_t start, int head, int dim) const {
    if (head >= x_.heads || dim >= rows.dim) return 0.0F;
    return get(rows.data, start + head * rows.dim + dim);
  }
  // 0 of every phi is 0, so that missing heads and dims stay 0.
  static HEADWAY_DEVICE float finished(const Rows& rows, float value) {
    value *= rows.scale;
    return rows.phi == Nonlinearity::kIdentity ? value : apply(rows.phi, value).value;
  }
  HEADWAY_DEVICE float number(const Rows& rows, std::int64_t start, int head, int dim) const {
    return finished(rows, raw(rows, start, head, dim));
  }

  /// work(token, head, dim, number) for a thread's share of the rows of all tokens. Eight numbers
  /// are on their way from memory at a time.
  template <typename Work>
  HEADWAY_DEVICE void for_numbers(int thread, const Rows& rows, const Work& work) const {
    constexpr int kColumns = Cut::kHeads * Cut::kDims;
    constexpr int kTogether = 8;
    const int count = rows.tokens * kColumns;
    const int step = block_.size();
    for (int first = thread; first < count; first += kTogether * step) {
      float value[kTogether];
      HEADWAY_UNROLL
      for (int j = 0; j < kTogether; ++j) {
        const int i = first + j * step < count ? first + j * step : count - 1;
        const int head = i % kColumns / Cut::kDims;
        const int dim = i % Cut::kDims;
        const bool real = head < x_.heads && dim < rows.dim;  // else the row's first is read
        value[j] = get(rows.data, start_of(rows.steps, i / kColumns) +
                                      (real ? head * rows.dim + dim : 0));
        if (!real) value[j] = 0.0F;
      }
      HEADWAY_UNROLL
      for (int j = 0; j < kTogether; ++j) {
        const int i = first + j * step;
        const int column = i % kColumns;
        if (i >= count) return;
        work(i / kColumns, column / Cut::kDims, column % Cut::kDims, finished(rows, value[j]));
      }
    }
  }

  /// Rows of all tokens to shared memory.
  template <bool by_dims>
  HEADWAY_DEVICE void load_all(const Rows& rows, Shared<float> to) {
    block_.threads([&](int thread) {
      for_numbers(thread, rows, [&](int token, int head, int dim, float value) {
        put(to, token * kTokenStep + place_in_row<by_dims>(head, dim), value);
      });
    });
  }
  /// A lane's part of one row, from memory or from shared memory.
  template <bool by_dims>
  HEADWAY_DEVICE void load_own(const Rows& rows, int token, int part, SmallRow& to) const {
    const std::int64_t start = start_of(rows.steps, token);
    HEADWAY_UNROLL
    for (int i = 0; i < Cut::kRow; ++i) {
      const Slot at = slot<by_dims>(part, i);
      to.x[i] = number(rows, start, at.head, at.dim);
    }
  }
  static HEADWAY_DEVICE void load_other(Shared<float> from, int token, int part, SmallRow& to) {
    const int at = token * kTokenStep + part * Cut::kRowStep;
    HEADWAY_UNROLL
    for (int i = 0; i < Cut::kRow; i += 4) {
      const Floats4 four = get4(from, at + i);
      HEADWAY_UNROLL
      for (int j = 0; j < 4; ++j) to.x[i + j] = four.value[j];
    }
  }
  /// factor(head, dim) times a lane's part of one row, to memory.
  template <bool by_dims, typename To, typename Factor>
  HEADWAY_DEVICE void store_own(Global<To> to, std::int64_t start, int dims, int part,
                                const SmallRow& from, const Factor& factor) const {
    HEADWAY_UNROLL
    for (int i = 0; i < Cut::kRow; ++i) {
      const Slot at = slot<by_dims>(part, i);
      if (at.head >= x_.heads || at.dim >= dims) continue;
      const std::int64_t place = start + at.head * dims + at.dim;
      put(to, place, factor(at.head, at.dim) * from.x[i]);
    }
  }

  // --- pairs --------------------------------------------------------------------------------

  HEADWAY_DEVICE bool visible(int query, int key) const {
    if (x_.options.causal && key > query + x_.keys - x_.queries) return false;
    if (x_.key_mask == nullptr) return true;
    return get_bits(x_.key_mask, static_cast<std::int64_t>(example_) * x_.keys + key) != 0;
  }
  /// The factors of dropout of the tile's pairs, once for all heads and lanes.
  template <bool own_is_query>
  HEADWAY_DEVICE void load_dropout() {
    const int owns = own_is_query ? x_.queries : x_.keys;
    const int others = own_is_query ? x_.keys : x_.queries;
    const int rows = owns - first_own_ < tile_ ? owns - first_own_ : tile_;
    for_each(block_, rows, others, [&](int row, int other) {
      const int own = first_own_ + row;
      const int query = own_is_query ? own : other;
      const int key = own_is_query ? other : own;
      put(arrays_.dropout, row * others + other,
          visible(query, key) ? dropout_of(x_.dropout, query, key, x_.keys) : kHiddenPair);
    });
  }

  /// A pair as one of its lanes sees it.
  struct Pair {
    int query, key;      // beyond the last token: the last
    bool inside;         // it is a pair of its own
    bool seen;           // and not hidden
    float dropout, r;    // r: 1, or RMSHead's factor
    float reduced;       // what is added up over its lanes
    float score[kOwn];   // s (eq. 1), 0 where hidden
    float before[kOwn];  // a of softmax, before dropout
    float weight[kOwn];  // b (eqs. 2 to 4)
    float factor[kAll];  // b as an operand, of all heads that the lane needs
  };

  /// Pair `other` of a lane; beyond the last it is hidden.
  template <bool own_is_query>
  HEADWAY_DEVICE void choose(const Place& p, int other, Pair& pair) const {
    const int others = own_is_query ? x_.keys : x_.queries;
    pair.inside = p.inside && other < others;
    const int last = other < others ? other : others - 1;
    pair.query = own_is_query ? p.own : last;
    pair.key = own_is_query ? last : p.own;
    pair.dropout = get(arrays_.dropout, p.row * others + last);
    pair.seen = pair.inside && pair.dropout >= 0.0F;
    if (!pair.seen) pair.dropout = 0.0F;
  }

  HEADWAY_DEVICE std::int64_t bias_at(int head, const Pair& pair) const {
    return (static_cast<std::int64_t>(head) * x_.queries + pair.query) * x_.keys + pair.key;
  }
  HEADWAY_DEVICE void score(const SmallRow& query, const SmallRow& key, int part,
                            Pair& pair) const {
    HEADWAY_UNROLL
    for (int j = 0; j < kOwn; ++j) {
      float sum = 0.0F;
      HEADWAY_UNROLL
      for (int i = j * Cut::kDims; i < (j + 1) * Cut::kDims; ++i) {
        sum = fused(query.x[i], key.x[i], sum);
      }
      const int head = part * kOwn + j;
      if (!(x_.bias == nullptr) && head < x_.heads) sum += get(x_.bias, bias_at(head, pair));
      pair.score[j] = pair.seen ? sum : 0.0F;
    }
  }

  /// value(lane) becomes its sum over the lanes whose numbers differ in bits `first` to `end / 2`:
  /// in a tree, so all of them have the same bits.
  template <typename Value>
  static HEADWAY_DEVICE void add_up(const Warp& warp, int first, int end, const Value& value) {
    for (int mask = first; mask < end; mask *= 2) {
      exchange(
          warp, mask, [&](int lane) { return value(lane); },
          [&](int lane, float other) { value(lane) += other; });
    }
  }
  template <typename Value>
  static HEADWAY_DEVICE void add_up_over_heads(const Warp& warp, const Value& value) {
    HEADWAY_UNROLL
    for (int mask = 1; mask < kLanes; mask *= 2) {
      exchange(
          warp, mask, [&](int lane) { return value(lane); },
          [&](int lane, float other) { value(lane) += other; });
    }
  }
  HEADWAY_DEVICE void add_up_over_pairs(const Warp& warp, Lanes<SmallRow>& rows) const {
    HEADWAY_UNROLL
    for (int i = 0; i < Cut::kRow; ++i) {
      add_up(warp, kLanes, kLanes * token_lanes_,
             [&](int lane) -> float& { return rows[lane].x[i]; });
    }
  }

  /// score, log sums of softmax -> weight, factor (eqs. 2 to 4).
  template <typename LogSum>
  HEADWAY_DEVICE void weigh(const Warp& warp, const LogSum& log_sum, Lanes<Pair>& pairs) const {
    if (rms_head()) {
      warp.lanes([&](int lane) {
        Pair& pair = pairs[lane];
        pair.reduced = 0.0F;
        HEADWAY_UNROLL
        for (int j = 0; j < kOwn; ++j) pair.reduced += pair.score[j] * pair.score[j];
      });
      add_up_over_heads(warp, [&](int lane) -> float& { return pairs[lane].reduced; });
    }
    warp.lanes([&](int lane) {
      Pair& pair = pairs[lane];
      pair.r = 1.0F;
      if (rms_head()) {
        const float mean = pair.reduced / static_cast<float>(x_.heads);
        pair.r = 1.0F / sqrtf(mean + static_cast<float>(kRmsHeadEpsilon));
      }
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        float a = pair.score[j];
        if (softmax()) a = pair.seen ? expf(a - log_sum(lane, j)) : 0.0F;
        pair.before[j] = a;
        pair.weight[j] = a * pair.r * pair.dropout;
        pair.factor[j] = pair.weight[j];
      }
    });
    if constexpr (generated) gather(warp, pairs);
  }

  /// The weights of the neighbours' heads.
  static HEADWAY_DEVICE void gather(const Warp& warp, Lanes<Pair>& pairs) {
    HEADWAY_UNROLL
    for (int mask = 1; mask < kLanes; ++mask) {
      HEADWAY_UNROLL
      for (int j = 0; j < kOwn; ++j) {
        exchange(
            warp, mask, [&](int lane) { return pairs[lane].factor[j]; },
            [&](int lane, float other) { pairs[lane].factor[mask * kOwn + j] = other; });
      }
    }
  }

  /// sum_h b row[h] of dim e of a lane.
  static HEADWAY_DEVICE float over_heads(const Pair& pair, const SmallRow& row, int e) {
    float sum = 0.0F;
    HEADWAY_UNROLL
    for (int h = 0; h < kAll; ++h) sum = fused(pair.factor[h], row.x[h * kDims + e], sum);
    return sum;
  }

  Block& block_;
  const AttentionArguments<T>& x_;
  const SmallArrays arrays_;
  const int token_lanes_;
  const int tile_;
  int example_ = 0;
  int first_own_ = 0;  // of the block
};

}  // namespace headway::training::HEADWAY_GPU
