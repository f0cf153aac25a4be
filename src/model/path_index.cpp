#include "headway/model/path_index.hpp"

#include <fmt/format.h>

#include <utility>

#include "headway/core/text.hpp"

namespace headway::model {

std::vector<int> path_heads(const std::vector<int>& heads, Index index) {
  std::vector<int> path(heads.size());
  for (std::size_t l = heads.size(); l-- > 0;) {
    path[l] = static_cast<int>(index % heads[l]) + 1;
    index /= heads[l];
  }
  return path;
}

std::string path_name(const std::vector<int>& heads, Index index) {
  return fmt::format("({})", join(path_heads(heads, index), ","));
}

std::vector<std::string> path_names(const std::vector<int>& heads) {
  std::vector<std::string> names;
  for (Index path = 0; path < path_count(heads); ++path) names.push_back(path_name(heads, path));
  return names;
}

MatrixXd output_rows(const MatrixXd& rows, Index outputs, Index output) {
  return rows(Eigen::seqN(output, rows.rows() / outputs, outputs), Eigen::all);
}

std::vector<HeadAddress> all_heads(const std::vector<int>& heads) {
  std::vector<HeadAddress> result;
  for (std::size_t l = 0; l < heads.size(); ++l) {
    for (int h = 0; h < heads[l]; ++h) result.push_back({l, h});
  }
  return result;
}

PathMembership::PathMembership(std::vector<int> heads, Index outputs)
    : heads_(std::move(heads)), stride_(heads_.size()), size_(outputs) {
  for (std::size_t l = heads_.size(); l-- > 0;) {
    stride_[l] = size_;
    size_ *= heads_[l];
  }
}

}  // namespace headway::model
