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

/// The numbers of `parts` in the order of their shards. Error{kBadData} naming file and fault where
/// they do not belong together: another verb, study, data, version or number of parts than the
/// first, a whole or an unfinished result, a part twice. Error{kMissingFile} where parts are
/// missing, with the command that makes each.
std::vector<std::size_t> order_of_parts(const std::vector<PartHeader>& parts);

/// That of the undivided result: its command is that of the first part without --shard, its time
/// the sum of theirs, `started` the earliest.
ResultProvenance merged_provenance(const std::vector<PartHeader>& parts);

/// The results of all parts in the order of their shards. Nothing stands where one is missing.
template <class Result>
using Parts = std::vector<std::optional<Result>>;

/// The undivided result. Where parts are missing (not all may be) it is marked as interrupted.
/// Error{kBadData} where a part has not the points or runs that its shard of the study has.
SolveResult merge_parts(const Study& study, Parts<SolveResult> parts);
SampleResult merge_parts(const Study& study, Parts<SampleResult> parts);
TrainResult merge_parts(const Study& study, Parts<TrainResult> parts);

}  // namespace headway
