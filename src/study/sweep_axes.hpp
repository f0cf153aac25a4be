#pragma once

#include <string>
#include <vector>

#include "headway/core/option_value.hpp"
#include "headway/study.hpp"
#include "headway/study/train_run.hpp"

/// Private to study: the axes of [sweep], and the keys that count because of them.
namespace headway {

/// The axes of a table [sweep] in the order of its lines; a key given twice (in the file and by
/// --set) counts as given last. Error{kBadStudy} unless each is a list of different values of one
/// key, and no two set the same key.
std::vector<SweepAxis> read_sweep(const OptionValue& sweep);

/// "sweep.train.heads", and the list of values there.
std::string path_of(const SweepAxis& axis);
OptionValue all_values(const SweepAxis& axis);

/// The [sweep] table as text, "" when there are no axes.
std::string sweep_text(const std::vector<SweepAxis>& sweep);

/// Error{kBadStudy} where a line of [sweep] that sets a whole table sets `key`, which was set by
/// hand: its runs would not have that value.
void refuse_table_axes_that_set(const OptionValue& root, const std::string& key);

/// Keys that count only beside some value of another key (Option::counts_where), such as
/// train.experts with train.feed_forward = "mixture". Where the sweep has that value in any of its
/// runs, they count.

/// Takes the keys out of `root` that `before`, the study without its overlays, has and uses, and
/// that an overlay makes idle. So --set train.feed_forward=gelu need not unset train.experts.
void drop_keys_made_idle(const OptionValue& before, OptionValue& root);

/// Error{kBadStudy} for a key that counts in no run, or an axis of one. Keys at their defaults are
/// allowed, since a resolved study has them. Error{kBadStudy} also for a key that neither the
/// study's network nor any run's has.
void refuse_idle_keys(const OptionValue& root, const Study& study,
                      const std::vector<TrainRun>& runs);

}  // namespace headway
