#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headway/types.hpp"

/// The attention paths of a network with H_1, ..., H_L heads, and how they are numbered: everywhere
/// row-major with h_1 slowest,
///   path = ((h_1 H_2 + h_2) H_3 + ...) H_L + h_L,   h_l = 0, ..., H_l - 1.
/// Where a row stands for a path and an output (U_1, path outputs), the output is faster still.
namespace headway::model {

/// p = H_1 ... H_L. As a double it cannot overflow: for heads that nobody has checked yet.
template <typename Number = Index, typename Heads>
Number path_count(const Heads& heads) {
  Number paths = 1;
  for (const auto& h : heads) paths *= static_cast<Number>(h);
  return paths;
}

/// Heads (h_1, ..., h_L), counted from 1, of path `index` in 0..p-1.
std::vector<int> path_heads(const std::vector<int>& heads, Index index);

/// "(1,2)": the usual name of a path.
std::string path_name(const std::vector<int>& heads, Index index);
/// The names of all paths, in their order.
std::vector<std::string> path_names(const std::vector<int>& heads);

/// The rows of one output, from 0, among rows that stand for paths and outputs: p x columns.
MatrixXd output_rows(const MatrixXd& rows, Index outputs, Index output);

/// A head among those of all layers.
struct HeadAddress {
  std::size_t layer;  ///< from 0
  int head;           ///< from 0, within its layer
};

/// The address of every head, layer 1 first: "heads counted over all layers".
std::vector<HeadAddress> all_heads(const std::vector<int>& heads);

/// Which rows belong to paths through a head.
class PathMembership {
 public:
  explicit PathMembership(std::vector<int> heads, Index outputs = 1);

  /// Whether the path of row `row` takes this head.
  [[nodiscard]] bool uses(Index row, const HeadAddress& address) const {
    return (row / stride_[address.layer]) % heads_[address.layer] == address.head;
  }
  /// p C, the number of rows.
  [[nodiscard]] Index size() const { return size_; }

 private:
  std::vector<int> heads_;
  std::vector<Index> stride_;  // rows from one head of a layer to the next
  Index size_ = 0;
};

}  // namespace headway::model
