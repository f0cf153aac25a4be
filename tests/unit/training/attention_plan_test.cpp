// How attention is cut for a GPU. A plan gives the order of sums, so a layer has the same plan on
// the same kind of device for good.
#include "training/kernels/cuda/attention_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"

using namespace headway::training;  // NOLINT: a test
using headway::Index;

namespace {

GpuDevice by_shape() {
  GpuDevice device;
  device.kernels_by_shape = true;
  return device;
}

std::string text_of(const AttentionPlanSizes& s) {
  if (s.threads == 0) return "none";
  return fmt::format("{} x {} x {}, {} heads, {} threads, {} bytes", s.tile_queries, s.tile_keys,
                     s.tile_dims, s.heads, s.threads, s.shared_bytes);
}

/// What of a plan decides the order of sums, and the memory of a block.
std::string text_of(const GpuAttentionPlan& p) {
  const char* kernel = p.kernel == GpuAttentionKernel::kGeneral  ? "general"
                       : p.kernel == GpuAttentionKernel::kNarrow ? "narrow"
                                                                 : "large";
  return fmt::format("{}; {}; {}; {}; {} groups, {} slices of {} keys, chunks of {}", kernel,
                     text_of(p.forward), text_of(p.sums), text_of(p.backward), p.backward.groups,
                     p.backward.key_slices, p.backward.slice_keys, p.backward.chunk_queries);
}

std::string planned(const AttentionShape& shape, const char* variant, GpuArithmetic arithmetic,
                    const GpuDevice& device) {
  const auto plan =
      plan_gpu_attention(shape, attention_variant(variant), arithmetic, true, true, device);
  return plan ? text_of(*plan) : "nothing";
}

Index ceiling(Index a, Index b) { return (a + b - 1) / b; }

/// The fewest slices with which `runs` of blocks fill a device, at most 16 and at most `most`.
Index slices_wanted(Index runs, Index multiprocessors, Index most) {
  Index slices = 1;
  while (slices < std::min(most, Index{16}) && runs * slices < 2 * multiprocessors) ++slices;
  return slices;
}

// Slices are of whole tiles: as few tiles in each as there may be slices for.
void check_slices(const GpuAttentionPlan& plan, const AttentionShape& n, Index slices) {
  const AttentionPlanSizes& b = plan.backward;
  const Index tiles = ceiling(n.keys, b.tile_keys);
  Index in_each = 1;
  while (ceiling(tiles, in_each) > slices) ++in_each;
  CHECK(b.slice_keys == in_each * b.tile_keys);
  CHECK(b.key_slices == ceiling(tiles, in_each));
}

void check_workspace(const GpuAttentionPlan& plan, const AttentionShape& n,
                     const AttentionOptions& options, bool bias) {
  const AttentionPlanSizes& b = plan.backward;
  CHECK(plan.query_sums == b.key_slices * n.batch * n.queries * n.heads * n.query_dim);
  CHECK(plan.bias_sums == (bias ? b.groups * n.heads * n.queries * n.keys : 0));
  CHECK(plan.mixing_sums == (has_mixing(options.value_network)
                                 ? b.groups * b.key_slices * n.heads * n.value_dim * n.value_dim
                                 : 0));
  CHECK(plan.over_keys ==
        (normalises_over_keys(options.normalisation) ? n.batch * n.heads * n.queries : 0));
}

// Tiles cut tokens and dims evenly: the last one lacks less than one of each other tile.
void check_tile(Index count, Index tile) {
  CHECK(tile >= 1);
  CHECK(tile <= count);
  CHECK(ceiling(count, tile) * tile - count < ceiling(count, tile));
}

}  // namespace

TEST_CASE("Layers of the studies keep their plans on an H100", "[not_sanitized]") {
  const AttentionShape sraven = {128, 16, 36, 36, 4, 4};
  const AttentionShape fuzzy = {128, 8, 32, 32, 2, 2};
  const AttentionShape text = {8, 8, 1024, 1024, 64, 64};
  const AttentionShape across = {16, 4, 50, 130, 12, 20};  // of a decoder
  const auto kFloat32 = GpuArithmetic::kFloat32;
  const auto kBf16 = GpuArithmetic::kBf16;
  CHECK(planned(sraven, "hyla", kFloat32, {}) ==
        "general; 18 x 36 x 4, 16 heads, 256 threads, 83744 bytes; none; 18 x 18 x 4, 16 heads, "
        "256 threads, 87584 bytes; 128 groups, 2 slices of 18 keys, chunks of 0");
  CHECK(planned(sraven, "softmax", kFloat32, {}) ==
        "general; 36 x 36 x 4, 1 heads, 256 threads, 8512 bytes; 36 x 36 x 4, 1 heads, 256 "
        "threads, 19200 bytes; 36 x 36 x 4, 1 heads, 256 threads, 20640 bytes; 128 groups, 1 "
        "slices of 36 keys, chunks of 0");
  CHECK(planned(sraven, "hyla_deep", kFloat32, {}) ==
        "general; 18 x 36 x 4, 16 heads, 256 threads, 96704 bytes; none; 18 x 18 x 4, 16 heads, "
        "256 threads, 113504 bytes; 128 groups, 2 slices of 18 keys, chunks of 0");
  CHECK(planned(sraven, "hyla", kBf16, {}) ==
        "general; 12 x 36 x 4, 16 heads, 256 threads, 47920 bytes; none; 36 x 36 x 2, 16 heads, "
        "256 threads, 229376 bytes; 128 groups, 1 slices of 36 keys, chunks of 0");
  CHECK(planned(fuzzy, "softmax_hyla", kFloat32, {}) ==
        "general; 8 x 32 x 2, 8 heads, 256 threads, 17504 bytes; 32 x 32 x 2, 8 heads, 256 "
        "threads, 136800 bytes; 32 x 32 x 2, 8 heads, 256 threads, 141152 bytes; 128 groups, 1 "
        "slices of 32 keys, chunks of 0");
  CHECK(planned(text, "hyla", kFloat32, {}) ==
        "general; 16 x 8 x 22, 8 heads, 256 threads, 114912 bytes; none; 12 x 16 x 22, 8 heads, "
        "256 threads, 230560 bytes; 8 groups, 16 slices of 64 keys, chunks of 0");
  CHECK(planned(text, "softmax", kBf16, {}) ==
        "general; 64 x 47 x 64, 1 heads, 256 threads, 50320 bytes; 64 x 32 x 64, 1 heads, 256 "
        "threads, 51248 bytes; 47 x 64 x 64, 1 heads, 256 threads, 100160 bytes; 8 groups, 4 "
        "slices of 256 keys, chunks of 0");
  CHECK(planned(text, "hyla_deep", kBf16, {}) ==
        "general; 8 x 16 x 64, 8 heads, 256 threads, 112640 bytes; none; 16 x 8 x 64, 8 heads, 256 "
        "threads, 227712 bytes; 8 groups, 16 slices of 64 keys, chunks of 0");
  CHECK(planned(across, "linear_rms_head", kFloat32, {}) ==
        "general; 2 x 65 x 20, 4 heads, 256 threads, 36976 bytes; none; 50 x 12 x 20, 4 heads, 256 "
        "threads, 64128 bytes; 16 groups, 11 slices of 12 keys, chunks of 0");
  CHECK(planned(across, "softmax_hyla", kBf16, {}) ==
        "general; 2 x 65 x 20, 4 heads, 256 threads, 25936 bytes; 2 x 65 x 20, 4 heads, 256 "
        "threads, 35536 bytes; 50 x 12 x 20, 4 heads, 256 threads, 108368 bytes; 16 groups, 11 "
        "slices of 12 keys, chunks of 0");
  CHECK(planned(sraven, "hyla", kFloat32, by_shape()) ==
        "narrow; 12 x 36 x 0, 16 heads, 96 threads, 24576 bytes; none; 36 x 36 x 0, 16 heads, 288 "
        "threads, 148608 bytes; 128 groups, 1 slices of 0 keys, chunks of 0");
  CHECK(planned(fuzzy, "softmax", kBf16, by_shape()) ==
        "narrow; 16 x 32 x 0, 8 heads, 128 threads, 13568 bytes; none; 32 x 32 x 0, 8 heads, 256 "
        "threads, 74240 bytes; 128 groups, 1 slices of 0 keys, chunks of 0");
  CHECK(planned({3, 7, 9, 38, 3, 4}, "hyla", kFloat32, by_shape()) ==
        "narrow; 12 x 38 x 0, 7 heads, 96 threads, 14496 bytes; none; 9 x 38 x 0, 7 heads, 288 "
        "threads, 31328 bytes; 3 groups, 1 slices of 0 keys, chunks of 0");
  CHECK(planned(text, "hyla", kBf16, by_shape()) ==
        "large; 16 x 16 x 64, 8 heads, 256 threads, 87040 bytes; none; 16 x 16 x 64, 8 heads, 256 "
        "threads, 113920 bytes; 8 groups, 1 slices of 1024 keys, chunks of 1024");
  CHECK(planned({64, 8, 2048, 1500, 32, 32}, "softmax_hyla", kBf16, by_shape()) ==
        "large; 16 x 16 x 32, 8 heads, 256 threads, 54272 bytes; 16 x 16 x 32, 8 heads, 256 "
        "threads, 73472 bytes; 16 x 16 x 32, 8 heads, 256 threads, 72960 bytes; 2 groups, 1 slices "
        "of 1500 keys, chunks of 256");
}

TEST_CASE("Slices of keys give every multiprocessor two blocks, and workspace is what they need",
          "[not_sanitized]") {
  headway::Rng rng(5, headway::StreamPurpose::kTests);
  const auto draw = [&rng](std::uint64_t most) {
    return static_cast<Index>(1 + rng.uniform_index(most));
  };
  for (int i = 0; i < 40; ++i) {
    const AttentionShape n = {draw(9), draw(9), draw(200), draw(300), draw(40), draw(40)};
    const std::string& name =
        attention_variant_names()[static_cast<std::size_t>(i) % attention_variant_names().size()];
    const AttentionOptions options = attention_variant(name);
    GpuDevice device;
    device.multiprocessors = i % 3 == 0 ? 132 : i % 3 == 1 ? 16 : 3;
    if (i % 4 == 0) device.block_shared_bytes = 40000;  // smaller tiles, and more of them
    const bool bias = i % 2 == 0;
    INFO(name << ": B " << n.batch << " H " << n.heads << " Sq " << n.queries << " Sk " << n.keys
              << " d " << n.query_dim << " dv " << n.value_dim);
    const auto plan =
        plan_gpu_attention(n, options, GpuArithmetic::kFloat32, bias, i % 5 == 0, device);
    REQUIRE(plan.has_value());
    const AttentionPlanSizes& b = plan->backward;
    const bool of_all_heads =
        is_generated(options.value_network) || normalises_over_heads(options.normalisation);
    CHECK(b.heads == (of_all_heads ? n.heads : 1));
    CHECK(plan->forward.heads == b.heads);
    CHECK(b.groups == n.batch);  // a copy of small sums for each example
    const Index tiles = ceiling(n.keys, b.tile_keys);
    check_slices(*plan, n,
                 slices_wanted(b.groups * (n.heads / b.heads), device.multiprocessors, tiles));
    check_workspace(*plan, n, options, bias);
    std::vector<AttentionPlanSizes> passes = {plan->forward, b};
    if (normalises_over_keys(options.normalisation)) passes.push_back(plan->sums);
    for (const AttentionPlanSizes& sizes : passes) {
      CHECK(sizes.threads == 256);
      CHECK(sizes.shared_bytes > 0);
      CHECK(sizes.shared_bytes <= device.block_shared_bytes);
      check_tile(n.queries, sizes.tile_queries);
      check_tile(n.keys, sizes.tile_keys);
      check_tile(n.value_dim, sizes.tile_dims);
      if (has_mixing(options.value_network)) CHECK(sizes.tile_dims == n.value_dim);
    }
  }
}

TEST_CASE("Copies of gradients that are summed take 256 MiB at most, or there is one",
          "[not_sanitized]") {
  const auto groups = [](const AttentionShape& n) {
    return plan_gpu_attention(n, attention_variant("linear"), GpuArithmetic::kFloat32, true, false)
        ->backward.groups;
  };
  const Index side = Index{1} << 12;
  CHECK(groups({5, 1, side, side, 1, 1}) == 4);  // of 64 MiB each
  CHECK(groups({3, 1, side, side, 1, 1}) == 3);
  CHECK(groups({5, 1, side, 2 * side, 1, 1}) == 2);
  CHECK(groups({5, 1, 2 * side, 2 * side, 1, 1}) == 1);
  CHECK(groups({5, 1, 4 * side, 2 * side, 1, 1}) == 1);
  // Matrices M_h are copied for each slice of keys, too: 128 copies of 2 MiB.
  const AttentionShape n = {20, 8, 64, 512, 8, 256};
  const AttentionOptions deep = attention_variant("hyla_deep");
  const auto plan = plan_gpu_attention(n, deep, GpuArithmetic::kFloat32, true, false);
  REQUIRE(plan.has_value());
  CHECK(plan->backward.groups == 20);
  check_slices(*plan, n, 128 / 20);
  check_workspace(*plan, n, deep, true);
}

TEST_CASE("Layers whose arrays pass 2^31 numbers an example have no plan", "[not_sanitized]") {
  const auto has_plan = [](const AttentionShape& n) {
    return plan_gpu_attention(n, attention_variant("softmax"), GpuArithmetic::kFloat32, false,
                              false)
        .has_value();
  };
  const Index largest = Index{1} << 20;  // of each size
  CHECK(has_plan({1, 1, 1, largest, 2047, 1}));
  CHECK_FALSE(has_plan({1, 1, 1, largest, 2048, 1}));
  CHECK(has_plan({1, 1, (1 << 16) - 1, 1 << 15, 1, 1}));
  CHECK_FALSE(has_plan({1, 1, 1 << 16, 1 << 15, 1, 1}));
  CHECK(has_plan({largest, 2047, 1, 1, 1, 1}));
  CHECK_FALSE(has_plan({largest, 2048, 1, 1, 1, 1}));
  CHECK_THROWS_WITH(has_plan({1, 1, 0, 1, 1, 1}),
                    "attention: queries = 0: must be from 1 to 1048576");
}

TEST_CASE("A grid has at most 65,535 tiles of queries", "[not_sanitized]") {
  constexpr Index kQueries = 1 << 20;
  for (const Index heads : {8, 16, 32}) {
    CAPTURE(heads);
    const auto plan =
        plan_gpu_attention({1, heads, kQueries, 1, 63, 63}, attention_variant("hyla_linear_value"),
                           GpuArithmetic::kFloat32, false, false);
    // With 32 heads only tiles of so few queries fit a block that there would be more.
    REQUIRE(plan.has_value() == (heads < 32));
    if (plan) CHECK(ceiling(kQueries, plan->forward.tile_queries) <= 65535);
  }
}

TEST_CASE("The plan of a narrow layer: a block for each example, with all heads and keys",
          "[not_sanitized]") {
  for (const char* name : {"softmax", "hyla", "linear"}) {
    for (const Index tokens : {1, 4, 5, 33, 40}) {
      const AttentionShape n = {6, 7, tokens, tokens + 2, 3, 4};
      for (const bool bias : {false, true}) {
        INFO(name << ", " << tokens << " tokens, bias " << bias);
        const auto plan = plan_gpu_attention(n, attention_variant(name), GpuArithmetic::kFloat32,
                                             bias, false, by_shape());
        REQUIRE(plan.has_value());
        REQUIRE(plan->kernel == GpuAttentionKernel::kNarrow);
        const AttentionPlanSizes& f = plan->forward;
        const AttentionPlanSizes& b = plan->backward;
        for (const AttentionPlanSizes* sizes : {&f, &b}) {
          CHECK(sizes->heads == 7);
          CHECK(sizes->tile_keys == n.keys);
          CHECK(sizes->threads % 32 == 0);
          CHECK(sizes->shared_bytes <= GpuDevice{}.block_shared_bytes);
        }
        // Four rows of a warp: queries of the forward pass, keys of the backward pass.
        CHECK(f.tile_queries == f.threads / 8);
        CHECK(ceiling(n.queries, f.tile_queries) * f.tile_queries - n.queries <
              4 * ceiling(n.queries, f.tile_queries));
        CHECK(b.tile_queries == n.queries);
        CHECK(b.threads <= 288);
        CHECK(b.threads == std::min<Index>(32 * ceiling(n.keys, 4), 288));
        CHECK(b.groups == 6);
        CHECK(b.key_slices == 1);
        CHECK(plan->bias_sums == (bias ? 6 * 7 * n.queries * n.keys : 0));
        CHECK(plan->query_sums + plan->mixing_sums + plan->over_keys == 0);
      }
    }
  }
}

TEST_CASE("The plan of a large layer counts copies of the bias, and sums of softmax alone",
          "[not_sanitized]") {
  const AttentionShape n = {5, 8, 40, 70, 32, 64};
  for (const char* name : {"hyla", "softmax_hyla"}) {
    for (const bool bias : {false, true}) {
      const auto plan = plan_gpu_attention(n, attention_variant(name), GpuArithmetic::kBf16, bias,
                                           false, by_shape());
      REQUIRE(plan.has_value());
      REQUIRE(plan->kernel == GpuAttentionKernel::kLarge);
      const bool softmax = std::string(name) == "softmax_hyla";
      CHECK(plan->bias_sums == (bias ? 5 * 8 * 40 * 70 : 0));
      CHECK(plan->backward.groups == 5);
      CHECK(plan->backward.key_slices == 1);
      CHECK(plan->backward.slice_keys == 70);
      CHECK(plan->backward.chunk_queries == 40);
      CHECK((plan->sums.threads > 0) == softmax);
      // Two bytes for each head of a pair, in tiles of 16 x 16.
      CHECK(plan->over_keys == (softmax ? 5 * 8 * 40 : 0) + 5 * 48 * 80 * 8 / 2);
      CHECK(plan->query_sums + plan->mixing_sums == 0);
    }
  }
}
