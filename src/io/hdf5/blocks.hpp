#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5/input.hpp"

namespace headway::io {

/// Entries of the first index in one block when an array is read in order: about 16 MiB of doubles;
/// whole chunks, so that none is unpacked twice, where that takes at most 64 MiB.
inline Index rows_per_block(const ArrayInfo& info) {
  constexpr Index kBlockDoubles = Index{2} << 20;
  constexpr Index kAlignedBlockDoubles = Index{8} << 20;
  Index row = 1;
  for (std::size_t d = 1; d < info.shape.size(); ++d) row *= std::max<Index>(info.shape[d], 1);
  const Index block = std::max<Index>(1, kBlockDoubles / row);
  if (info.chunk.empty() || info.chunk[0] <= 1) return block;
  const Index chunk = info.chunk[0];
  const Index aligned = std::max<Index>(chunk, block / chunk * chunk);
  return aligned * row <= kAlignedBlockDoubles ? aligned : block;
}

/// Calls visit(info, first row, number of rows, their values) for all rows of an array, block by
/// block. The array is no scalar.
template <typename Visit>
void for_each_block(const Hdf5InputFile& file, const std::string& path, Visit visit) {
  const Hdf5Array array = file.open_array(path);
  const Index rows = array.info().shape[0];
  const Index block = rows_per_block(array.info());
  std::vector<double> values(static_cast<std::size_t>(std::min(block, rows) * array.row_size()));
  for (Index begin = 0; begin < rows; begin += block) {
    const Index count = std::min(block, rows - begin);
    array.read_rows(begin, count, values.data());
    visit(array.info(), begin, count, std::span<const double>(values));
  }
}

}  // namespace headway::io
