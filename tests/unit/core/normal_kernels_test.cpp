#include "core/normal_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "larger.hpp"

using headway::has_instruction_set;
using headway::InstructionSet;
using headway::detail::fill_normal_pairs;
using headway::detail::normal_pair;
using headway::detail::NormalStream;
using headway::detail::philox;
using headway::detail::PhiloxCounter;

namespace {

long double exact_uniform(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t n = ((static_cast<std::uint64_t>(high) << 32U) | low) >> 12U;
  return (static_cast<long double>(n) + 0.5L) * 0x1.0p-52L;
}

// Largest error of the pair of `words`, absolute below 1 and relative above.
double pair_error(const PhiloxCounter& words) {
  const long double pi = std::acos(-1.0L);
  const long double radius = std::sqrt(-2.0L * std::log(exact_uniform(words[0], words[1])));
  const long double angle = 2.0L * pi * exact_uniform(words[2], words[3]);
  const auto pair = normal_pair(words);
  double worst = 0.0;
  for (const auto& [value, exact] : {std::pair{pair[0], radius * std::cos(angle)},
                                     std::pair{pair[1], radius * std::sin(angle)}}) {
    const long double error = std::abs(static_cast<long double>(value) - exact);
    worst = headway::testing::larger(worst,
                                     static_cast<double>(error / std::max(1.0L, std::abs(exact))));
  }
  return worst;
}

}  // namespace

TEST_CASE("The normal transform agrees with long double") {
  double worst = 0.0;
  for (std::uint32_t i = 0; i < 200000; ++i) {
    PhiloxCounter words = philox({i, 0, 0, 5}, {1, 2});
    worst = headway::testing::larger(worst, pair_error(words));
    words[1] >>= i % 32;  // far into the tail
    worst = headway::testing::larger(worst, pair_error(words));
    words[1] = ~words[1];  // and towards the centre
    worst = headway::testing::larger(worst, pair_error(words));
    words[3] &= 0xE0000000U;  // angles at the borders of the octants
    worst = headway::testing::larger(worst, pair_error(words));
  }
  CHECK(worst < 5e-16);
  CHECK(worst > 0.0);
}

TEST_CASE("Near the centre the relative error stays small too") {
  // u = 1 - 2^-53 (2 n + 1): the radius is sqrt(2^-52 (2 n + 1) ..), not lost in log(1).
  for (std::uint32_t n = 0; n < 64; ++n) {
    const PhiloxCounter words = {~(n << 12U), 0xFFFFFFFFU, 0, 0};
    const long double exact =
        std::sqrt(-2.0L * std::log1p(-0x1.0p-53L * static_cast<long double>(2 * n + 1)));
    const auto radius = static_cast<long double>(normal_pair(words)[0]);
    CHECK(std::abs(radius / exact - 1.0L) < 5e-16L);
  }
}

TEST_CASE("Every instruction set gives the bits of the one-by-one transform") {
  int available = 0;
  for (const auto set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (!has_instruction_set(set)) continue;
    ++available;
    for (const std::size_t pairs : {1UL, 63UL, 64UL, 65UL, 1000UL}) {
      for (unsigned skip = 0; skip < 4; ++skip) {
        CAPTURE(static_cast<int>(set), pairs, skip);
        const NormalStream stream{{0xFFFFFFF0U, 3, 11, 12}, {13, 14}, skip};  // carries inside
        std::vector<double> out(2 * pairs + 1, -99.0);
        fill_normal_pairs(stream, pairs, out.data(), set);
        std::vector<double> expected;
        std::vector<std::uint32_t> words;
        for (std::uint64_t block = 0; block <= pairs; ++block) {
          const std::uint64_t number = ((std::uint64_t{3} << 32U) | 0xFFFFFFF0U) + block;
          const auto next = philox({static_cast<std::uint32_t>(number),
                                    static_cast<std::uint32_t>(number >> 32U), 11, 12},
                                   {13, 14});
          words.insert(words.end(), next.begin(), next.end());
        }
        for (std::size_t k = 0; k < pairs; ++k) {
          const std::size_t at = 4 * k + skip;
          const auto pair = normal_pair({words[at], words[at + 1], words[at + 2], words[at + 3]});
          expected.insert(expected.end(), pair.begin(), pair.end());
        }
        expected.push_back(-99.0);  // nothing written past the end
        CHECK(out == expected);
      }
    }
  }
  CHECK(available >= 1);
}
