// What the step model counts of every operation: the numbers that each array passes, one by one.
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/training/attention_variant.hpp"
#include "training/step/step_operations.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace detail;             // NOLINT
using headway::Index;

namespace {

/// Numbers that nobody reads: a cost depends on which arrays are there, and on their type.
template <typename T = float>
OfRuns<T> there() {
  static T number{};
  return {&number, 1};
}
OfRuns<Bf16> halves() { return there<Bf16>(); }

/// Floats, or bf16.
NumbersOfRuns<float> either(bool bf16) {
  if (bf16) return halves();
  return there();
}

struct Wanted {
  double bytes = 0.0, flops = 0.0;
  int launches = 1;
};

/// Of one run; several runs pass as much each, in the same launches.
template <typename Operation>
void check_cost(Operation operation, const Wanted& wanted) {
  if constexpr (requires { operation.runs; }) {
    for (const Index runs : {1, 5}) {
      operation.runs = runs;
      const StepCost found = cost_of(operation);
      CHECK(found.bytes == static_cast<double>(runs) * wanted.bytes);
      CHECK(found.flops == static_cast<double>(runs) * wanted.flops);
      CHECK(found.launches == wanted.launches);
    }
  } else {
    const StepCost found = cost_of(operation);
    CHECK(found.bytes == wanted.bytes);
    CHECK(found.flops == wanted.flops);
    CHECK(found.launches == wanted.launches);
  }
}

constexpr double kFloat = 4.0, kHalf = 2.0;  // bytes

}  // namespace

TEST_CASE("A product passes its factors, what it adds and what it writes, and counts its flops") {
  for (const bool bf16 : {false, true}) {
    const double size = bf16 ? kHalf : kFloat;
    StepProduct p;
    p.rows = 3;
    p.columns = 5;
    p.inner = 7;
    p.batch = 2;
    p.left = {either(bf16), 7, 21};
    p.right = {either(bf16), 5, 35};
    p.out = {there(), 5, 15};
    Wanted wanted{2 * (3 * 7 * size + 7 * 5 * size + 3 * 5 * kFloat), 2.0 * 2 * 3 * 5 * 7};
    check_cost(p, wanted);
    p.left_transposed = p.right_transposed = true;  // the same numbers
    check_cost(p, wanted);
    p.added = {there(), 5, 15};
    wanted.bytes += 2 * 3 * 5 * kFloat;
    check_cost(p, wanted);
    p.batch = 1;
    p.added = {};
    p.out = {either(bf16), 5, 0};
    p.end = ProductEnd::kGelu;
    p.kept = either(bf16);
    check_cost(p, {(3 * 7 + 7 * 5 + 2 * 3 * 5) * size, 2.0 * 3 * 5 * 7});
  }
}

TEST_CASE("Operations of several arrays pass all of them, and take a launch for so many") {
  StepRounding r;
  r.parts = {{10, there(), halves()}, {33, there(), halves()}};
  check_cost(r, {43 * (kFloat + kHalf)});
  r.parts.assign(StepRounding::kMostParts, {3, there(), halves()});
  check_cost(r, {40 * 3 * (kFloat + kHalf)});
  r.parts.push_back({5, there(), halves()});
  check_cost(r, {125 * (kFloat + kHalf), 0.0, 2});
  for (const bool bf16 : {false, true}) {
    const double size = bf16 ? kHalf : kFloat;
    StepColumnSums s;
    s.parts = {{either(bf16), 7, 3, 2, there()}, {either(bf16), 11, 5, 4, there()}};
    check_cost(s, {7 * 3 * size + 2 * 3 * kFloat + 11 * 5 * size + 4 * 5 * kFloat});
    s.parts.assign(2 * StepColumnSums::kMostParts + 1, s.parts.front());
    check_cost(s, {81 * (7 * 3 * size + 2 * 3 * kFloat), 0.0, 3});
    StepSwap w = {2, 3, 5, {{there(), either(bf16)}, {there(), either(bf16)}}};
    check_cost(w, {2 * 30 * (kFloat + size)});
    StepScaledCopies c;
    c.parts = {{7, 3, 0.5, there(), either(bf16)}, {11, 1, 2.0, there(), either(bf16)}};
    check_cost(c, {7 * kFloat + 3 * 7 * size + 11 * (kFloat + size)});
    StepCopySums sums;
    sums.parts = {{3, 7, 1.0, there(), either(bf16)}, {2, 11, 0.5, there(), either(bf16)}};
    check_cost(sums, {3 * 7 * kFloat + 7 * size + 2 * 11 * kFloat + 11 * size});
  }
  StepBlocks b;
  b.parts = {{2, 3, 9, there(), there()}, {5, 7, 9, there(), there()}};
  check_cost(b, {2 * (2 * 3 + 5 * 7) * kFloat});
}

TEST_CASE("Norms pass their rows, and their gradients the sums of groups") {
  for (const bool bf16 : {false, true}) {
    const double size = bf16 ? kHalf : kFloat;
    StepNorm n;
    n.rows = 7;
    n.dim = 3;
    n.x = n.scale = there();
    n.stats = there();
    n.y = either(bf16);
    check_cost(n, {7 * 3 * (kFloat + size)});
    n.added.to = there();  // x is written, too, and a stream read
    check_cost(n, {7 * 3 * (kFloat + size + 2 * kFloat)});
    StepNormGradient g;
    g.rows = 7;
    g.dim = 3;
    g.groups = 5;
    g.x = g.stats = g.scale = there();
    g.dy = either(bf16);
    g.dx = g.scale_sums = g.bias_sums = there();
    const double sums = 2 * 5 * 3 * kFloat;
    check_cost(g, {7 * 3 * (2 * kFloat + size) + sums});
    g.base = there();
    check_cost(g, {7 * 3 * (3 * kFloat + size) + sums});
    g.rounded = halves();
    check_cost(g, {7 * 3 * (3 * kFloat + size + kHalf) + sums});
  }
}

TEST_CASE("Swiglu passes a gate and a number for each number that it writes") {
  for (const bool bf16 : {false, true}) {
    const double size = bf16 ? kHalf : kFloat;
    check_cost(StepSwiglu{7, 3, either(bf16), either(bf16)}, {7 * 3 * (2 + 1) * size});
    check_cost(StepSwigluGradient{7, 3, either(bf16), either(bf16), either(bf16)},
               {7 * 3 * (2 + 1 + 2) * size});
  }
}

TEST_CASE("A rotation reads and writes both numbers of each pair") {
  for (const bool bf16 : {false, true}) {
    StepRotation r;
    r.rows = 14;
    r.tokens = 7;
    r.row = 100;  // of which the heads are a part
    r.heads = 3;
    r.half = 5;
    r.x = either(bf16);
    const double size = bf16 ? kHalf : kFloat;
    check_cost(r, {14 * 3 * (2 * 5) * 2 * size});
    r.backward = true;
    check_cost(r, {14 * 3 * (2 * 5) * 2 * size});
  }
}

TEST_CASE("Mixtures of experts pass gates, hidden numbers and what keeps experts busy") {
  StepGates g;
  g.rows = 7;
  g.experts = 3;
  g.logits = there();
  g.gates = there();
  check_cost(g, {7 * 3 * 2 * kFloat});
  g.rounded = halves();
  check_cost(g, {7 * 3 * (2 * kFloat + kHalf)});
  g.chosen = g.likely = there();
  check_cost(g, {7 * 3 * (4 * kFloat + kHalf)});
  check_cost(StepExpertShares{7, 3, 2, there(), there()}, {7 * 3 * kFloat});
  for (const bool bf16 : {false, true}) {
    const double size = bf16 ? kHalf : kFloat;
    check_cost(StepScaledExperts{7, 3, 5, there(), either(bf16), either(bf16)},
               {7 * 3 * (kFloat + 5 * 2 * size)});
    // Gates are read, and their gradient is read and written.
    check_cost(StepScaledExpertsGradient{7, 3, 5, there(), either(bf16), either(bf16), there()},
               {7 * 3 * (3 * kFloat + 5 * 3 * size)});
    StepGatesGradient d;
    d.rows = 7;
    d.experts = 3;
    d.gates = d.d_gates = there();
    d.d_logits = either(bf16);
    check_cost(d, {7 * 3 * (2 * kFloat + size)});
    d.likely = there();
    check_cost(d, {7 * 3 * (3 * kFloat + size)});
  }
}

TEST_CASE("Paths of a linear-value network pass omega once for each head") {
  for (const bool bf16 : {false, true}) {
    const double size = bf16 ? kHalf : kFloat;
    const Index layers = 2, examples = 3, tokens = 5, heads = 7, dim = 11, rows = 13;
    const auto all = static_cast<double>(layers * examples * heads);
    const double attention = all * 5 * (5 * kFloat + 2 * 11 * size);
    const double flops = 2.0 * all * 5 * 5 * 11;
    check_cost(StepPathAttention{layers, examples, tokens, heads, dim, either(bf16), there()},
               {attention, flops});
    check_cost(StepPathAttentionGradient{layers, examples, tokens, heads, dim, either(bf16),
                                         there(), there(), either(bf16)},
               {2 * attention, 2 * flops});
    const double passed = 3 * 7 * 5 * 5 * kFloat + 3 * 7 * 13 * 5 * size + 3 * 13 * 5 * size;
    const double of_rows = 2.0 * 3 * 7 * 13 * 5 * 5;
    check_cost(StepPathRows{examples, tokens, heads, rows, either(bf16), there(), either(bf16)},
               {passed, of_rows});
    check_cost(StepPathRowsGradient{examples, tokens, heads, rows, either(bf16), there(),
                                    either(bf16), there(), either(bf16)},
               {2 * passed, 2 * of_rows});
  }
}

TEST_CASE("Embeddings and single tokens pass what they copy") {
  const auto ids = there<const std::int32_t>();
  check_cost(StepLookUp{7, 3, 11, ids, there(), there()}, {2 * 7 * 3 * kFloat});
  // The ids are read anew for each entry.
  check_cost(StepLookUpGradient{7, 3, 11, ids, there(), there()},
             {(7 * 3 + 11 * 3 + 11 * 7) * kFloat});
  check_cost(StepSomeTokens{2, 7, 1, 5, 3, there(), there()}, {2 * 2 * 5 * 3 * kFloat});
  for (const bool bf16 : {false, true}) {
    StepSomeTokensGradient g;
    g.examples = 2;
    g.tokens = 7;
    g.wanted = 5;
    g.dim = 3;
    g.from = there();
    g.to = there();
    g.cleared_columns = 13;
    g.cleared_row = 17;
    g.cleared = either(bf16);
    const double size = bf16 ? kHalf : kFloat;
    const double wanted = 2 * (5 * 3 * kFloat + 7 * 3 * kFloat + 7 * 13 * size);
    check_cost(g, {wanted});
    g.rounded = halves();
    check_cost(g, {wanted + 2 * 7 * 3 * kHalf});
  }
}

TEST_CASE("Relative positions pass a number for each pair of tokens and head") {
  StepPositions p;
  p.heads = 3;
  p.layers = {{5, 7, 0, there(), there()}, {2, 11, 0, there(), there()}};
  check_cost(p, {3 * (5 * 7 + 2 * 11) * kFloat});
  StepPositionsGradient g;
  g.heads = 3;
  g.layers = {{5, 7, 0, there(), there()}, {2, 11, 0, there(), there()}};
  check_cost(g, {3 * (5 * 7 + 2 * 11) * kFloat});
}

TEST_CASE("Attention passes queries, keys, values and outputs, twice on the way back") {
  for (const GpuArithmetic arithmetic :
       {GpuArithmetic::kFloat32, GpuArithmetic::kTf32, GpuArithmetic::kBf16}) {
    StepAttention a;
    a.layer.shape = {2, 3, 5, 7, 11, 13};
    a.layer.arithmetic = arithmetic;
    const double size = arithmetic == GpuArithmetic::kBf16 ? kHalf : kFloat;
    const double passed = 2 * 3 * (5 + 7) * (11 + 13) * size;
    const MultiplyAdds count = count_multiply_adds(a.layer.shape, a.layer.options);
    REQUIRE(count.forward > 0.0);
    check_cost(a, {passed, 2.0 * count.forward});
    StepAttentionGradient g;
    g.layer = a.layer;
    const double flops = 2.0 * (count.backward + count.recomputed);
    check_cost(g, {2 * passed, flops});
    g.plan.query_sums = 101;
    g.plan.bias_sums = 203;
    g.plan.mixing_sums = 307;
    check_cost(g, {2 * passed + 611 * kFloat, flops});
    g.plan.over_keys = 400;  // are summed in a launch of their own
    check_cost(g, {2 * passed + 1011 * kFloat, flops, 2});
    g.plan.kernel = GpuAttentionKernel::kNarrow;
    check_cost(g, {2 * passed + 1011 * kFloat, flops, 2});
  }
}

TEST_CASE("Large kernels take two launches for so many queries, and one for the sums over keys") {
  StepAttentionGradient g;
  g.plan.kernel = GpuAttentionKernel::kLarge;
  g.plan.backward.chunk_queries = 4;
  g.layer.shape.keys = 3;
  for (const auto& [queries, chunks] :
       std::vector<std::pair<Index, int>>{{1, 1}, {4, 1}, {5, 2}, {8, 2}, {9, 3}}) {
    INFO(queries);
    g.layer.shape.queries = queries;
    g.layer.options.normalisation = Normalisation::kSoftmax;
    CHECK(cost_of(g).launches == 2 * chunks + 1);
    g.layer.options.normalisation = Normalisation::kNone;
    CHECK(cost_of(g).launches == 2 * chunks);
  }
}

TEST_CASE("Sums, losses and the update pass their copies and whole blocks of parameters") {
  for (const bool bf16 : {false, true}) {
    const double size = bf16 ? kHalf : kFloat;
    StepQuerySums q;
    q.rows = 7;
    q.dim = 3;
    q.copies = 5;
    q.to = either(bf16);
    check_cost(q, {7 * 3 * (5 * kFloat + size)});
    StepLoss l;
    l.rows = 7;
    l.outputs = 3;
    l.y = there();
    l.losses = there();
    l.dy = either(bf16);
    check_cost(l, {7 * 3 * (kFloat + size) + 7 * kFloat});
  }
  const Index block = StepSums::kNumbersOfBlock;
  StepSums s;
  s.blocks = 3;
  s.losses_count = 17;
  for (const Index runs : {1, 5}) {
    s.runs = runs;
    s.copies_size = runs * 1000;  // of all runs
    CHECK(cost_of(s).bytes ==
          static_cast<double>(runs) * static_cast<double>(1000 + 17 + 3 * block) * kFloat);
    CHECK(cost_of(s).launches == 1);
  }
  StepUpdate u;
  u.blocks = 3;
  check_cost(u, {7.0 * 3 * static_cast<double>(block) * kFloat});
}
