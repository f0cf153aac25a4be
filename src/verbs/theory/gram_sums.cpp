#include "verbs/theory/gram_sums.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/text.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/study.hpp"
#include "headway/theory/gram.hpp"

namespace headway {
namespace {

constexpr Index kSmallestLeaf = 1024;  // examples
constexpr Index kMostLeaves = 256;

GramMatrices unpacked(const std::vector<double>& numbers, Index columns, Index outputs) {
  GramMatrices sums;
  const double* next = numbers.data();
  sums.gram.resize(columns, columns);
  for (Index j = 0; j < columns; ++j) {
    std::copy_n(next, columns - j, sums.gram.col(j).data() + j);
    next += columns - j;
  }
  numerics::mirror_lower(sums.gram);
  sums.projection = Eigen::Map<const MatrixXd>(next, columns, outputs);
  next += columns * outputs;
  sums.label_square = Eigen::Map<const MatrixXd>(next, outputs, outputs);
  sums.examples = static_cast<Index>(numbers.back());
  return sums;
}

/// Throws unless the nodes of a part, one after another, cover exactly the leaves of its shard.
void check_leaves(const GramResult& part, const Shard& shard, Index leaves) {
  const auto [begin, end] =
      leaves_of_part(static_cast<std::size_t>(leaves), shard.index, shard.count);
  auto next = static_cast<double>(begin);
  for (const GramNode& node : part.nodes) {
    const double size = std::ldexp(1.0, node.level);
    next = next == static_cast<double>(node.index) * size ? next + size : numerics::kUndefined;
  }
  if (next == static_cast<double>(end)) return;
  bad_data("part {}: its nodes do not cover leaves {} to {} of {}", shard_text(shard), begin, end,
           leaves);
}

}  // namespace

Index gram_leaves(Index examples) {
  return std::clamp<Index>((examples + kSmallestLeaf - 1) / kSmallestLeaf, 1, kMostLeaves);
}

std::vector<double> packed(const GramMatrices& sums) {
  const Index columns = sums.gram.rows();
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(columns * (columns + 1) / 2 + sums.projection.size() +
                                           sums.label_square.size() + 1));
  const auto add = [&numbers](const double* begin, Index count) {
    numbers.insert(numbers.end(), begin, begin + count);
  };
  for (Index j = 0; j < columns; ++j) add(sums.gram.col(j).data() + j, columns - j);
  add(sums.projection.data(), sums.projection.size());
  add(sums.label_square.data(), sums.label_square.size());
  numbers.push_back(static_cast<double>(sums.examples));
  return numbers;
}

std::vector<GramNode> nodes_of(const TreeSum& sums, Index columns, Index outputs) {
  std::vector<GramNode> nodes;
  for (const TreeSum::Node& node : sums.nodes()) {
    nodes.push_back(
        {node.level, static_cast<Index>(node.index), unpacked(node.sum, columns, outputs)});
  }
  return nodes;
}

void set_total(const std::vector<double>& total, Index columns, Index outputs, GramResult& result) {
  result.data = unpacked(total, columns, outputs);
  const std::string fault = theory::gram_fault(result.data, model::path_count(result.heads));
  if (!fault.empty()) bad_data("{}: {}", join(result.sources, ", "), fault);
}

Index GramResult::examples() const {
  Index sum = data.examples;
  for (const GramNode& node : nodes) sum += node.sums.examples;
  return sum;
}

GramResult merge_grams(std::vector<GramResult> parts) {
  if (parts.size() == 1 && !parts.front().is_part()) return std::move(parts.front());
  Index examples = 0;
  for (const GramResult& part : parts) examples += part.examples();
  const Index leaves = gram_leaves(examples);
  GramResult whole;
  Index columns = 0, outputs = 0;
  TreeSum tree;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    GramResult& part = parts[p];
    const Shard shard{p, parts.size()};
    check_leaves(part, shard, leaves);
    whole.seconds += part.seconds;
    whole.threads = std::max(whole.threads, part.threads);
    for (GramNode& node : part.nodes) {
      if (columns == 0) columns = node.sums.gram.rows(), outputs = node.sums.outputs();
      std::vector<double> numbers = packed(node.sums);
      const Index size = columns * (columns + 1) / 2 + columns * outputs + outputs * outputs + 1;
      if (node.sums.gram.cols() != columns || static_cast<Index>(numbers.size()) != size) {
        bad_data("part {}: its sums have other shapes than those of the parts before it",
                 shard_text(shard));
      }
      tree.push({node.level, static_cast<std::size_t>(node.index), std::move(numbers)});
      node.sums = {};
    }
  }
  std::swap(whole.sets, parts.front().sets);
  whole.heads = parts.front().heads;
  whole.head_names = parts.front().head_names;
  whole.readout = parts.front().readout;
  whole.sources = parts.front().sources;
  set_total(std::move(tree).total(), columns, outputs, whole);
  return whole;
}

}  // namespace headway
