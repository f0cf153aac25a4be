#pragma once

#include <cstddef>

#include "headway/core/rng.hpp"
#include "headway/observer.hpp"
#include "headway/saddle_point.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"

namespace headway {

/// A start near the infinite-width limit of an architecture.
theory::OrderParameters random_start(const model::Architecture& architecture, Rng& rng);

/// solve.extra_starts for point `index`: keeps in `saddle` the lowest minimum that any start leads
/// to, and says in `point` how far they are apart. Cost: a saddle point each.
void try_other_starts(const Study& study, const theory::Action& action, std::size_t index,
                      Observer& observer, theory::SaddlePoint& saddle, SolvePoint& point);

}  // namespace headway
