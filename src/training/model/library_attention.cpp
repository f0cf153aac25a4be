#include "training/model/library_attention.hpp"

#include <algorithm>

namespace headway::training::detail {
namespace {

// Shorter layers are left to the kernels for narrow layers, or are bound by launches. A guess:
// where LibTorch's attention begins to be faster was not measured.
constexpr Index kFewestTokens = 128;
// LibTorch's kernels read eight numbers of bf16 at once. Its fast ones take rows of at most 128.
constexpr Index kAligned = 8;
constexpr Index kMostDims = 128;

bool can_be_had(const GpuAttentionLayer& layer, const AttentionExtras& extras) {
  const AttentionOptions& o = layer.options;
  return o.normalisation == Normalisation::kSoftmax && o.value_network == ValueNetwork::kPlain &&
         o.nonlinearity == Nonlinearity::kIdentity && !extras.bias && !extras.mask &&
         !extras.dropout && (!o.causal || layer.shape.queries == layer.shape.keys);
}

bool is_large(const AttentionShape& n) {
  return std::min(n.queries, n.keys) >= kFewestTokens && n.query_dim % kAligned == 0 &&
         n.value_dim % kAligned == 0 && std::max(n.query_dim, n.value_dim) <= kMostDims;
}

}  // namespace

bool library_attention_takes(LibraryAttentionUse use, const GpuAttentionLayer& layer,
                             const AttentionExtras& extras, const GpuDevice& device) {
  if (use == LibraryAttentionUse::kNever || !can_be_had(layer, extras)) return false;
  if (use == LibraryAttentionUse::kWhereItCan) return true;
  return device.kernels_by_shape && layer.arithmetic == GpuArithmetic::kBf16 &&
         is_large(layer.shape);
}

}  // namespace headway::training::detail
