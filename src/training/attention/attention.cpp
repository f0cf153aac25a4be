#include "headway/training/attention.hpp"

#include <fmt/format.h>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "training/kernels/cpu/attention_kernels.hpp"

namespace headway::training {
namespace {

using detail::AttentionPlan;

AttentionPlan best_plan(const AttentionShape& shape, const AttentionOptions& options, int threads) {
  const detail::AttentionKernels& kernels = detail::best_attention_kernels();
  return {&kernels, detail::choose_lane_axis(shape, options, kernels.lanes),
          resolve_threads(threads)};
}

void require(const void* pointer, const char* field) {
  if (pointer == nullptr) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("attention: {} is null: this variant needs it", field));
  }
}

// Throws unless the pointer is set if and only if `needed`. A pointer that would be ignored is a
// mistake of the caller.
void require_exactly(bool needed, const void* pointer, const char* field) {
  if (needed) return require(pointer, field);
  if (pointer != nullptr) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("attention: {} is given: this variant has none, it must be null", field));
  }
}

void validate_inputs(const AttentionShape& shape, const AttentionOptions& options,
                     const AttentionInputs<float>& inputs) {
  shape.validate();
  require(inputs.query, "query");
  require(inputs.key, "key");
  require(inputs.value, "value");
  require_exactly(has_mixing(options.value_network), inputs.mixing, "mixing");
}

}  // namespace

void attention_forward(const AttentionShape& shape, const AttentionOptions& options,
                       const AttentionInputs<float>& inputs, const AttentionOutputs<float>& outputs,
                       int threads) {
  validate_inputs(shape, options, inputs);
  require(outputs.output, "output");
  require_exactly(normalises_over_keys(options.normalisation), outputs.log_sum_exp, "log_sum_exp");
  detail::forward_with(best_plan(shape, options, threads), shape, options, inputs, outputs);
}

void attention_backward(const AttentionShape& shape, const AttentionOptions& options,
                        const AttentionInputs<float>& inputs,
                        const AttentionPassedBack<float>& passed,
                        const AttentionGradients<float>& gradients, int threads) {
  const AttentionOutputs<const float>& outputs = passed.outputs;
  validate_inputs(shape, options, inputs);
  const bool softmax = normalises_over_keys(options.normalisation);
  require_exactly(softmax, outputs.log_sum_exp, "log_sum_exp");
  if (softmax && !is_generated(options.value_network)) require(outputs.output, "output");
  require(passed.d_output, "d_output");
  require(gradients.query, "gradients.query");
  require(gradients.key, "gradients.key");
  require(gradients.value, "gradients.value");
  require_exactly(has_mixing(options.value_network), gradients.mixing, "gradients.mixing");
  if (inputs.bias == nullptr) require_exactly(false, gradients.bias, "gradients.bias");
  detail::backward_with(best_plan(shape, options, threads), shape, options, inputs, passed,
                        gradients);
}

std::size_t attention_workspace_bytes(const AttentionShape& shape, const AttentionOptions& options,
                                      bool with_bias, bool with_dropout, int threads) {
  shape.validate();
  return detail::workspace_bytes(best_plan(shape, options, threads), shape, options, with_bias,
                                 with_dropout);
}

const char* attention_instruction_set() { return detail::best_attention_kernels().name; }

}  // namespace headway::training
