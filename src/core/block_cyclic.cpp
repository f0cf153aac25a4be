#include "headway/core/block_cyclic.hpp"

#include <algorithm>
#include <cmath>

namespace headway {
namespace {

constexpr Index kBlock = 64;  // long enough for level-3 BLAS, short enough to share evenly
constexpr Index kBlocksOfAPart = 4;

}  // namespace

Index BlockCyclic::count_below(Index global) const {
  if (part < 0) return 0;
  const Index whole = global / block;  // blocks that end at or below
  const Index own = whole / parts + (whole % parts > part ? 1 : 0);
  return own * block + (whole % parts == part ? global % block : 0);
}

Index BlockCyclic::global(Index local) const {
  return (local / block * parts + part) * block + local % block;
}

void BlockCyclic::for_each_run(
    const std::function<void(Index first, Index count, Index at)>& run) const {
  const Index all = count();
  for (Index at = 0; at < all; at += block) run(global(at), std::min(block, all - at), at);
}

RankGrid::RankGrid(int ranks, int rank) {
  rows = static_cast<int>(std::sqrt(static_cast<double>(ranks)));
  columns = ranks / rows;
  const bool placed = rank < rows * columns;
  row = placed ? rank / columns : -1;
  column = placed ? rank % columns : -1;
}

SharedSquare::SharedSquare(Index size, int ranks, int rank) : grid(ranks, rank) {
  const Index block = std::clamp<Index>(size / (kBlocksOfAPart * grid.columns), 1, kBlock);
  rows = {size, block, grid.rows, grid.row};
  columns = {size, block, grid.columns, grid.column};
}

std::vector<SharedSquare::Strip> SharedSquare::strips(Index about) const {
  std::vector<Strip> all;
  const Index height = std::max<Index>(1, about / rows.block) * rows.block;
  const Index count = rows.count();
  const BlockCyclic first{rows.size, rows.block, rows.parts, 0};  // has the most
  for (Index row = 0; row < first.count(); row += height) {
    const Index here = std::min(height, count - row);
    if (here <= 0) {
      all.push_back({});
      continue;
    }
    all.push_back({row, here, columns.count_below(rows.global(row + here - 1) + 1)});
  }
  return all;
}

}  // namespace headway
