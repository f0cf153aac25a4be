#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "training/kernels/cuda/tile_product.hpp"

// The emulator itself: it notices what would be a fault on a GPU, and its tensor cores multiply.

using namespace headway::training;                    // NOLINT: a test
using namespace headway::training::emulated_kernels;  // NOLINT
using Catch::Matchers::ContainsSubstring;
using headway::Rng;
using headway::StreamPurpose;

namespace {

struct Faulty {
  std::vector<float> numbers = std::vector<float>(64, 1.0F);
  std::vector<float> empty = std::vector<float>(64);
  GlobalMemory memory;
  Global<const float> in = memory.input("in", numbers);
  Global<float> out = memory.output("out", empty);

  template <typename Kernel>
  std::string message_of(const Kernel& kernel, int blocks = 1) {
    try {
      launch({blocks, 1, 32, 1024}, kernel);
    } catch (const headway::Error& error) {
      return error.what();
    }
    return "";
  }
};

}  // namespace

TEST_CASE("The emulator lets a correct kernel pass") {
  Faulty f;
  CHECK(f.message_of(
            [&](Block& block, SharedMemory& memory) {
              const Shared<float> turned = memory.take<float>("turned", 32);
              for_each(block, 32,
                       [&](int i) { put(turned, 31 - i, get(f.in, i + 32 * block.x())); });
              for_each(block, 32, [&](int i) { put(f.out, i + 32 * block.x(), get(turned, i)); });
              for_each(block, 32, [&](int i) { add(f.out, i + 32 * block.x(), 1.0F); });
            },
            2) == "");
  CHECK(f.empty == std::vector<float>(64, 2.0F));
}

TEST_CASE("The emulator notices accesses out of bounds") {
  Faulty f;
  CHECK_THAT(
      f.message_of(
          [&](Block& block, SharedMemory&) { for_each(block, 65, [&](int i) { get(f.in, i); }); }),
      ContainsSubstring("in[64], of 64 elements: thread 0 of block 0 reaches out of bounds"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<float> first = memory.take<float>("first", 8);
    memory.take<float>("second", 8);
    for_each(block, 9, [&](int i) { put(first, i, 0.0F); });
  }),
             ContainsSubstring("first[8]"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory&) {
    for_each(block, 1, [&](int) { put(f.out, -1, 0.0F); });
  }),
             ContainsSubstring("out[-1]"));
  CHECK_THAT(f.message_of([&](Block&, SharedMemory& memory) { memory.take<float>("big", 257); }),
             ContainsSubstring("big takes shared memory beyond the 1024 bytes"));
}

TEST_CASE("The emulator notices what barriers do not order") {
  Faulty f;
  const auto neighbour = [](int i) { return (i + 1) % 32; };
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<float> x = memory.take<float>("x", 32);
    for_each(block, 32, [&](int i) {
      put(x, i, 1.0F);
      if (i > 0) get(x, i - 1);
    });
  }),
             ContainsSubstring("reads what thread 0 writes in the same phase"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<float> x = memory.take<float>("x", 32);
    fill(block, x, 32, 0.0F);
    for_each(block, 32, [&](int i) {
      get(x, neighbour(i));
      put(x, i, 1.0F);
    });
  }),
             ContainsSubstring("writes what another thread reads in the same phase"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<float> x = memory.take<float>("x", 32);
    for_each(block, 32, [&](int i) { put(x, i / 2, 1.0F); });
  }),
             ContainsSubstring("writes what thread 0 writes in the same phase"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<float> x = memory.take<float>("x", 32);
    block.warps([&](const Warp& warp) {
      warp.lanes([&](int lane) { put(x, lane, 1.0F); });
      warp.lanes([&](int lane) { get(x, neighbour(lane)); });
    });
  }),
             ContainsSubstring("in the same phase"));
}

TEST_CASE("The emulator notices reads of what was never written, and blocks in each other's way") {
  Faulty f;
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<float> x = memory.take<float>("x", 32);
    for_each(block, 32, [&](int i) { get(x, i); });
  }),
             ContainsSubstring("reads what nobody wrote"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory&) {
    for_each(block, 1, [&](int i) { get(f.out, i); });
  }),
             ContainsSubstring("reads what nobody wrote"));
  const auto same_place = [&](Block& block, SharedMemory&) {
    for_each(block, 1, [&](int i) { put(f.out, i, 1.0F); });
  };
  CHECK_THAT(f.message_of(same_place, 2),
             ContainsSubstring("writes what block 0 writes in the same launch"));
  CHECK(f.message_of(same_place) == "");  // in another launch
  CHECK_THAT(f.message_of(
                 [&](Block& block, SharedMemory&) {
                   for_each(block, 1, [&](int i) {
                     if (block.x() == 0) put(f.out, i, 1.0F);
                     if (block.x() == 1) get(f.out, i);
                   });
                 },
                 2),
             ContainsSubstring("reads what block 0 writes in the same launch"));
  CHECK_THAT(f.message_of(
                 [&](Block& block, SharedMemory&) {
                   for_each(block, 1, [&](int i) {
                     if (block.x() == 0) get(f.out, i);
                     if (block.x() == 1) put(f.out, i, 1.0F);
                   });
                 },
                 2),
             ContainsSubstring("writes what another block reads in the same launch"));
}

TEST_CASE("The emulator lets launches, phases and blocks use what earlier ones read or wrote") {
  Faulty f;
  const auto add_one = [&](Block& block, SharedMemory&) {
    for_each(block, 32, [&](int i) { add(f.out, i + 32 * block.x(), 1.0F); });
  };
  // Block 1 reads and writes what block 0 read and wrote in the launch before, and back again.
  const auto turned = [&](Block& block, SharedMemory&) {
    for_each(block, 32, [&](int i) { add(f.out, i + 32 * (1 - block.x()), 2.0F); });
  };
  CHECK(f.message_of(
            [&](Block& block, SharedMemory&) {
              for_each(block, 32, [&](int i) { put(f.out, i + 32 * block.x(), 0.0F); });
            },
            2) == "");
  for (int i = 0; i < 2; ++i) {
    CHECK(f.message_of(add_one, 2) == "");
    CHECK(f.message_of(turned, 2) == "");
  }
  CHECK(f.empty == std::vector<float>(64, 6.0F));
  // Several threads read it in one phase, and another one reads and writes it in the next.
  CHECK(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<float> x = memory.take<float>("x", 1);
    for_each(block, 1, [&](int) { put(x, 0, 1.0F); });
    for_each(block, 32, [&](int) { get(x, 0); });
    for_each(block, 6, [&](int i) {
      if (i == 5) add(x, 0, 1.0F);
    });
    for_each(block, 1, [&](int) { CHECK(get(x, 0) == 2.0F); });
  }) == "");
  // In one launch blocks may read the same, as long as none writes it.
  const auto all_read = [&](Block& block, SharedMemory&) {
    for_each(block, 32, [&](int i) { put(f.out, i + 32 * block.x(), get(f.in, 0)); });
  };
  CHECK(f.message_of(all_read, 2) == "");
  // A block that writes what it read itself, after another one read it.
  CHECK_THAT(f.message_of(
                 [&](Block& block, SharedMemory&) {
                   for_each(block, 1, [&](int) {
                     get(f.out, 7);
                     if (block.x() == 1) put(f.out, 7, 1.0F);
                   });
                 },
                 2),
             ContainsSubstring("out[7], of 64 elements: thread 0 of block 1 writes what another "
                               "block reads in the same launch"));
}

namespace {

// Small whole numbers: exact in every arithmetic.
std::vector<float> whole_numbers(Rng* rng, int count) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i) x.push_back(static_cast<float>(rng->uniform_index(9)) - 4.0F);
  return x;
}

std::vector<Bf16> in_bf16(const std::vector<float>& x) {
  std::vector<Bf16> numbers;
  for (const float value : x) numbers.push_back(to_bf16(value));
  return numbers;
}

// a [batch, row, inner] and b [batch, column, inner], or with `turned` [batch, inner, column].
template <Arithmetic kind, typename T>
std::vector<float> product_of(const ProductSize& n, const std::vector<T>& a,
                              const std::vector<T>& b, bool turned) {
  std::vector<float> c(static_cast<std::size_t>(n.batches * n.rows * n.columns));
  GlobalMemory memory;
  const Operand<Global<const T>> x = {memory.input("a", a), n.rows * n.inner, n.inner, 1};
  const Operand<Global<const T>> y = {memory.input("b", b), n.inner * n.columns,
                                      turned ? n.columns : 1, turned ? 1 : n.inner};
  const Global<float> out = memory.output("c", c);
  launch({1, 1, 96, 0}, [&](Block& block, SharedMemory&) {
    product<kind>(block, n, x, y, [&](int batch, int row, int column, float sum) {
      put(out, (batch * n.rows + row) * n.columns + column, sum);
    });
  });
  return c;
}

template <Arithmetic kind>
void check_product(const ProductSize& n) {
  Rng rng(1, StreamPurpose::kTests);
  const auto a = whole_numbers(&rng, n.batches * n.rows * n.inner);
  const auto b = whole_numbers(&rng, n.batches * n.inner * n.columns);
  for (const bool turned : {false, true}) {
    std::vector<float> exact(static_cast<std::size_t>(n.batches * n.rows * n.columns));
    for (int i = 0; i < n.batches * n.rows * n.columns; ++i) {
      const int batch = i / n.columns / n.rows;
      const int column = i % n.columns;
      float sum = 0.0F;
      for (int k = 0; k < n.inner; ++k) {
        const int at = turned ? (batch * n.inner + k) * n.columns + column
                              : (batch * n.columns + column) * n.inner + k;
        sum += a[static_cast<std::size_t>((i / n.columns) * n.inner + k)] *
               b[static_cast<std::size_t>(at)];
      }
      exact[static_cast<std::size_t>(i)] = sum;
    }
    CHECK(product_of<kind>(n, a, b, turned) == exact);
    if (kind == Arithmetic::kBf16) {
      CHECK(product_of<kind>(n, in_bf16(a), in_bf16(b), turned) == exact);
    }
  }
}

}  // namespace

TEST_CASE("Products of a block are exact in every arithmetic, for odd sizes") {
  for (const ProductSize& n :
       {ProductSize{1, 1, 1, 1}, ProductSize{3, 16, 8, 8}, ProductSize{2, 17, 25, 33},
        ProductSize{5, 7, 3, 40}, ProductSize{1, 50, 16, 16}, ProductSize{2, 4, 31, 2}}) {
    INFO(n.batches << " x " << n.rows << " x " << n.columns << " x " << n.inner);
    check_product<Arithmetic::kFloat32>(n);
    check_product<Arithmetic::kTf32>(n);
    check_product<Arithmetic::kBf16>(n);
  }
}

TEST_CASE("Lanes of a warp exchange numbers with their neighbours") {
  Lanes<float> mine;
  const Warp warp(1);
  warp.lanes([&](int lane) { mine[lane] = static_cast<float>(lane); });
  exchange(
      warp, 5, [&](int lane) { return mine[lane]; },
      [&](int lane, float other) { mine[lane] = 100.0F * mine[lane] + other; });
  for (int lane = 0; lane < 32; ++lane) {
    CHECK(mine[lane] == static_cast<float>(100 * lane + (lane ^ 5)));
  }
}

TEST_CASE("Copies arrive when a thread waits for them, and no sooner") {
  Faulty f;
  const std::vector<Bf16> numbers(32, to_bf16(2.0F));
  const Global<const Bf16> from = f.memory.input("numbers", numbers);
  const auto copied = [&](bool first, int read) {
    return f.message_of([&](Block& block, SharedMemory& memory) {
      const Shared<Bf16> to = memory.take<Bf16>("copy", 16);
      block.threads([&](int thread) {
        if (thread == 0) copy8(to, 0, from, 8);
        commit_copies();
        if (thread == 0) copy8(to, 8, from, 0);
        commit_copies();
        if (first) wait_for_copies<1>();
      });
      float seen = 0.0F;
      for_each(block, 1, [&](int) { seen = get(to, read); });
      block.threads([](int) { wait_for_copies<0>(); });
      for_each(block, 1, [&](int) { seen += get(to, 15); });
      CHECK(seen == 4.0F);
    });
  };
  CHECK(copied(true, 7) == "");
  CHECK_THAT(copied(true, 8),
             ContainsSubstring("copy[8], of 16 elements: thread 0 of block 0 reads"));
  CHECK_THAT(copied(false, 0), ContainsSubstring("reads what nobody wrote"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory& memory) {
    const Shared<Bf16> to = memory.take<Bf16>("copy", 16);
    block.threads([&](int thread) {
      if (thread == 0) copy8(to, 0, from, 4);
    });
  }),
             ContainsSubstring("numbers[4], of 32 elements: thread 0 of block 0 is copied off"));
}

TEST_CASE("Matrices are turned, and short products multiplied, as PTX lays them over the lanes") {
  std::vector<Bf16> numbers;
  for (int i = 0; i < 256; ++i) numbers.push_back(to_bf16(static_cast<float>(i)));
  GlobalMemory memory;
  const Global<const Bf16> array = memory.input("numbers", numbers);
  const Warp warp(0);
  Lanes<Words4> words;
  load_turned(
      warp, array, [](int lane) { return 8 * lane; }, words);
  Lanes<Words2> a;
  Lanes<Words1> one;
  Lanes<Floats4> c;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4;
    const int t = lane % 4;
    for (int j = 0; j < 4; ++j) {
      const auto at = static_cast<std::size_t>(64 * j + 16 * t + g);
      CHECK(words[lane].word[static_cast<std::size_t>(j)] ==
            (numbers[at].bits | static_cast<std::uint32_t>(numbers[at + 8].bits) << 16U));
    }
    // a(row, k) = row + k, b = identity
    a[lane].word = {
        bf16_pair(static_cast<float>(g + 2 * t), static_cast<float>(g + 2 * t + 1)),
        bf16_pair(static_cast<float>(g + 8 + 2 * t), static_cast<float>(g + 9 + 2 * t))};
    one[lane].word = {bf16_pair(2 * t == g ? 1.0F : 0.0F, 2 * t + 1 == g ? 1.0F : 0.0F)};
  }
  multiply_bf16_short(warp, c, a, one);
  for (int lane = 0; lane < 32; ++lane) {
    const auto first = static_cast<float>(lane / 4 + 2 * (lane % 4));
    CHECK(c[lane].value == Few<float, 4>{first, first + 1, first + 8, first + 9});
  }
}

TEST_CASE("Matrices are loaded as they are, and turned in registers") {
  std::vector<Bf16> numbers;
  for (int i = 0; i < 256; ++i) numbers.push_back(to_bf16(static_cast<float>(i)));
  GlobalMemory memory;
  const Global<const Bf16> array = memory.input("numbers", numbers);
  const Warp warp(0);
  const auto rows = [](int lane) { return 8 * lane; };
  Lanes<Words4> plain;
  Lanes<Words4> turned;
  load_matrices(warp, array, rows, plain);
  load_turned(warp, array, rows, turned);
  for (int lane = 0; lane < 32; ++lane) {
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t at = 64 * j + 2 * static_cast<std::size_t>(lane);  // row g, number 2 t
      CHECK(plain[lane].word[j] ==
            (numbers[at].bits | static_cast<std::uint32_t>(numbers[at + 1].bits) << 16U));
    }
  }
  turn(warp, plain);
  for (int lane = 0; lane < 32; ++lane) CHECK(plain[lane].word == turned[lane].word);
}

TEST_CASE("The emulator notices pairs written off their grid, and grids beyond a device") {
  Faulty f;
  std::vector<Bf16> halves(8);
  const Global<Bf16> pairs = f.memory.output("halves", halves);
  const auto write = [&](int at) {
    return f.message_of([&](Block& block, SharedMemory&) {
      for_each(block, 1, [&](int) { put_pair(pairs, at, bf16_pair(1.0F, 2.0F)); });
    });
  };
  CHECK(write(2) == "");
  CHECK(to_float(halves[2]) == 1.0F);
  CHECK(to_float(halves[3]) == 2.0F);
  CHECK_THAT(write(3), ContainsSubstring("halves[3], of 8 elements: thread 0 of block 0 writes a"));
  const auto nothing = [](Block&, SharedMemory&) {};
  CHECK_THROWS_WITH(launch({1, 65536, 32, 0}, nothing), ContainsSubstring("1 x 65536 x 1 blocks"));
  CHECK_THROWS_WITH(launch({1, 1, 32, 0, 65536}, nothing), ContainsSubstring("1 x 1 x 65536"));
}

TEST_CASE("The emulator notices wide reads off their grid") {
  Faulty f;
  std::vector<Bf16> halves(8, to_bf16(1.5F));
  const Global<const Bf16> pairs = f.memory.input("halves", halves);
  CHECK(f.message_of([&](Block& block, SharedMemory&) {
    for_each(block, 1, [&](int) {
      CHECK(get4(f.in, 4).value[3] == 1.0F);
      CHECK(get_pair(pairs + 1, 3) == (halves[0].bits | std::uint32_t{halves[0].bits} << 16U));
    });
  }) == "");
  CHECK_FALSE(may_pair(pairs + 1));
  CHECK_THAT(
      f.message_of(
          [&](Block& block, SharedMemory&) { for_each(block, 1, [&](int) { get4(f.in, 6); }); }),
      ContainsSubstring("in[6], of 64 elements: thread 0 of block 0 reads four numbers off"));
  CHECK_THAT(f.message_of([&](Block& block, SharedMemory&) {
    for_each(block, 1, [&](int) { get_pair(pairs + 1, 4); });
  }),
             ContainsSubstring("halves[5], of 8 elements: thread 0 of block 0 reads a pair off"));
}

TEST_CASE("Numbers are rounded to bf16 and TF32 as the hardware does") {
  CHECK(to_float(to_bf16(1.0F + 0x1p-8F)) == 1.0F);  // a tie: to even
  CHECK(to_float(to_bf16(1.0F + 3 * 0x1p-8F)) == 1.0F + 0x1p-6F);
  CHECK(to_float(to_bf16(1.0F + 0x1p-8F + 0x1p-20F)) == 1.0F + 0x1p-7F);
  CHECK(std::isinf(to_float(to_bf16(3.4e38F))));
  CHECK(std::isnan(to_float(to_bf16(float_of(0x7F800001U)))));
  CHECK(to_tf32(1.0F + 0x1p-11F) == 1.0F + 0x1p-10F);  // a tie: away from zero
  CHECK(to_tf32(-1.0F - 0x1p-11F) == -1.0F - 0x1p-10F);
  CHECK(to_tf32(1.0F + 0x1p-12F) == 1.0F);
  CHECK(std::isinf(to_tf32(float_of(0x7F800000U))));
  CHECK(std::isnan(to_tf32(float_of(0x7F800001U))));
}
