#pragma once

#include "training/kernels/cuda/step_elements.hpp"

// The kernels of a mixture of experts in a training step (training/step/step_operations.hpp).
namespace headway::training::HEADWAY_GPU {

/// A thread has a row.
struct GatesKernel {
  std::int64_t rows;
  int experts, active;
  ArrayOfRuns<const float> logits;
  ArrayOfRuns<float> gates, chosen, likely;
  ArrayOfRuns<Bf16> rounded;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows, [&](std::int64_t row) {
      const std::int64_t at = row * experts;
      float most = -INFINITY;
      for (int e = 0; e < experts; ++e) {
        const float x = get(logits, at + e);
        if (!(x <= most)) most = x;
      }
      float of_chosen = 0.0F;
      float of_all = 0.0F;
      for (int e = 0; e < experts; ++e) {
        const float x = expf(get(logits, at + e) - most);
        const bool taken = is_taken(at, e);
        put(gates, at + e, taken ? x : 0.0F);
        of_chosen += taken ? x : 0.0F;
        of_all += x;
        if (chosen == nullptr) continue;
        put(chosen, at + e, taken ? 1.0F : 0.0F);
        put(likely, at + e, x);
      }
      for (int e = 0; e < experts; ++e) {
        const float gate = get(gates, at + e) / of_chosen;
        put(gates, at + e, gate);
        if (!(rounded == nullptr)) put(rounded, at + e, gate);
        if (!(chosen == nullptr)) put(likely, at + e, get(likely, at + e) / of_all);
      }
    });
  }

  // Whether fewer than `active` experts come before this one: those of larger logits, and of equal
  // ones the first.
  HEADWAY_DEVICE bool is_taken(std::int64_t at, int expert) const {
    const float mine = get(logits, at + expert);
    int before = 0;
    for (int e = 0; e < experts; ++e) {
      const float x = get(logits, at + e);
      before += x > mine || (x == mine && e < expert) ? 1 : 0;
    }
    return before < active;
  }
};

/// Block x is an expert.
struct ExpertSharesKernel {
  std::int64_t rows;
  int experts, active;
  ArrayOfRuns<const float> chosen;
  ArrayOfRuns<float> shares;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const Shared<float> partial = memory.template take<float>("partial", kStepThreads);
    block.threads([&](int thread) {
      float sum = 0.0F;
      for (std::int64_t row = thread; row < rows; row += kStepThreads) {
        sum += get(chosen, row * experts + block.x_of_run());
      }
      put(partial, thread, sum);
    });
    block.threads([&](int thread) {
      if (thread != 0) return;
      float sum = 0.0F;
      for (int i = 0; i < kStepThreads; ++i) sum += get(partial, i);
      put(shares, block.x_of_run(), sum / static_cast<float>(rows * active));
    });
  }
};

struct ScaledExpertsKernel {
  std::int64_t gate_count;  ///< rows * experts
  int hidden;
  ArrayOfRuns<const float> gates;
  Numbers<const float> active;
  Numbers<float> scaled;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, gate_count * hidden,
                [&](std::int64_t i) { put(scaled, i, get(gates, i / hidden) * get(active, i)); });
  }
};

/// A team of threads has an expert of a row.
struct ScaledExpertsGradientKernel {
  std::int64_t gate_count;
  int hidden;
  ArrayOfRuns<const float> gates;
  Numbers<const float> before;
  Numbers<float> d_hidden;
  ArrayOfRuns<float> d_gates;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory& memory) const {
    const TeamSums sums(memory, "gradients of gates");
    const std::int64_t first = static_cast<std::int64_t>(block.x_of_run()) * kTeams;
    for_rows(block, first, gate_count, [&](int thread, int, int lane, std::int64_t gate) {
      const float factor = get(gates, gate);
      float sum = 0.0F;
      for (int c = lane; c < hidden; c += kTeam) {
        const std::int64_t at = gate * hidden + c;
        const ValueAndSlope active = apply(Nonlinearity::kGelu, get(before, at));
        const float d = get(d_hidden, at);
        sum = fused(d, active.value, sum);
        put(d_hidden, at, d * factor * active.slope);
      }
      put(sums.partial, thread, sum);
    });
    for_rows(block, first, gate_count, [&](int thread, int, int lane, std::int64_t gate) {
      if (lane == 0) put(d_gates, gate, get(d_gates, gate) + sums.sum(thread));
    });
  }
};

/// A thread has a row.
struct GatesGradientKernel {
  std::int64_t rows;
  int experts;
  float balance;  ///< of the loss, times experts / rows
  ArrayOfRuns<const float> gates, d_gates, likely, shares;
  Numbers<float> d_logits;

  template <typename Memory>
  HEADWAY_DEVICE void operator()(Block& block, Memory&) const {
    for_numbers(block, rows, [&](std::int64_t row) {
      const std::int64_t at = row * experts;
      float along = 0.0F;
      float busy = 0.0F;
      for (int e = 0; e < experts; ++e) {
        along = fused(get(gates, at + e), get(d_gates, at + e), along);
        if (!(likely == nullptr)) busy = fused(get(likely, at + e), get(shares, e), busy);
      }
      for (int e = 0; e < experts; ++e) {
        float d = get(gates, at + e) * (get(d_gates, at + e) - along);
        if (!(likely == nullptr)) {
          d += balance * get(likely, at + e) * (get(shares, e) - busy);
        }
        put(d_logits, at + e, d);
      }
    });
  }
};

}  // namespace headway::training::HEADWAY_GPU
