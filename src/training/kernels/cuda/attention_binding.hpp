#pragma once

#include "headway/core/rng.hpp"
#include "training/kernels/cuda/attention_arguments.hpp"

// From the sizes and settings of the host to those of the kernels.
namespace headway::training::HEADWAY_GPU {

/// Of an array [B, tokens, row].
inline TokenSteps dense_steps(Index tokens, Index row) { return {row, tokens * row}; }

/// All but the pointers. Arrays are dense.
template <typename T>
AttentionArguments<T> arguments_of(const AttentionShape& n, const AttentionOptions& options) {
  AttentionArguments<T> x = {};
  x.options = options;
  x.batch = static_cast<int>(n.batch);
  x.heads = static_cast<int>(n.heads);
  x.queries = static_cast<int>(n.queries);
  x.keys = static_cast<int>(n.keys);
  x.query_dim = static_cast<int>(n.query_dim);
  x.value_dim = static_cast<int>(n.value_dim);
  x.query_steps = dense_steps(n.queries, n.heads * n.query_dim);
  x.key_steps = dense_steps(n.keys, n.heads * n.query_dim);
  x.value_steps = dense_steps(n.keys, n.heads * n.value_dim);
  return x;
}

/// Dropout that is drawn: pairs whose uniform number (n + 1/2) 2^-52 is below `rate` are dropped.
/// The matrix drawn has `columns` columns, and (row, column) belongs to query 0 and key 0.
inline PairDropout drawn_dropout(Global<const std::uint64_t> index, std::uint64_t seed, double rate,
                                 Index columns, Index row, Index column) {
  PairDropout x = {};
  x.index = index;
  x.seed[0] = static_cast<std::uint32_t>(seed);
  x.seed[1] = static_cast<std::uint32_t>(seed >> 32U);
  x.purpose = static_cast<std::uint32_t>(StreamPurpose::kDropout);
  // n + 1/2 < rate 2^52 for whole n; rate 2^52 is exact, and its half below 2^52 is too.
  const double threshold = rate * 0x1p52;
  const auto whole = static_cast<std::uint64_t>(threshold);
  x.first_kept = whole + (threshold - static_cast<double>(whole) > 0.5 ? 1 : 0);
  x.kept = static_cast<float>(1.0 / (1.0 - rate));
  x.columns = static_cast<int>(columns);
  x.first_row = static_cast<int>(row);
  x.first_column = static_cast<int>(column);
  return x;
}

}  // namespace headway::training::HEADWAY_GPU
