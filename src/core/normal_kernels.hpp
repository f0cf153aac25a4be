#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "headway/core/cpu.hpp"

// The arithmetic under Rng: Philox blocks and the transform of their words into normals. Every
// instruction set gives the same bits. For that the code uses only IEEE additions, products,
// divisions and square roots in one order, and its file is compiled without fused operations.
namespace headway::detail {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Ten rounds of Philox4x32 (Salmon et al. 2011, section 4; constants of their table 2).
PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

/// Box-Muller with u, v = uniform of words (0, 1) and (2, 3), as Rng::uniform() makes them:
///   {sqrt(-2 log u) cos(2 pi v), sqrt(-2 log u) sin(2 pi v)}.
/// Absolute error below 5e-16 times max(1, |result|); the largest of 12 million was 4.5e-16.
std::array<double, 2> normal_pair(const PhiloxCounter& words);

/// The words from word `skip` (0..3) of block `counter` on: every four of them make a pair.
struct NormalStream {
  PhiloxCounter counter;
  PhiloxKey key;
  unsigned skip;
};

/// out[2 k], out[2 k + 1] = normal_pair of the stream's words 4 k .. 4 k + 3, k = 0 .. pairs - 1.
void fill_normal_pairs(const NormalStream& stream, std::size_t pairs, double* out,
                       InstructionSet set = best_instruction_set());

}  // namespace headway::detail
