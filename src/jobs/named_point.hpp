#pragma once

#include <string>
#include <vector>

#include "headway/jobs/request.hpp"
#include "headway/sample_results.hpp"
#include "headway/theory_results.hpp"

namespace headway::jobs {

/// A point of a sweep.
struct PointName {
  std::vector<Index> widths;
  double temperature = 0.0;
};

/// The point that --point names, of the result in a file: with `sampled` that of samples. Error
/// {kUsage} if the result has no such point, {kBadData} if none of its points has an evidence.
PointName point_named(const Request& request, const SolveResult& solved,
                      const SampleResult* sampled);

/// The request with the widths and the temperature of --point as overlays, as --set gives them;
/// unchanged without --point. Reads the result.
Request at_named_point(const Request& request);

/// Error{kUsage} where --point is given with a result of train.
void refuse_point_of_networks(const Request& request);

/// Warns where the best point is at the edge of the sweep.
void warn_of_edge(const Request& request, const SolveResult& solved, const PointName& best,
                  Observer& observer);

}  // namespace headway::jobs
