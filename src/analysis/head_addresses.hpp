#pragma once

#include <cstddef>
#include <vector>

#include "headway/core/types.hpp"

/// Private to analysis: heads counted over all layers, and which path uses which head.
namespace headway::analysis {

struct HeadAddress {
  std::size_t layer;  // from 0
  int head;           // from 0, within its layer
};

/// The address of every head, layer 1 first.
std::vector<HeadAddress> all_heads(const std::vector<int>& heads);

/// Whether the path through row `index` of U_1 uses a head.
class PathMembership {
 public:
  PathMembership(const std::vector<int>& heads, Index outputs)
      : heads_(heads), stride_(heads.size()) {
    Index stride = outputs;  // the output is the fastest index, then h_L, ..., h_1
    for (std::size_t l = heads.size(); l-- > 0;) {
      stride_[l] = stride;
      stride *= heads[l];
    }
    size_ = stride;
  }
  [[nodiscard]] bool uses(Index index, const HeadAddress& address) const {
    return (index / stride_[address.layer]) % heads_[address.layer] == address.head;
  }
  /// Paths times outputs.
  [[nodiscard]] Index size() const { return size_; }

 private:
  const std::vector<int>& heads_;
  std::vector<Index> stride_;
  Index size_ = 0;
};

}  // namespace headway::analysis
