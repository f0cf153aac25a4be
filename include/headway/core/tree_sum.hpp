#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "headway/core/ranks.hpp"

namespace headway {

/// The sum of numbered leaves, vectors of one length, in one fixed binary tree over their numbers,
///   ((0 + 1) + (2 + 3)) + ((4 + 5) + 6).
/// So the sum has the same bits, however the leaves are dealt to threads, ranks or parts.
/// Memory: at most 2 log2(leaves) vectors.
class TreeSum {
 public:
  /// The sum over the leaves [index 2^level, (index + 1) 2^level).
  struct Node {
    int level = 0;
    std::size_t index = 0;
    std::vector<double> sum;
  };

  /// Adds the leaf or node that begins where the last one ended. The first may begin anywhere.
  /// Error{kInternal} for a gap.
  void push(Node node);
  void push(std::size_t leaf, std::vector<double> sum) { push(Node{0, leaf, std::move(sum)}); }

  /// What is there so far, with as few nodes as the tree allows.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  /// Of leaves 0, 1, ... without a gap: their sum. Error{kInternal} when the first is another one.
  [[nodiscard]] std::vector<double> total() &&;

 private:
  std::vector<Node> nodes_;
};

/// [begin, end) of the leaves that part `part` of `parts` has: consecutive, as equal as can be.
std::pair<std::size_t, std::size_t> leaves_of_part(std::size_t leaves, std::size_t part,
                                                   std::size_t parts);

/// The sum over the leaves of all R ranks, on the first rank; the others get nothing. Each rank has
/// the leaves of leaves_of_part(). All call it together. Each sends at most 2 log2(leaves) vectors
/// up a tree of ranks, log2 R of them one after another.
std::vector<double> total_on_first(Ranks& ranks, TreeSum mine);
/// The same, and the sum goes back to every rank.
std::vector<double> total_over_ranks(Ranks& ranks, TreeSum mine);

/// Copies the first rank's numbers to all. All call it together, with the same length.
void broadcast(Ranks& ranks, std::span<double> numbers);

}  // namespace headway
