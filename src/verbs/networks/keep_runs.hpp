#pragma once

#include <span>

#include "headway/core/clock.hpp"
#include "headway/core/interruption.hpp"
#include "headway/error.hpp"
#include "headway/observer.hpp"
#include "headway/verbs/networks/trained.hpp"

/// Private to verbs.
namespace headway {

/// Keeps run(network) of each network, until interrupted.
template <class Run, class RunOf>
void keep_runs(NetworkRuns<Run>& result, std::span<const TrainedNetwork> networks,
               const Observer& observer, const RunOf& run) {
  const Clock::time_point began = Clock::now();
  result.planned = networks.size();
  for (const TrainedNetwork& network : networks) {
    try {
      throw_if_interrupted(observer);
      result.runs.push_back(run(network));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted) throw;
      result.interrupted = true;
      break;
    }
  }
  result.seconds = seconds_since(began);
}

}  // namespace headway
