#include "headway/core/rng.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/normal_kernels.hpp"
#include "headway/error.hpp"

namespace headway {
namespace {

constexpr std::uint64_t kIndexLimit = std::uint64_t{1} << 52U;
constexpr std::uint32_t kPurposeLimit = 1U << 12U;
constexpr std::size_t kVectorPairs = 8;  // below this many pairs, one by one is as fast

}  // namespace

Rng::Rng(std::uint64_t seed, StreamPurpose purpose, std::uint64_t index) {
  if (index >= kIndexLimit || static_cast<std::uint32_t>(purpose) >= kPurposeLimit) {
    throw Error(ErrorKind::kInternal, "Rng: stream index " + std::to_string(index) +
                                          " must be below 2^52, and the purpose below 2^12");
  }
  state_.key = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  const auto high_index = static_cast<std::uint32_t>(index >> 32U);
  state_.counter = {0, 0, static_cast<std::uint32_t>(index),
                    (static_cast<std::uint32_t>(purpose) << 20) | high_index};
}

Rng::Rng(const State& state) : state_(state) {
  if (state.used > 4) {
    throw Error(ErrorKind::kBadData, "random stream: used = " + std::to_string(state.used) +
                                         ": must be from 0 to 4 words of a block");
  }
}

void Rng::next_block() {
  state_.block = detail::philox(state_.counter, state_.key);
  if (++state_.counter[0] == 0) ++state_.counter[1];
  state_.used = 0;
}

double Rng::uniform() { return (static_cast<double>(next_u64() >> 12U) + 0.5) * 0x1.0p-52; }

std::uint64_t Rng::uniform_index(std::uint64_t bound) {
  if (bound == 0)
    throw Error(ErrorKind::kInternal, "Rng::uniform_index: bound 0 must be at least 1");
  // The largest multiple of `bound` up to 2^64, minus 1.
  const std::uint64_t limit = UINT64_MAX - (UINT64_MAX % bound + 1) % bound;
  std::uint64_t draw = next_u64();
  while (draw > limit) draw = next_u64();
  return draw % bound;
}

double Rng::normal() {
  if (state_.has_spare) {
    state_.has_spare = false;
    return state_.spare_normal;
  }
  detail::PhiloxCounter words;
  for (std::uint32_t& word : words) word = next_u32();
  const std::array<double, 2> pair = detail::normal_pair(words);
  state_.spare_normal = pair[1];
  state_.has_spare = true;
  return pair[0];
}

void Rng::fill_normal(std::span<double> out) {
  if (state_.has_spare && !out.empty()) {
    out[0] = normal();
    out = out.subspan(1);
  }
  const std::size_t pairs = out.size() / 2;
  if (pairs >= kVectorPairs) {
    fill_pairs(pairs, out.data());
    out = out.subspan(2 * pairs);
  }
  for (double& x : out) x = normal();
}

// `pairs` >= 1 pairs at once, from the current word on and without a spare; leaves the state that
// as many calls of normal() leave.
void Rng::fill_pairs(std::size_t pairs, double* out) {
  const std::uint32_t used = state_.used;
  std::uint64_t next = state_.counter[0] | (static_cast<std::uint64_t>(state_.counter[1]) << 32U);
  if (used < 4) --next;  // the rest of the current block comes first
  const auto set_counter = [this](std::uint64_t number) {
    state_.counter[0] = static_cast<std::uint32_t>(number);
    state_.counter[1] = static_cast<std::uint32_t>(number >> 32U);
  };
  set_counter(next);
  detail::fill_normal_pairs({state_.counter, state_.key, used % 4}, pairs, out);
  const std::uint64_t last = next + pairs - (used < 4 ? 0 : 1);
  set_counter(last);
  state_.block = detail::philox(state_.counter, state_.key);
  set_counter(last + 1);
  state_.spare_normal = out[2 * pairs - 1];
}

double Rng::gamma(double shape) {
  if (!(shape > 0.0)) {
    throw Error(ErrorKind::kInternal,
                "Rng::gamma: shape " + std::to_string(shape) + " must be above 0");
  }
  if (shape < 1.0) {
    const double boost = std::pow(uniform(), 1.0 / shape);
    return gamma(shape + 1.0) * boost;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double root = 1.0 + c * x;
    const double v = root * root * root;
    if (v <= 0.0) continue;
    if (std::log(uniform()) < 0.5 * x * x + d * (1.0 - v + std::log(v))) return d * v;
  }
}

}  // namespace headway
