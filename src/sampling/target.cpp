#include "headway/sampling/target.hpp"

#include <fmt/format.h>

#include "headway/error.hpp"

namespace headway::sampling {
std::vector<std::string> Target::coordinate_names() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(dimension()));
  for (Index i = 0; i < dimension(); ++i) names.push_back(fmt::format("q[{}]", i));
  return names;
}

MatrixXd Target::information(const Eigen::Ref<const VectorXd>& /*position*/) {
  throw Error(ErrorKind::kInternal, "Target::information: this target does not provide it");
}

}  // namespace headway::sampling
