#pragma once

#include "training/kernels/cuda/emulator.hpp"

// What a warp does with several numbers at once, on the CPU: wide reads and tensor cores.
namespace headway::training::emulated_kernels {

/// A few numbers, whose places are ints as on a GPU.
template <typename T, int count>
struct Few {
  T all[count];  // NOLINT(*-avoid-c-arrays): an aggregate
  T& operator[](int i) { return all[i]; }
  const T& operator[](int i) const { return all[i]; }
  bool operator==(const Few&) const = default;
};
struct Words4 {
  Few<std::uint32_t, 4> word;
};
struct Words2 {
  Few<std::uint32_t, 2> word;
};
struct Words1 {
  Few<std::uint32_t, 1> word;
};
struct Floats4 {
  Few<float, 4> value;
};

/// Elements i to i + 3 in one access. Error{kInternal} unless i is a multiple of 4.
template <typename T>
Floats4 get4(Checked<T> p, std::int64_t i) {
  if ((p.offset + i) % 4 != 0) p.array->fail(p.offset + i, "reads four numbers off their grid");
  return {get(p, i), get(p, i + 1), get(p, i + 2), get(p, i + 3)};
}
template <typename T>
bool may_get4(Checked<T> p) {
  return p.offset % 4 == 0;
}
inline void put4(Checked<float> p, std::int64_t i, const Floats4& four) {
  if ((p.offset + i) % 4 != 0) p.array->fail(p.offset + i, "writes four numbers off their grid");
  for (int j = 0; j < 4; ++j) put(p, i + j, four.value[j]);
}
/// Eight numbers in one access, the first in the lowest half. Error{kInternal} unless i is a
/// multiple of 8.
inline void put8(Checked<Bf16> p, std::int64_t i, const Words4& eight) {
  if ((p.offset + i) % 8 != 0) p.array->fail(p.offset + i, "writes eight numbers off their grid");
  for (int j = 0; j < 8; ++j) {
    const std::uint32_t word = eight.word[j / 2];
    put_bits(p, i + j, Bf16{static_cast<std::uint16_t>(word >> (16U * (j % 2)))});
  }
}

/// c += a b of matrices a [16, inner] and b [inner, 8], laid over the lanes as PTX says: lane
/// 4 g + t holds c(g, 2 t), c(g, 2 t + 1) and the same of row g + 8.
template <int kInner, typename A, typename B>
void multiply(Lanes<Floats4>& c, const A& a, const B& b) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2);
      const int column = 2 * (lane % 4) + i % 2;
      float sum = 0.0F;
      for (int k = 0; k < kInner; ++k) sum += a(row, k) * b(k, column);
      c[lane].value[i] += sum;
    }
  }
}

/// mma.m16n8k8: word i of a is a(g + 8 (i % 2), t + 4 (i / 2)), word i of b is b(t + 4 i, g). The
/// tensor core reads the upper 19 bits of a word.
inline void multiply_tf32(const Warp&, Lanes<Floats4>& c, const Lanes<Words4>& a,
                          const Lanes<Words2>& b) {
  const auto number = [](std::uint32_t word) { return float_of(word & 0xFFFFE000U); };
  multiply<8>(
      c,
      [&](int row, int k) {
        const int word = row / 8 + 2 * (k / 4);
        return number(a[row % 8 * 4 + k % 4].word[word]);
      },
      [&](int k, int column) { return number(b[column * 4 + k % 4].word[k / 4]); });
}

/// mma.m16n8k16 of bf16: word i of a holds a(g + 8 (i % 2), 2 t + 8 (i / 2)) in its low half and
/// the next column in its high one; word i of b holds b(2 t + 8 i, g) and the next row.
inline void multiply_bf16(const Warp&, Lanes<Floats4>& c, const Lanes<Words4>& a,
                          const Lanes<Words2>& b) {
  const auto half = [](std::uint32_t word, int k) {
    return to_float(Bf16{static_cast<std::uint16_t>(k % 2 == 0 ? word : word >> 16U)});
  };
  multiply<16>(
      c,
      [&](int row, int k) {
        const int word = row / 8 + 2 * (k / 8);
        return half(a[row % 8 * 4 + k % 8 / 2].word[word], k);
      },
      [&](int k, int column) { return half(b[column * 4 + k % 8 / 2].word[k / 8], k); });
}

/// mma.m16n8k8 of bf16: word i of a holds a(g + 8 i, 2 t) in its low half and the next column in
/// its high one; the word of b holds b(2 t, g) and the next row.
inline void multiply_bf16_short(const Warp&, Lanes<Floats4>& c, const Lanes<Words2>& a,
                                const Lanes<Words1>& b) {
  const auto half = [](std::uint32_t word, int k) {
    return to_float(Bf16{static_cast<std::uint16_t>(k % 2 == 0 ? word : word >> 16U)});
  };
  multiply<8>(
      c, [&](int row, int k) { return half(a[row % 8 * 4 + k / 2].word[row / 8], k); },
      [&](int k, int column) { return half(b[column * 4 + k / 2].word[0], k); });
}

/// Element `i` of the row that begins at `at`, a multiple of eight.
template <typename T>
std::uint32_t number_of_row(Checked<T> array, std::int64_t at, int i) {
  if ((array.offset + at) % 8 != 0) array.array->fail(array.offset + at, "is a row off its grid");
  return static_cast<std::uint32_t>(get_bits(array, at + i).bits);
}

/// Four 8 x 8 matrices: row r of matrix j is the eight numbers from place(8 j + r) on, a multiple
/// of eight. Word j of lane 4 g + t: numbers 2 t and 2 t + 1 of row g of matrix j.
template <typename T, typename Place>
void load_matrices(const Warp& warp, Checked<T> array, const Place& place, Lanes<Words4>& out) {
  warp.lanes([&](int lane) {
    for (int j = 0; j < 4; ++j) {
      const std::int64_t at = place(8 * j + lane / 4);
      const int first = 2 * (lane % 4);
      out[lane].word[j] = number_of_row(array, at, first) | number_of_row(array, at, first + 1)
                                                                << 16U;
    }
  });
}

/// The same matrices, turned. Word j of lane 4 g + t: numbers g of rows 2 t and 2 t + 1 of matrix
/// j.
template <typename T, typename Place>
void load_turned(const Warp& warp, Checked<T> array, const Place& place, Lanes<Words4>& out) {
  warp.lanes([&](int lane) {
    for (int j = 0; j < 4; ++j) {
      const int row = 8 * j + 2 * (lane % 4);
      out[lane].word[j] = number_of_row(array, place(row), lane / 4) |
                          number_of_row(array, place(row + 1), lane / 4) << 16U;
    }
  });
}

/// Turns four 8 x 8 matrices in registers: word j of lane 4 g + t has numbers 2 t and 2 t + 1 of
/// row g of matrix j before, numbers g of rows 2 t and 2 t + 1 after.
inline void turn(const Warp& warp, Lanes<Words4>& matrices) {
  const Lanes<Words4> before = matrices;
  warp.lanes([&](int lane) {
    const int row = 2 * (lane % 4);
    const int column = lane / 4;
    for (int j = 0; j < 4; ++j) {
      const auto number = [&](int of_row) {
        return before[4 * of_row + column / 2].word[j] >> (16U * (column % 2)) & 0xFFFFU;
      };
      matrices[lane].word[j] = number(row) | number(row + 1) << 16U;
    }
  });
}

}  // namespace headway::training::emulated_kernels
