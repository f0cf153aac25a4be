// LibTorch's own fused attention (scaled_dot_product_attention) for layers of plain softmax
// (model/library_attention.hpp), among LibTorch's operations and in a hand-written step.
//
// On a GPU it is the memory-efficient kernel, by its own name, never what LibTorch would choose:
// only that kernel has, in its arguments, all that Headway promises. One block adds up a query's
// gradient over all keys, so bits are the same every time. Nothing depends on how many examples
// there are, so a run has the same bits in any stack. The flash kernel cuts keys by the size of the
// batch, and is the same twice only under a setting of the whole process. On the CPU it is whatever
// LibTorch has, for tests.
#pragma once

#include <memory>

#include "training/model/library_attention.hpp"
#include "training/model/transformer_engine.hpp"
#include "training/step/step_device.hpp"
#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// Whether this LibTorch has such attention for a device: on a GPU from version 2.6 on.
bool has_library_attention(at::DeviceType device);

/// What the forward pass leaves to the backward pass.
struct LibraryAttended {
  at::Tensor output;       ///< [B, Sq, H, dv]
  at::Tensor log_sum_exp;  ///< [B, H, Sq], float; on the CPU undefined
};
struct LibraryGradients {
  at::Tensor query, key, value;
};

/// Eqs. 1, 2 and 5 without a bias. query [B, Sq, H, d], key [B, S, H, d], value [B, S, H, dv], of
/// one type; rows of a token may be parts of longer ones. No gradient is recorded.
LibraryAttended library_attention(const at::Tensor& query, const at::Tensor& key,
                                  const at::Tensor& value, bool causal);
/// The gradients by query, key and value, given that of the output. On the CPU the forward pass is
/// computed again.
LibraryGradients library_attention_gradient(const at::Tensor& d_output, const at::Tensor& query,
                                            const at::Tensor& key, const at::Tensor& value,
                                            const LibraryAttended& attended, bool causal);

/// The same as one function with gradients: o [B, Sq, H, dv].
at::Tensor library_attention_function(const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, bool causal);

/// `device`, but for the attention that library_attention_takes(): LibTorch computes it on the
/// device's arrays. `device` itself where it takes none. `setup` outlives what returns.
std::unique_ptr<StepDevice> with_library_attention(const EngineSetup& setup,
                                                   std::unique_ptr<StepDevice> device);

}  // namespace headway::training::detail
