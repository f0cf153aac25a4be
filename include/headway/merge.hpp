#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headway/provenance.hpp"
#include "headway/sample_results.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"
#include "headway/train_results.hpp"

namespace headway {

/// What a part says of itself before its numbers are read.
struct PartHeader {
  std::string file;
  std::string kind;  ///< the verb
  ResultProvenance provenance;
};

/// Why numbers of `found` do not belong to those of `wanted`: "is of another study: ...", "is of
/// other data", "was made by version ...". "" when study, data and version are the same.
std::string other_origin(const ResultProvenance& found, const ResultProvenance& wanted);

/// The indices of `parts` in the order of their shards. Error{kBadData} naming file and fault where
/// the parts do not belong together: one has another verb, study, data, version or number of parts
/// than the first, is a whole or an unfinished result, or is there twice. Error{kMissingFile} where
/// parts are missing, with the command that makes each.
std::vector<std::size_t> order_of_parts(const std::vector<PartHeader>& parts);

/// The provenance of the undivided result. Its command is that of the first part without --shard,
/// its time the sum over the parts, and `started` the earliest of theirs.
ResultProvenance merged_provenance(const std::vector<PartHeader>& parts);

/// The results of all parts in the order of their shards; nullopt for a missing one.
template <class Result>
using Parts = std::vector<std::optional<Result>>;

/// The undivided result. It is marked as interrupted if parts are missing; one part at least must
/// be there. Error{kBadData} where a part does not have the points or runs of its shard.
SolveResult merge_parts(const Study& study, Parts<SolveResult> parts);
SampleResult merge_parts(const Study& study, Parts<SampleResult> parts);
TrainResult merge_parts(const Study& study, Parts<TrainResult> parts);

}  // namespace headway
