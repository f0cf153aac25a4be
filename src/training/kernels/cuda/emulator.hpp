#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "headway/error.hpp"
#include "training/kernels/cuda/bf16.hpp"

// The words of training/kernels/cuda/device.hpp on the CPU. Every array knows its bounds and, for
// each element, who touched it last. Thrown as Error{kInternal}: an access out of bounds; a read of
// what was never written; within one phase, two threads at one element, one of them writing; within
// one launch, two blocks at one element of global memory, one of them writing.
namespace headway::training::emulated_kernels {

/// Where the emulation stands; phases are numbered through all blocks of all launches.
struct Course {
  int launch = 0;
  int block = 0;
  int phase = 0;
  int thread = 0;
  int run = 0;
};
inline Course& course() {
  static thread_local Course here;
  return here;
}

/// Who read or wrote an element last.
struct Shadow {
  int write_phase = 0, writer = 0;
  int read_phase = 0, reader = 0;
  int write_launch = 0, write_block = 0;
  int read_launch = 0, read_block = 0;
  bool written = false;
};
constexpr int kSeveral = -1;

struct Array {
  std::string name;
  void* data = nullptr;
  std::int64_t size = 0;
  bool shared = false;
  std::vector<Shadow> shadow;

  [[noreturn]] void fail(std::int64_t i, const std::string& what) const {
    const Course& here = course();
    throw Error(ErrorKind::kInternal,
                fmt::format("emulated kernel: {}[{}], of {} elements: thread {} of block {} {}",
                            name, i, size, here.thread, here.block, what));
  }

  void check_bounds(std::int64_t i) const {
    if (i < 0 || i >= size) fail(i, "reaches out of bounds");
  }

  void note_read(std::int64_t i) {
    check_bounds(i);
    Shadow& s = shadow[static_cast<std::size_t>(i)];
    const Course& here = course();
    if (!s.written) fail(i, "reads what nobody wrote");
    if (s.write_phase == here.phase && s.writer != here.thread) {
      fail(i, fmt::format("reads what thread {} writes in the same phase", s.writer));
    }
    if (!shared && s.write_launch == here.launch && s.write_block != here.block) {
      fail(i, fmt::format("reads what block {} writes in the same launch", s.write_block));
    }
    s.reader = s.read_phase == here.phase && s.reader != here.thread ? kSeveral : here.thread;
    s.read_phase = here.phase;
    s.read_block =
        s.read_launch == here.launch && s.read_block != here.block ? kSeveral : here.block;
    s.read_launch = here.launch;
  }

  void note_write(std::int64_t i) {
    check_bounds(i);
    Shadow& s = shadow[static_cast<std::size_t>(i)];
    const Course& here = course();
    if (s.write_phase == here.phase && s.writer != here.thread) {
      fail(i, fmt::format("writes what thread {} writes in the same phase", s.writer));
    }
    if (s.read_phase == here.phase && s.reader != here.thread) {
      fail(i, "writes what another thread reads in the same phase");
    }
    if (!shared && s.write_launch == here.launch && s.write_block != here.block) {
      fail(i, fmt::format("writes what block {} writes in the same launch", s.write_block));
    }
    if (!shared && s.read_launch == here.launch && s.read_block != here.block) {
      fail(i, "writes what another block reads in the same launch");
    }
    s.written = true;
    s.write_phase = here.phase;
    s.writer = here.thread;
    s.write_launch = here.launch;
    s.write_block = here.block;
  }
};

/// A pointer into an array.
template <typename T>
struct Checked {
  Array* array = nullptr;
  std::int64_t offset = 0;

  operator Checked<const T>() const  // NOLINT: as T* converts
      requires(!std::is_const_v<T>) {
    return {array, offset};
  }
  friend Checked operator+(Checked p, std::int64_t n) { return {p.array, p.offset + n}; }
  bool operator==(std::nullptr_t) const { return array == nullptr; }
};
template <typename T>
using Global = Checked<T>;
template <typename T>
using Shared = Checked<T>;

template <typename T>
std::remove_const_t<T> get_bits(Checked<T> p, std::int64_t i) {
  if (p.array == nullptr)
    throw Error(ErrorKind::kInternal, "emulated kernel: a null pointer is read");
  p.array->note_read(p.offset + i);
  return static_cast<const T*>(p.array->data)[p.offset + i];
}
template <typename T>
float get(Checked<T> p, std::int64_t i) {
  return to_float(get_bits(p, i));
}
template <typename T>
void put(Checked<T> p, std::int64_t i, float value) {
  if (p.array == nullptr)
    throw Error(ErrorKind::kInternal, "emulated kernel: a null pointer is written");
  p.array->note_write(p.offset + i);
  static_cast<T*>(p.array->data)[p.offset + i] = from_float<T>(value);
}
template <typename T>
void put_bits(Checked<T> p, std::int64_t i, T value) {
  if (p.array == nullptr)
    throw Error(ErrorKind::kInternal, "emulated kernel: a null pointer is written");
  p.array->note_write(p.offset + i);
  static_cast<T*>(p.array->data)[p.offset + i] = value;
}
inline void add(Checked<float> p, std::int64_t i, float value) { put(p, i, get(p, i) + value); }

/// Of a stack of runs: the one that the block works for (Grid::runs).
inline int run_of_block() { return course().run; }

/// Elements i and i + 1 in one access, the first in the lower half. Error{kInternal} unless their
/// place is even; may_pair says so of the array.
template <typename T>
std::uint32_t get_pair(Checked<T> p, std::int64_t i) {
  if ((p.offset + i) % 2 != 0) p.array->fail(p.offset + i, "reads a pair off its grid");
  return get_bits(p, i).bits | static_cast<std::uint32_t>(get_bits(p, i + 1).bits) << 16U;
}
inline void put_pair(Checked<Bf16> p, std::int64_t i, std::uint32_t pair) {
  if ((p.offset + i) % 2 != 0) p.array->fail(p.offset + i, "writes a pair off its grid");
  put_bits(p, i, Bf16{static_cast<std::uint16_t>(pair)});
  put_bits(p, i + 1, Bf16{static_cast<std::uint16_t>(pair >> 16U)});
}
template <typename T>
bool may_pair(Checked<T> p) {
  return p.offset % 2 == 0;
}

inline float fused(float x, float y, float sum) { return std::fma(x, y, sum); }

class Warp {
 public:
  explicit Warp(int index) : index_(index) {}
  [[nodiscard]] int index() const { return index_; }
  template <typename Work>
  void lanes(const Work& work) const {
    for (int lane = 0; lane < 32; ++lane) {
      course().thread = index_ * 32 + lane;
      work(lane);
    }
  }

 private:
  int index_;
};

template <typename T>
class Lanes {
 public:
  T& operator[](int lane) { return all_[static_cast<std::size_t>(lane)]; }
  const T& operator[](int lane) const { return all_[static_cast<std::size_t>(lane)]; }

 private:
  std::array<T, 32> all_ = {};
};

/// A variable of each lane of each of a block's warps, kept from phase to phase.
template <typename T, int warps>
class WarpLanes {
 public:
  Lanes<T>& operator[](const Warp& warp) { return all_[static_cast<std::size_t>(warp.index())]; }

 private:
  std::array<Lanes<T>, warps> all_;
};

/// Copies of each thread of a block that are under way, group by group.
using Copies = std::deque<std::vector<std::function<void()>>>;
inline std::map<int, Copies>& copies_of_threads() {
  static thread_local std::map<int, Copies> all;
  return all;
}

/// Eight numbers at once from global to shared memory, without waiting. They are written when the
/// thread waits for them, and a read before that is noticed. Error{kInternal} unless both places
/// are multiples of eight numbers. The thread's copies up to commit_copies() are a group; after
/// wait_for_copies<n>() all but its last n groups have arrived.
template <typename T>
void copy8(Checked<T> to, std::int64_t i, Checked<const T> from, std::int64_t j) {
  if ((to.offset + i) % 8 != 0) to.array->fail(to.offset + i, "is copied to off its grid");
  if ((from.offset + j) % 8 != 0) from.array->fail(from.offset + j, "is copied off its grid");
  Copies& groups = copies_of_threads()[course().thread];
  if (groups.empty()) groups.emplace_back();
  for (std::int64_t n = to.offset + i; n < to.offset + i + 8; ++n) {
    to.array->note_write(n);
    to.array->shadow[static_cast<std::size_t>(n)].written = false;  // it is on its way
  }
  groups.back().push_back([=] {
    for (std::int64_t n = 0; n < 8; ++n) put_bits(to, i + n, get_bits(from, j + n));
  });
}
inline void commit_copies() { copies_of_threads()[course().thread].emplace_back(); }
template <int left>
void wait_for_copies() {
  Copies& groups = copies_of_threads()[course().thread];  // the last one is open
  while (groups.size() > left + 1) {
    for (const auto& copy : groups.front()) copy();
    groups.pop_front();
  }
}

/// take(lane, give(lane ^ mask)) for every lane of a warp.
template <typename Give, typename Take>
void exchange(const Warp& warp, int mask, const Give& give, const Take& take) {
  std::array<std::decay_t<decltype(give(0))>, 32> given = {};
  warp.lanes([&](int lane) { given[static_cast<std::size_t>(lane)] = give(lane); });
  warp.lanes([&](int lane) { take(lane, given[static_cast<std::size_t>(lane ^ mask)]); });
}

/// Bit i: vote(i), of the lanes of a warp.
template <typename Vote>
std::uint32_t votes(const Warp& warp, const Vote& vote) {
  std::uint32_t bits = 0;
  warp.lanes([&](int lane) { bits |= (vote(lane) ? 1U : 0U) << static_cast<unsigned>(lane); });
  return bits;
}
inline int count_bits(std::uint32_t bits) { return std::popcount(bits); }

class Block {
 public:
  /// Where x counts the blocks of several runs: its place among those of its own, and their number.
  struct OfRun {
    int x_of_run, blocks;
  };
  Block(int size, int x, int y, const OfRun& of_run) : size_(size), x_(x), y_(y), of_run_(of_run) {}
  Block(int size, int x, int y) : Block(size, x, y, {x, x + 1}) {}
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int x() const { return x_; }
  [[nodiscard]] int y() const { return y_; }
  [[nodiscard]] int x_of_run() const { return of_run_.x_of_run; }
  [[nodiscard]] int blocks_of_run() const { return of_run_.blocks; }

  template <typename Work>
  void threads(const Work& work) const {
    ++course().phase;
    for (int thread = 0; thread < size_; ++thread) {
      course().thread = thread;
      work(thread);
    }
  }
  template <typename Work>
  void warps(const Work& work) const {
    ++course().phase;
    for (int warp = 0; warp < size_ / 32; ++warp) work(Warp(warp));
  }
  /// On a GPU nothing that is computed from the thread's number stays in a register then.
  template <typename Work>
  void threads_afresh(const Work& work) const {
    threads(work);
  }
  template <typename Work>
  void warps_afresh(const Work& work) const {
    warps(work);
  }

 private:
  int size_, x_, y_;
  OfRun of_run_;
};

/// The shared memory of one block: each piece an array of its own. Error{kInternal} when more is
/// taken than `bytes`, which the launch asked for.
class SharedMemory {
 public:
  explicit SharedMemory(int bytes) : bytes_(bytes) {}
  template <typename T>
  Checked<T> take(const char* name, int count) {
    taken_ += (count * static_cast<int>(sizeof(T)) + 15) / 16 * 16;
    if (taken_ > bytes_) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("emulated kernel: {} takes shared memory beyond "
                              "the {} bytes of the launch",
                              name, bytes_));
    }
    memory_.emplace_back(static_cast<std::size_t>(count) * sizeof(T));
    arrays_.push_back({name, memory_.back().data(), count, true,
                       std::vector<Shadow>(static_cast<std::size_t>(count))});
    return {&arrays_.back(), 0};
  }

 private:
  int bytes_;
  int taken_ = 0;
  std::deque<std::vector<std::byte>> memory_;
  std::deque<Array> arrays_;
};

/// The device's memory as a test sees it: arrays of the test, with bounds. An array with contents
/// may be read at once, one without must be written first.
class GlobalMemory {
 public:
  template <typename T>
  Checked<const T> input(const char* name, const std::vector<T>& values) {
    if (values.empty()) return {};
    auto* data = const_cast<T*>(values.data());  // NOLINT: only handed out as const
    return make(name, data, values.size(), true);
  }
  template <typename T>
  Checked<T> output(const char* name, std::vector<T>& values) {
    if (values.empty()) return {};
    return make(name, values.data(), values.size(), false);
  }
  /// `data` may be null: there is no such array.
  template <typename T>
  Checked<T> make(const char* name, T* data, std::size_t count, bool written) {
    if (data == nullptr) return {};
    Shadow first;
    first.written = written;
    arrays_.push_back(
        {name, data, static_cast<std::int64_t>(count), false, std::vector<Shadow>(count, first)});
    return {&arrays_.back(), 0};
  }

 private:
  std::deque<Array> arrays_;
};

struct Grid {
  int x, y, threads, shared_bytes;
  int runs = 1;  ///< a stack of runs has the grid once for each: CUDA's z
};

/// Runs kernel(block, shared memory) for every block of the grid, one after the other.
/// Error{kInternal} where a block has more threads than the kernel is compiled for, or the grid
/// more blocks along y or z than CUDA takes.
template <typename Kernel>
void launch(const Grid& grid, const Kernel& kernel) {
  ++course().launch;
  int most_threads = 256;
  if constexpr (requires { Kernel::kMostThreads; }) most_threads = Kernel::kMostThreads;
  if (grid.threads > most_threads) {
    throw Error(ErrorKind::kInternal, fmt::format("emulated kernel: {} threads a block; at most {}",
                                                  grid.threads, most_threads));
  }
  constexpr int kMostAlongYOrZ = 65535;
  if (grid.y > kMostAlongYOrZ || grid.runs > kMostAlongYOrZ) {
    throw Error(ErrorKind::kInternal, fmt::format("emulated kernel: a grid of {} x {} x {} blocks",
                                                  grid.x, grid.y, grid.runs));
  }
  for (int run = 0; run < grid.runs; ++run) {
    course().run = run;
    for (int y = 0; y < grid.y; ++y) {
      for (int x = 0; x < grid.x; ++x) {
        course().block = (run * grid.y + y) * grid.x + x;
        copies_of_threads().clear();
        Block block(grid.threads, run * grid.x + x, y, {x, grid.x});
        SharedMemory shared(grid.shared_bytes);
        kernel(block, shared);
      }
    }
  }
  course().run = 0;
}

}  // namespace headway::training::emulated_kernels
