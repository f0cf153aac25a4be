#pragma once

#include <string>
#include <vector>

#include "headway/sample_results.hpp"
#include "headway/theory_results.hpp"
#include "options.hpp"
#include "verb.hpp"

namespace headway::cli {

inline const CommandOption kPointOption = {"--point", "best|WIDTH,T",
                                           "only this point of a result: the best has the largest "
                                           "log evidence; or a width, or all widths, "
                                           "and a temperature, as in 10,0.3",
                                           &Options::point};

/// A point of a sweep.
struct PointName {
  std::vector<Index> widths;
  double temperature = 0.0;
};

/// The point that --point names, of the result in a file: with `sampled` that of samples. Error
/// {kUsage} if the result has no such point, {kBadData} if none of its points has an evidence.
PointName point_named(const Options& options, const SolveResult& solved,
                      const SampleResult* sampled);

/// The same options with the widths and the temperature of --point in place of it, as --set gives
/// them; as they are without --point. Reads the result.
Options at_named_point(const Options& options);

/// Error{kUsage} where --point is given with a result of train.
void refuse_point_of_networks(const Options& options);

/// Warns where the best point is at the edge of the sweep.
void warn_of_edge(const Options& options, const SolveResult& solved, const PointName& best,
                  Observer& observer);

}  // namespace headway::cli
