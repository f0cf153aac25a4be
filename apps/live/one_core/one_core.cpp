// What core, numerics and theory have of threads, OpenBLAS and Ceres, for a page: it has none of
// them.
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/numerics/blas.hpp"
#include "theory/saddle_point_newton.hpp"

namespace headway {

void parallel_for(Index count, int, const std::function<void(Index)>& body) {
  for (Index i = 0; i < count; ++i) body(i);
}

int wanted_threads(int) { return 1; }
int resolve_threads(int) { return 1; }
int startable_threads(int) { return 1; }

namespace numerics {

void prepare_blas() {}

}  // namespace numerics

namespace theory {

SaddlePoint solve_by_ceres(const Action&, const OrderParameters&, const SaddlePointOptions&,
                           Observer&) {
  throw Error(ErrorKind::kUnavailable,
              "solve.optimizer = \"ceres\": not in the page; allowed: \"auto\"");
}

}  // namespace theory
}  // namespace headway
