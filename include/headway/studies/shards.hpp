#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/studies/provenance.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/study.hpp"
#include "headway/studies/training.hpp"

// A study in parts that may be computed on different machines, and put together again.
namespace headway::studies {

/// One of `count` parts of a study, counted from 0. Units of work are dealt to the parts in turn,
/// so what a unit computes does not depend on how many parts there are; more parts than units leave
/// some empty, which are results like any other.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;

  [[nodiscard]] bool whole() const { return count == 1; }
  [[nodiscard]] bool has(std::size_t unit) const { return unit % count == index; }
};

/// "1/4", and back. Error{kUsage} for anything but i/n with 0 <= i < n <= 10^6.
std::string shard_text(const Shard& shard);
Shard read_shard(std::string_view text);

/// The units of `solve`, which are chains of sweep points that are solved one from another: one
/// temperature, widths falling from the Gaussian-process side. They do not depend on the number of
/// threads. Without solve.warm_start every point is one.
std::vector<std::vector<std::size_t>> solve_chains(const Study& study);

/// The sweep points (widths outer, temperatures inner) of a part, rising. `solve` deals chains,
/// `sample` single points.
std::vector<std::size_t> solve_points(const Study& study, const Shard& shard);
std::vector<std::size_t> sample_points(const Study& study, const Shard& shard);
/// Of `units` things, those of a part.
std::vector<std::size_t> dealt_units(std::size_t units, const Shard& shard);
/// The temperatures, by number, of sweep points: a part has the Gaussian process at these alone.
std::vector<std::size_t> temperatures_of(const Study& study,
                                         const std::vector<std::size_t>& points);

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

/// The undivided result of parts in the order of their shards. Where one is missing (at most all
/// but one) it is marked as interrupted. Error{kBadData} where a part has not the points or runs
/// that its shard of the study has.
template <class Result>
using Parts = std::vector<std::optional<Result>>;
SolveResult merge_parts(const Study& study, Parts<SolveResult> parts);
SampleResult merge_parts(const Study& study, Parts<SampleResult> parts);
TrainResult merge_parts(const Study& study, Parts<TrainResult> parts);

}  // namespace headway::studies
