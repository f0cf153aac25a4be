#pragma once

#include <vector>

#include "headway/train_run.hpp"
#include "headway/train_task.hpp"

namespace headway {

/// Keys that count only beside some value of another key (Option::counts_where), such as
/// train.experts with train.feed_forward = "mixture". Where the sweep has that value in any of its
/// runs, they count.

/// Takes those out of `root` that `before`, the study without its overlays, has and uses, and that
/// an overlay makes idle: who sets train.feed_forward = "gelu" need not unset train.experts.
void drop_keys_made_idle(const OptionValue& before, OptionValue& root);

/// Error{kBadStudy} for one that counts in no run and is not at its default, which a resolved study
/// has, for an axis of one, and for a key that neither the study's network nor any run's has at
/// all.
void refuse_idle_keys(const OptionValue& root, const Study& study,
                      const std::vector<TrainRun>& runs);

}  // namespace headway
