#pragma once

#include "headway/studies/study.hpp"
#include "io/study_file/value.hpp"

namespace headway::io::detail {

/// Keys of [train] that count only beside some value of another key, such as train.experts with
/// train.feed_forward = "mixture". Where the sweep has that value in any of its runs, they count.

/// Takes those out of `root` that `before`, the study without its overlays, has and uses, and that
/// an overlay makes idle: who sets train.feed_forward = "gelu" need not unset train.experts.
void drop_keys_made_idle(const Value& before, Value& root);

/// Error{kBadStudy} for one that counts in no run and is not at its default, which a resolved study
/// has, and for an axis of one.
void refuse_idle_keys(const Value& root);

}  // namespace headway::io::detail
