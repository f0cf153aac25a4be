// Kernels of the hand-written step that move, turn and round numbers, and the gradient of relative
// positions, on the emulator, beside their definitions.
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "step_stack.hpp"

using namespace headway::training;         // NOLINT: a test
using namespace headway::testing::stacks;  // NOLINT
using namespace detail;                    // NOLINT
using headway::Index;

namespace {

void check_positions_gradient(Index queries, Index keys, Index farthest, Index buckets) {
  INFO("queries " << queries << " keys " << keys << " farthest " << farthest);
  constexpr Index kHeads = 2;
  const Index first = keys - queries;
  Stack stack;
  std::vector<std::int32_t> bucket_of;
  for (Index i = 0; i <= 2 * farthest; ++i) {
    bucket_of.push_back(static_cast<std::int32_t>(i * i % buckets));
  }
  const auto d_scores = stack.numbers(kHeads * queries * keys);
  const auto d_table = stack.unwritten(buckets * kHeads);
  StepPositionsGradient g;
  g.heads = kHeads;
  g.buckets = buckets;
  g.farthest = farthest;
  g.bucket_of = stack.table(bucket_of);
  g.layers = {{queries, keys, first, d_scores, d_table}};
  g.runs = kRuns;
  stack.run(g);
  Difference difference;
  for (Index run = 0; run < kRuns; ++run) {
    std::vector<double> sums(static_cast<std::size_t>(buckets * kHeads));
    for (Index i = 0; i < kHeads * queries * keys; ++i) {
      const Index distance = first + i / keys % queries - i % keys;
      const Index bucket = bucket_of[static_cast<std::size_t>(distance + farthest)];
      sums[static_cast<std::size_t>(bucket * kHeads + i / keys / queries)] += at(d_scores, run, i);
    }
    for (Index i = 0; i < buckets * kHeads; ++i) {
      difference.add(sums[static_cast<std::size_t>(i)], at(d_table, run, i));
    }
  }
  CHECK(difference.relative() < 1e-5);
}

}  // namespace

TEST_CASE("The gradient of relative positions is the sum over the pairs of a bucket") {
  check_positions_gradient(5, 5, 4, 3);
  check_positions_gradient(36, 36, 35, 8);
  check_positions_gradient(3, 40, 45, 8);   // the last tokens alone
  check_positions_gradient(2, 5, 600, 40);  // more distances than are summed at once
}

TEST_CASE("Parameters of any number are rounded, and no more") {
  Stack stack;
  StepRounding r;
  r.runs = kRuns;
  std::vector<OfRuns<Bf16>> rounded;
  for (const Index count : {1, 300, 2048, 5000}) {
    rounded.push_back(stack.unwritten<Bf16>(count));
    r.parts.push_back({count, stack.numbers(count), rounded.back()});
  }
  stack.run(r);
  for (std::size_t p = 0; p < rounded.size(); ++p) {
    Difference difference;
    for (Index run = 0; run < kRuns; ++run) {
      for (Index i = 0; i < r.parts[p].count; ++i) {
        difference.add(to_float(to_bf16(static_cast<float>(at(r.parts[p].from, run, i)))),
                       at(rounded[p], run, i));
      }
    }
    CHECK(difference.relative() == 0.0);
  }
}

TEST_CASE("Embeddings and the wanted tokens are found where they are") {
  constexpr Index kExamples = 3, kTokens = 7, kFirst = 2, kWanted = 4, kDim = 5, kEntries = 9;
  Stack stack;
  const auto ids = stack.ids(kExamples * kTokens, kEntries);
  const auto table = stack.numbers(kEntries * kDim);
  const auto y = stack.unwritten(kExamples * kTokens * kDim);
  const auto some = stack.unwritten(kExamples * kWanted * kDim);
  stack.run(StepLookUp{kExamples * kTokens, kDim, kEntries, ids, table, y, kRuns});
  stack.run(StepSomeTokens{kExamples, kTokens, kFirst, kWanted, kDim, y, some, kRuns});
  Difference looked_up, taken;
  for (Index run = 0; run < kRuns; ++run) {
    for (Index row = 0; row < kExamples * kTokens; ++row) {
      for (Index c = 0; c < kDim; ++c) {
        const auto entry = static_cast<Index>(at(ids, run, row));
        looked_up.add(at(table, run, entry * kDim + c), at(y, run, row * kDim + c));
        const Index place = row % kTokens - kFirst;
        if (place < 0 || place >= kWanted) continue;
        taken.add(at(y, run, row * kDim + c),
                  at(some, run, (row / kTokens * kWanted + place) * kDim + c));
      }
    }
  }
  CHECK(looked_up.relative() == 0.0);
  CHECK(taken.relative() == 0.0);
}
