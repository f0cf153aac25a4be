#include "training/model/row_pieces.hpp"

#include <array>

#include "training/kernels/cpu/aligned_floats.hpp"

namespace headway::training::detail {
namespace {

constexpr Index kCacheLine = 16;  // floats of 64 bytes
constexpr std::size_t kSlots = 8;

}  // namespace

float* thread_buffer(int slot, Index floats) {
  static thread_local std::array<AlignedBuffer, kSlots> buffers;
  return buffers.at(static_cast<std::size_t>(slot)).reserve(floats);
}

TransposedWeight::TransposedWeight(const float* weight, Index rows, Index columns)
    : data_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(rows * columns))) {
  constexpr Index kTile = 16;  // lines of both sides stay in the first cache
  for (Index row = 0; row < rows; row += kTile) {
    for (Index column = 0; column < columns; column += kTile) {
      for (Index c = column; c < std::min(columns, column + kTile); ++c) {
        for (Index r = row; r < std::min(rows, row + kTile); ++r)
          data_[static_cast<std::size_t>(c * rows + r)] = weight[r * columns + c];
      }
    }
  }
}

PartialSums::PartialSums(Index groups, std::vector<Part> parts)
    : parts_(std::move(parts)), begun_(static_cast<std::size_t>(groups)), groups_(groups) {
  for (const Part& part : parts_) {
    offsets_.push_back(stride_);
    stride_ += (part.floats + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  sums_ = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(groups_ * stride_));
}

float PartialSums::begin_chunk(Index group) {
  char& begun = begun_[static_cast<std::size_t>(group)];
  if (begun != 0) return 1.0F;
  begun = 1;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    if (parts_[p].begins == Begins::kZero) std::fill_n(at(group, p), parts_[p].floats, 0.0F);
  }
  return 0.0F;
}

void PartialSums::finish(int threads) const {
  constexpr Index kRun = 4096;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const Part& part = parts_[p];
    if (part.out == nullptr) continue;
    parallel_for((part.floats + kRun - 1) / kRun, threads, [&](Index run) {
      const Index end = std::min(part.floats, (run + 1) * kRun);
      std::copy_n(sums_.get() + offsets_[p] + run * kRun, end - run * kRun, part.out + run * kRun);
      for (Index g = 1; g < groups_; ++g) {
        const float* copy = sums_.get() + g * stride_ + offsets_[p];
        for (Index i = run * kRun; i < end; ++i) part.out[i] += copy[i];
      }
    });
  }
}

}  // namespace headway::training::detail
