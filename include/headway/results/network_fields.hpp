#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/types.hpp"

namespace headway {

/// What a verb of trained networks returns.
template <class Run>
struct NetworkRuns {
  std::vector<Run> runs;    ///< those that were begun
  std::size_t planned = 0;  ///< how many there would be without an interruption
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};

/// Which trained network a record is about.
struct NetworkRun {
  Index run = 1;
  std::string label, variant;
  std::uint64_t seed = 0;
};

/// Its fields, as the first of `Record`, which has it as its base.
template <class Visitor, class Record>
void fields_of_network(Visitor& visit, Record& r) {
  visit("run", r.run, "number of the run in the training study, counted from 1");
  visit("label", r.label, "the run in short: what the sweep sets, seeds left out");
  visit("variant", r.variant,
        "attention variant, with \" + mixture\" or \" + encoder\" if it has them");
  visit("seed", r.seed, "seed of the run");
}

}  // namespace headway
