#pragma once

#include "headway/training/attention_variant.hpp"
#include "training/kernels/cuda/attention_plan.hpp"
#include "training/kernels/cuda/device.hpp"

namespace headway::training::HEADWAY_GPU {

/// The factor of a pair's weights, of all examples and heads: read from an array, or drawn where it
/// is needed, the same bits that Rng's uniform() gives for element (query, key) of a row-major
/// matrix (headway/core/rng.hpp).
struct PairDropout {
  ArrayOfRuns<const float> given;     ///< [Sq, Sk], or null
  Global<const std::uint64_t> index;  ///< the stream's index, one number on the device; null: none
  std::uint32_t seed[2];              ///< low and high half
  std::uint32_t purpose;              ///< of the stream: StreamPurpose::kDropout
  std::uint64_t first_kept;           ///< of the 52 bits of a uniform number
  float kept;                         ///< 1 / (1 - rate)
  int columns;                        ///< of the matrix that is drawn
  int first_row, first_column;        ///< its element that belongs to query 0 and key 0
};

/// What the kernels read and write: headway/training/attention.hpp says what each is. T is float or
/// Bf16. Partial sums are float, of as many copies as the plan says. A stack of runs is one layer
/// of the examples of all: block x counts them, and only what a run has once for all of its
/// examples is an ArrayOfRuns.
template <typename T>
struct AttentionArguments {
  AttentionPlanSizes plan;
  AttentionOptions options;
  int batch, heads, queries, keys, query_dim, value_dim;
  Global<const T> query, key, value;
  TokenSteps query_steps, key_steps, value_steps;  ///< of these, and of their gradients
  ArrayOfRuns<const float> bias;
  Global<const std::uint8_t> key_mask;
  ArrayOfRuns<const float> mixing;
  PairDropout dropout;
  Global<T> output;
  Global<float> log_sum_exp;
};

template <typename T>
struct GradientArguments {
  Global<const T> output;           ///< softmax of a plain network only
  Global<const float> log_sum_exp;  ///< softmax only
  Global<const T> d_output;
  /// [B, H, Sq]: sum_k b d_b; softmax only. Behind it the workspace of large kernels.
  Global<float> over_keys;
  Global<const float> known_over_keys;  ///< the same, once it is known
  Global<float> query_sums;             ///< [key slices, B, Sq, H, d]
  TokenSteps query_sum_steps;
  /// At query_steps, or null. Kernels made for a shape then have no query_sums; general ones store
  /// it here if there is one key slice.
  Global<T> query;
  Global<T> key, value;
  Global<float> bias_sums;    ///< [groups, H, Sq, Sk], or null
  Global<float> mixing_sums;  ///< [groups, key slices, H, dv, dv]
};

/// Ten rounds of Philox4x32 (Salmon et al. 2011); word[0 .. 3].
HEADWAY_DEVICE void philox(std::uint32_t* word, std::uint32_t key0, std::uint32_t key1) {
  HEADWAY_UNROLL
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = static_cast<std::uint64_t>(0xD2511F53U) * word[0];
    const std::uint64_t p1 = static_cast<std::uint64_t>(0xCD9E8D57U) * word[2];
    word[0] = static_cast<std::uint32_t>(p1 >> 32U) ^ word[1] ^ key0;
    word[1] = static_cast<std::uint32_t>(p1);
    word[2] = static_cast<std::uint32_t>(p0 >> 32U) ^ word[3] ^ key1;
    word[3] = static_cast<std::uint32_t>(p0);
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
}

/// The factor of pair (query, key); `keys` is Sk.
HEADWAY_DEVICE float dropout_of(const PairDropout& x, int query, int key, int keys) {
  if (!(x.given == nullptr)) return get(x.given, static_cast<std::int64_t>(query) * keys + key);
  if (x.index == nullptr) return 1.0F;
  const std::uint64_t index = get_bits(x.index, 0);
  const std::uint64_t element =
      static_cast<std::uint64_t>(x.first_row + query) * static_cast<std::uint64_t>(x.columns) +
      static_cast<std::uint64_t>(x.first_column + key);
  const std::uint64_t number = element / 2;  // of the block: it has two uniform numbers
  std::uint32_t word[4] = {static_cast<std::uint32_t>(number),
                           static_cast<std::uint32_t>(number >> 32U),
                           static_cast<std::uint32_t>(index),
                           x.purpose << 20U | static_cast<std::uint32_t>(index >> 32U)};
  philox(word, x.seed[0], x.seed[1]);
  const bool odd = element % 2 != 0;
  const std::uint64_t low = odd ? word[2] : word[0];
  const std::uint64_t high = odd ? word[3] : word[1];
  return (low | high << 32U) >> 12U < x.first_kept ? 0.0F : x.kept;
}

struct ValueAndSlope {
  float value, slope;
};

/// phi(x) and phi'(x). A NaN stays one.
HEADWAY_DEVICE ValueAndSlope apply(Nonlinearity phi, float x) {
  switch (phi) {
    case Nonlinearity::kIdentity:
      break;
    case Nonlinearity::kRelu:
      return {x < 0.0F ? 0.0F : x, x > 0.0F ? 1.0F : 0.0F};
    case Nonlinearity::kGelu: {  // the tanh form: (1 + tanh u) / 2 = 1 / (1 + e^{-2 u})
      const float square = x * x;
      const float share = 1.0F / (1.0F + expf(-1.595769122F * x * (square * 0.044715F + 1.0F)));
      const float inner = 1.595769122F * (square * 0.134145F + 1.0F);
      return {x * share, share + x * (share * (1.0F - share)) * inner};
    }
    case Nonlinearity::kSilu: {
      const float sigmoid = 1.0F / (1.0F + expf(-x));
      return {x * sigmoid, sigmoid * (1.0F + x * (1.0F - sigmoid))};
    }
    case Nonlinearity::kTanh: {
      const float t = tanhf(x);
      return {t, 1.0F - t * t};
    }
    case Nonlinearity::kSquaredRelu: {
      const float positive = x < 0.0F ? 0.0F : x;
      return {positive * positive, 2.0F * positive};
    }
  }
  return {x, 1.0F};
}

/// phi of a layer as a type. A kernel that is compiled for one phi has no code of the others
/// between its own: with all six of them behind each number, large layers waited for instructions.
template <Nonlinearity phi>
struct Phi {
  static HEADWAY_DEVICE ValueAndSlope of(float x) { return apply(phi, x); }
  /// phi of two numbers in bf16, the first in the lower half.
  static HEADWAY_DEVICE std::uint32_t pair(float low, float high) {
    if constexpr (phi == Nonlinearity::kRelu) return positive_pair(low, high);
    return bf16_pair(of(low).value, of(high).value);
  }
  /// phi' of two numbers times two numbers in bf16.
  static HEADWAY_DEVICE std::uint32_t slopes_times(float low, float high, std::uint32_t pair) {
    if constexpr (phi == Nonlinearity::kIdentity) return pair;
    if constexpr (phi == Nonlinearity::kRelu) {
      return (low > 0.0F ? pair & 0xFFFFU : 0U) | (high > 0.0F ? pair & 0xFFFF0000U : 0U);
    }
    return bf16_pair(of(low).slope * float_of(pair << 16U),
                     of(high).slope * float_of(pair & 0xFFFF0000U));
  }
};

/// work.template operator()<Phi<phi>>() with the layer's phi.
template <typename Work>
void with_phi(Nonlinearity phi, const Work& work) {
  switch (phi) {
    case Nonlinearity::kIdentity:
      return work.template operator()<Phi<Nonlinearity::kIdentity>>();
    case Nonlinearity::kRelu:
      return work.template operator()<Phi<Nonlinearity::kRelu>>();
    case Nonlinearity::kGelu:
      return work.template operator()<Phi<Nonlinearity::kGelu>>();
    case Nonlinearity::kSilu:
      return work.template operator()<Phi<Nonlinearity::kSilu>>();
    case Nonlinearity::kTanh:
      return work.template operator()<Phi<Nonlinearity::kTanh>>();
    case Nonlinearity::kSquaredRelu:
      return work.template operator()<Phi<Nonlinearity::kSquaredRelu>>();
  }
}

}  // namespace headway::training::HEADWAY_GPU
