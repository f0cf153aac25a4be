// The model of how long attention takes on a GPU: launches, flops and bytes are those counted by
// hand, and what comes of them is kept. A change of the model changes the last table.
#include "training/kernels/cuda/attention_time.hpp"

#include <fmt/format.h>

#include <string>

#include "catch.hpp"

using namespace headway::training;  // NOLINT: a test
using Catch::Matchers::WithinRel;
using headway::Index;

namespace {

GpuDevice by_shape() {
  GpuDevice device;
  device.kernels_by_shape = true;
  return device;
}

GpuAttentionLayer layer_of(const AttentionShape& shape, const char* variant,
                           GpuArithmetic arithmetic = GpuArithmetic::kFloat32,
                           bool causal = false) {
  GpuAttentionLayer layer = {shape, attention_variant(variant), arithmetic};
  layer.options.causal = causal;
  return layer;
}

GpuAttentionPlan plan_of(const GpuAttentionLayer& layer, const GpuDevice& device, bool bias) {
  return *plan_gpu_attention(layer.shape, layer.options, layer.arithmetic, bias, false, device);
}

struct Times {
  GpuAttentionTime forward, backward;
};
Times times_of(const GpuAttentionLayer& layer, const GpuDevice& device, bool bias) {
  const GpuAttentionPlan plan = plan_of(layer, device, bias);
  return {gpu_attention_time(layer, plan, GpuAttentionPass::kForward, device),
          gpu_attention_time(layer, plan, GpuAttentionPass::kBackward, device)};
}

/// A general plan of so many tiles of 8 x 16 pairs, with a block for each head of an example or for
/// all heads of it.
GpuAttentionPlan tiles_of_8_by_16(Index heads, Index dims) {
  GpuAttentionPlan plan;
  plan.forward.threads = 256;
  plan.forward.heads = static_cast<int>(heads);
  plan.forward.tile_queries = 8;
  plan.forward.tile_keys = 16;
  plan.forward.tile_dims = static_cast<int>(dims);
  plan.forward.shared_bytes = 100000;  // two blocks fit beside each other
  plan.backward = plan.forward;
  plan.backward.groups = 5;
  plan.backward.key_slices = 2;
  plan.backward.slice_keys = 16;
  plan.backward.shared_bytes = 200000;  // one
  return plan;
}

/// Numbers of a time as a table has them.
std::string row_of(const GpuAttentionTime& t) {
  return fmt::format("{} {:.6g} {:.6g} {:.6g} {:g} {:.6g}", t.launches, t.flops, t.shared_bytes,
                     t.global_bytes, t.warps, t.ms);
}
std::string rows_of(const GpuAttentionLayer& layer, const GpuDevice& device, bool bias) {
  const Times t = times_of(layer, device, bias);
  return row_of(t.forward) + "; " + row_of(t.backward);
}

}  // namespace

TEST_CASE("The time of general attention counts the products of each tile", "[not_sanitized]") {
  // Five examples of 3 heads, 2 tiles of queries and 2 of keys. Of a pair and head: d = 4, dv = 6.
  const AttentionShape n = {5, 3, 16, 32, 4, 6};
  const double pairs = 5.0 * 3 * 16 * 32;
  const auto flops = [&](const char* variant, Index heads, Index dims, GpuAttentionPass pass) {
    const GpuAttentionTime t =
        gpu_attention_time(layer_of(n, variant), tiles_of_8_by_16(heads, dims), pass, {});
    return t.flops / (2.0 * pairs);
  };
  const auto forward = GpuAttentionPass::kForward;
  const auto backward = GpuAttentionPass::kBackward;
  // Scores, of softmax twice; outputs.
  CHECK_THAT(flops("linear", 1, 6, forward), WithinRel(4.0 + 6, 1e-12));
  CHECK_THAT(flops("softmax", 1, 6, forward), WithinRel(2 * 4.0 + 6, 1e-12));
  // Scores again, gradients of queries and keys, of weights and values.
  CHECK_THAT(flops("linear", 1, 6, backward), WithinRel(3 * 4.0 + 2 * 6, 1e-12));
  CHECK_THAT(flops("softmax", 1, 6, backward), WithinRel(3 * 4.0 + 2 * 6, 1e-12));
  // Generated networks: u and outputs; on the way back five products.
  for (const Index dims : {6, 3, 2, 1}) {
    CHECK_THAT(flops("hyla", 3, dims, forward), WithinRel(4.0 + 2 * 6, 1e-12));
    CHECK_THAT(flops("hyla", 3, dims, backward), WithinRel(3 * 4.0 + 5 * 6, 1e-12));
  }
  CHECK_THAT(flops("softmax_hyla", 3, 6, forward), WithinRel(2 * 4.0 + 2 * 6, 1e-12));
  CHECK_THAT(flops("hyla_deep", 3, 6, forward), WithinRel(4.0 + 2 * 6 + 6 * 6, 1e-12));
  CHECK_THAT(flops("hyla_deep", 3, 6, backward), WithinRel(3 * 4.0 + 5 * 6 + 3 * 6 * 6, 1e-12));
}

TEST_CASE("The time of general attention counts launches, warps and bytes", "[not_sanitized]") {
  const AttentionShape n = {5, 3, 16, 32, 4, 6};
  GpuAttentionPlan plan = tiles_of_8_by_16(3, 6);
  const auto time = [&](GpuAttentionPass pass, GpuArithmetic arithmetic, bool causal) {
    return gpu_attention_time(layer_of(n, "hyla", arithmetic, causal), plan, pass, {});
  };
  const auto forward = time(GpuAttentionPass::kForward, GpuArithmetic::kFloat32, false);
  CHECK(forward.launches == 1);
  CHECK(forward.warps == 2 * 8.0);
  // For each of 5 x 2 x 2 tiles the 16 keys and values of all heads.
  CHECK_THAT(forward.global_bytes, WithinRel(20.0 * 16 * 3 * (4 + 6) * 4, 1e-12));
  const auto half = time(GpuAttentionPass::kForward, GpuArithmetic::kBf16, false);
  CHECK_THAT(half.global_bytes, WithinRel(0.5 * forward.global_bytes, 1e-12));
  CHECK(half.flops == forward.flops);

  auto backward = time(GpuAttentionPass::kBackward, GpuArithmetic::kFloat32, false);
  CHECK(backward.launches == 2);  // and the sum of the gradients of queries
  CHECK(backward.warps == 8.0);
  const double rows = 20.0 * (16 + 2 * 8) * 3 * (4 + 6) * 4;  // twice those of 8 queries
  CHECK_THAT(backward.global_bytes, WithinRel(rows, 1e-12));
  for (Index* sums : {&plan.bias_sums, &plan.mixing_sums, &plan.over_keys}) {
    *sums = 1000;
    backward = time(GpuAttentionPass::kBackward, GpuArithmetic::kFloat32, false);
    CHECK(backward.launches == 3);
    CHECK_THAT(backward.global_bytes,
               WithinRel(rows + (sums == &plan.over_keys ? 0.0 : 2.0 * 4 * 1000), 1e-12));
    *sums = 0;
  }
  plan.query_sums = 700;
  backward = time(GpuAttentionPass::kBackward, GpuArithmetic::kFloat32, false);
  CHECK(backward.launches == 2);
  CHECK_THAT(backward.global_bytes, WithinRel(rows + 2.0 * 4 * 700, 1e-12));
  plan.bias_sums = plan.mixing_sums = plan.over_keys = 1;
  CHECK(time(GpuAttentionPass::kBackward, GpuArithmetic::kFloat32, false).launches == 5);
}

TEST_CASE("A causal mask leaves out the tiles that it hides, and half a tile in each row stays",
          "[not_sanitized]") {
  const auto flops = [](const AttentionShape& n, bool causal) {
    return gpu_attention_time(layer_of(n, "hyla", GpuArithmetic::kFloat32, causal),
                              tiles_of_8_by_16(3, 6), GpuAttentionPass::kForward, {})
        .flops;
  };
  // 64 x 65 / 2 of 64 x 64 pairs; 8 tiles of queries and 4 of keys.
  const AttentionShape square = {5, 3, 64, 64, 4, 6};
  CHECK_THAT(flops(square, true), WithinRel(flops(square, false) * (65.0 / 128 + 0.5 / 8), 1e-12));
  // Keys before all queries: nearly all pairs, and no more than there are.
  const AttentionShape tail = {5, 3, 16, 32, 4, 6};
  CHECK(flops(tail, true) == flops(tail, false));
}

TEST_CASE("A multiprocessor has as many blocks as its memory and registers hold",
          "[not_sanitized]") {
  const AttentionShape n = {5, 3, 16, 32, 4, 6};
  GpuAttentionPlan plan = tiles_of_8_by_16(3, 6);
  const auto warps = [&](int bytes, int threads) {
    plan.forward.shared_bytes = bytes;
    plan.forward.threads = threads;
    return gpu_attention_time(layer_of(n, "hyla"), plan, GpuAttentionPass::kForward, {}).warps;
  };
  // 233,472 bytes, of which a block takes 1024 beside its own; 65,536 registers, 128 a thread.
  CHECK(warps(233472 / 3 - 1024, 32) == 3.0);
  CHECK(warps(233472 / 3 - 1023, 32) == 2.0);
  CHECK(warps(1000, 256) == 2 * 8.0);
  CHECK(warps(1000, 32) == 16.0);
  CHECK(warps(1000, 512) == 16.0);
  CHECK(warps(1000, 1024) == 32.0);  // one in any case
  CHECK(warps(300000, 32) == 1.0);
}

TEST_CASE("The time of narrow attention counts padded heads and dims", "[not_sanitized]") {
  // 7 heads of 3 dims are 8 of 4, and all rows are of 32 numbers.
  const AttentionShape n = {6, 7, 9, 12, 3, 3};
  const double pairs = 6.0 * 9 * 12;
  struct Rows {
    const char* variant;
    double forward, backward;
  };
  for (const Rows& rows : {Rows{"softmax", 3, 5}, {"linear", 2, 5}, {"hyla", 3, 8}}) {
    for (const bool bias : {false, true}) {
      for (const auto arithmetic : {GpuArithmetic::kFloat32, GpuArithmetic::kBf16}) {
        INFO(rows.variant << ", bias " << bias);
        const GpuAttentionLayer layer = layer_of(n, rows.variant, arithmetic);
        const GpuAttentionPlan plan = plan_of(layer, by_shape(), bias);
        REQUIRE(plan.kernel == GpuAttentionKernel::kNarrow);
        const Times t = times_of(layer, by_shape(), bias);
        const double number = arithmetic == GpuArithmetic::kBf16 ? 2 : 4;
        CHECK(t.forward.launches == 1);
        CHECK(t.backward.launches == (bias ? 2 : 1));
        CHECK_THAT(t.forward.flops, WithinRel(2 * pairs * rows.forward * 32, 1e-12));
        CHECK_THAT(t.backward.flops, WithinRel(2 * pairs * rows.backward * 32, 1e-12));
        // Rows of keys, values, and of queries and outputs; on the way back their gradients, too.
        const double tokens = 6.0 * (12 + 9);
        CHECK_THAT(t.forward.global_bytes, WithinRel(number * 2 * tokens * 32, 1e-12));
        const double copies = bias ? 6.0 * 7 * 9 * 12 : 0;
        CHECK_THAT(t.backward.global_bytes,
                   WithinRel(number * 4 * tokens * 32 + 8 * copies, 1e-12));
        const double there_and_back = 2.0 * 6 * 32 * (9 + 12);
        CHECK_THAT(t.forward.shared_bytes, WithinRel(4 * (pairs * 3 * 32 + there_and_back), 1e-12));
        CHECK_THAT(t.backward.shared_bytes,
                   WithinRel(4 * (pairs * 5 * 32 + there_and_back), 1e-12));
      }
    }
  }
}

TEST_CASE("The time of large attention counts whole tiles, and launches of chunks",
          "[not_sanitized]") {
  const AttentionShape n = {2, 8, 40, 70, 32, 64};
  const double pairs = 2.0 * 48 * 80;
  const auto counted = [&](const char* variant, double forward, double backward, int launches) {
    for (const bool bias : {false, true}) {
      INFO(variant << ", bias " << bias);
      const GpuAttentionLayer layer = layer_of(n, variant, GpuArithmetic::kBf16);
      REQUIRE(plan_of(layer, by_shape(), bias).kernel == GpuAttentionKernel::kLarge);
      const Times t = times_of(layer, by_shape(), bias);
      CHECK(t.forward.launches == 1);
      CHECK(t.backward.launches == launches + (bias ? 1 : 0));
      CHECK_THAT(t.forward.flops, WithinRel(2 * pairs * 8 * forward, 1e-12));
      CHECK_THAT(t.backward.flops, WithinRel(2 * pairs * 8 * backward, 1e-12));
    }
  };
  // Scores and both layers; again with all gradients, where softmax has one more sweep.
  counted("hyla", 32 + 2 * 64, (32 + 4 * 64) + (32 + 64) + 32, 2);
  counted("softmax_hyla", 2 * 32 + 2 * 64, 2 * (32 + 4 * 64) + (32 + 64) + 32, 3);

  GpuAttentionPlan plan = plan_of(layer_of(n, "hyla", GpuArithmetic::kBf16), by_shape(), false);
  const auto in_chunks = [&](int queries) {
    plan.backward.chunk_queries = queries;
    return gpu_attention_time(layer_of(n, "hyla", GpuArithmetic::kBf16), plan,
                              GpuAttentionPass::kBackward, by_shape());
  };
  CHECK(in_chunks(20).launches == 4);
  CHECK(in_chunks(16).launches == 6);
  CHECK_THAT(in_chunks(16).ms - in_chunks(40).ms, WithinRel(4 * 1.5e-3, 1e-6));
}

TEST_CASE("What the model of the time says of some layers", "[not_sanitized]") {
  // Launches, flops, bytes of shared and of global memory, warps, milliseconds; forward, backward.
  const AttentionShape sraven = {128, 16, 36, 36, 4, 4};
  const AttentionShape text = {8, 8, 1024, 1024, 64, 64};
  const auto tf32 = GpuArithmetic::kTf32;
  const auto bf16 = GpuArithmetic::kBf16;
  CHECK(rows_of(layer_of(sraven, "hyla"), {}, true) ==
        "1 6.3701e+07 1.0027e+08 4.71859e+06 16 0.0117655; 3 1.69869e+08 2.89407e+08 4.0108e+07 16 "
        "0.0400556");
  CHECK(rows_of(layer_of(sraven, "softmax", tf32, true), {}, false) ==
        "1 6.3701e+07 1.86647e+08 2.3593e+06 16 0.0441667; 3 1.06168e+08 2.83116e+08 9.43718e+06 "
        "16 0.0820293");
  CHECK(rows_of(layer_of(sraven, "hyla_deep", bf16), {}, true) ==
        "1 1.48636e+08 6.45661e+08 2.3593e+06 16 0.0605405; 4 4.24673e+08 2.00593e+09 3.35544e+07 "
        "16 0.190488");
  CHECK(rows_of(layer_of(text, "softmax_hyla", bf16), {}, false) ==
        "1 3.43597e+10 2.30854e+10 1.07374e+09 16 2.6038; 3 6.92563e+10 4.83352e+10 3.42255e+09 8 "
        "4.82952");
  CHECK(rows_of(layer_of(sraven, "hyla"), by_shape(), true) ==
        "1 6.3701e+07 1.41558e+08 9.43718e+06 12 0.0101738; 2 1.69869e+08 2.17055e+08 3.06708e+07 "
        "9 0.0137251");
  CHECK(rows_of(layer_of({512, 8, 32, 30, 2, 2}, "softmax", bf16), by_shape(), false) ==
        "1 9.43718e+07 2.04997e+08 6.02931e+06 12 0.0279137; 1 1.57286e+08 3.22699e+08 8.12646e+06 "
        "8 0.0322236");
  CHECK(rows_of(layer_of(text, "hyla", bf16), by_shape(), true) ==
        "1 2.57698e+10 5.36871e+09 1.07374e+09 16 0.196726; 3 6.87195e+10 1.22809e+10 2.55014e+09 "
        "16 0.473766");
  CHECK(rows_of(layer_of(text, "softmax_hyla", bf16, true), by_shape(), false) ==
        "1 1.74651e+10 2.72892e+09 5.45784e+08 16 0.100733; 3 5.67615e+10 1.14444e+10 1.97847e+09 "
        "16 0.418461");
  CHECK(rows_of(layer_of({1, 8, 40, 3000, 16, 32}, "hyla", bf16), by_shape(), false) ==
        "1 1.84812e+08 5.08232e+07 6.93043e+06 16 0.130047; 2 4.8051e+08 1.23593e+08 1.73261e+07 "
        "16 0.302729");
}
