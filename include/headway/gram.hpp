#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/core/ranks.hpp"
#include "headway/dataset.hpp"
#include "headway/gram_results.hpp"
#include "headway/observer.hpp"
#include "headway/shard.hpp"

namespace headway {

struct Study;

/// `headway gram`: one pass over the training examples of all data sets, in blocks. The examples
/// are summed in leaves, and the leaves in one tree. P alone decides how many leaves there are (at
/// most 256), so the numbers are the same on any number of threads. Test sets and further sets of
/// the same name are joined. The study gives readout and attention, as for `solve`. A `shard` reads
/// and sums consecutive leaves only, for a later merge. Memory: some 4 + threads matrices of
/// p N_0 x p N_0, a block of features a thread, and the sets. Errors: kBadData,
/// naming the file, when data sets disagree in heads, features, outputs, readout or sets, when a
/// number is not finite, or when all features of a path are zero. kInterrupted when stopped,
/// because partial sums are no result.
GramResult gram(const Study& study, const std::vector<tasks::Dataset>& datasets,
                Observer& observer = no_observer(), const Shard& shard = {});

/// The same on all ranks, which call it together. Each reads its share of the examples. The first
/// rank gets the result, with the bits of one process; the others get nothing. If one fails, the
/// first throws its Error and the others get nothing.
std::optional<GramResult> gram_on_ranks(const Study& study,
                                        const std::vector<tasks::Dataset>& datasets,
                                        Observer& observer, Ranks& ranks);

/// The result of gram() for the whole, from the parts in the order of their shards. Errors:
/// kBadData if a part does not have the examples of its shard, or as gram().
GramResult merge_grams(std::vector<GramResult> parts);

}  // namespace headway
