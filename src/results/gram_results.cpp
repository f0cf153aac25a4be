#include <fmt/format.h>

#include "headway/gram_results.hpp"
#include "headway/model/path_index.hpp"
#include "headway/theory/gram.hpp"

namespace headway {

std::string gram_fault(const GramResult& result) {
  constexpr double kMostPaths = 1e6;
  if (result.heads.empty() || model::path_count<double>(result.heads) > kMostPaths)
    return "root attribute heads: allowed: at least one layer, at most 10^6 paths";
  const std::string fault = theory::gram_fault(result.data, model::path_count(result.heads));
  if (!fault.empty()) return "gram: " + fault;
  for (const GramSet& set : result.sets) {
    if (set.path_features.cols() != result.data.gram.rows() ||
        set.labels.cols() != result.data.outputs() ||
        set.labels.rows() != set.path_features.rows() || set.labels.rows() == 0) {
      return fmt::format(
          "sets/{}: path_features of {} x {} and labels of {} x {}; allowed: as many "
          "examples, {} numbers and {} outputs as in gram",
          set.name, set.path_features.rows(), set.path_features.cols(), set.labels.rows(),
          set.labels.cols(), result.data.gram.rows(), result.data.outputs());
    }
    if (!set.path_features.allFinite() || !set.labels.allFinite())
      return fmt::format("sets/{}: holds numbers that are not finite; allowed: finite numbers",
                         set.name);
  }
  return {};
}

}  // namespace headway
