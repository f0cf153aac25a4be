#pragma once

#include <memory>

#include "headway/core/block_cyclic.hpp"

namespace headway::detail {

/// Error{kBadStudy} where a part has more numbers than ScaLAPACK counts. All ranks call it.
std::unique_ptr<SharedCholesky> make_scalapack_cholesky(const SharedSquare& place);

}  // namespace headway::detail
