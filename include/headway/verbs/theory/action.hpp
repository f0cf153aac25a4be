#pragma once

#include "headway/action.hpp"
#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/study.hpp"

namespace headway {

/// The action S (eq. 18) of a study's first sweep point on data in memory, to be evaluated at any
/// U. Errors and cost: those of the path features and kernels of `solve`.
theory::Action make_action(const Study& study, const tasks::Dataset& dataset, Observer& observer);

}  // namespace headway
