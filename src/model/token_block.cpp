#include "model/token_block.hpp"

#include <fmt/format.h>

#include "headway/error.hpp"

namespace headway::model {
namespace {

// Moves the real tokens together and drops the rest.
void drop_padding(const std::vector<std::uint8_t>& mask, TokenBlock* block) {
  Index kept = 0;
  for (Index b = 0; b < block->count; ++b) {
    block->offset.push_back(kept);
    for (Index s = 0; s < block->sequence; ++s) {
      const Index column = b * block->sequence + s;
      if (mask[static_cast<std::size_t>(column)] == 0) continue;
      if (kept != column) block->tokens.col(kept) = block->tokens.col(column);
      block->position.push_back(s);
      ++kept;
    }
    if (kept == block->offset.back()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("mask of example {} (from 0): has no real token, must have at least "
                              "one",
                              block->begin + b));
    }
  }
  block->offset.push_back(kept);
  block->tokens.conservativeResize(Eigen::NoChange, kept);
}

}  // namespace

TokenBlock read_token_block(SourceReader& reader, Index begin, Index count) {
  const ExampleSource& source = reader.source();
  TokenBlock block;
  block.begin = begin;
  block.count = count;
  block.sequence = source.tokens();
  const Index columns = count * block.sequence;
  block.tokens.resize(source.features(), columns);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(columns), 1);
  reader.read([&](const ExampleSource& examples) {
    examples.read_inputs(begin, count, block.tokens.data());
    if (examples.has_mask()) examples.read_mask(begin, count, mask.data());
  });
  block.offset.reserve(static_cast<std::size_t>(count + 1));
  block.position.reserve(static_cast<std::size_t>(columns));
  drop_padding(mask, &block);
  return block;
}

void gather_query(const TokenBlock& block, Index b, Index query,
                  const Eigen::Map<const MatrixXd>& full, Eigen::Ref<VectorXd> attention) {
  const Index position = block.position[static_cast<std::size_t>(query)];
  const auto first = static_cast<std::size_t>(block.first(b));
  for (Index t = 0; t < block.length(b); ++t) {
    attention[t] = full(block.position[first + static_cast<std::size_t>(t)], position);
  }
  const auto others = [](const auto& column) { return (column.array() != 0.0).count(); };
  if (block.padded(b) && others(attention) != others(full.col(position))) {
    throw Error(ErrorKind::kBadData,
                fmt::format("attention of example {} (from 0), query {} (from 0): attends to a "
                            "padded token, must have 0 there",
                            block.begin + b, position));
  }
}

}  // namespace headway::model
