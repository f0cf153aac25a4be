#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headway/core/field_sink.hpp"
#include "headway/studies/provenance.hpp"
#include "headway/studies/results.hpp"
#include "headway/studies/study.hpp"
#include "headway/tasks/dataset.hpp"

namespace headway::cli {

/// How a computation ended.
struct Outcome {
  std::string done;  ///< "7 points": what was computed, for the closing line
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
  std::vector<std::string> faults = {};  ///< what keeps it from being usable, one line each
};

/// What a verb of the theory leaves for another one on the same study and data.
struct Reusable {
  studies::Study study;
  std::shared_ptr<const tasks::Dataset> dataset;
  std::shared_ptr<const studies::SolveResult> solved;
};

/// A computation of any verb that is done: what the program, or Python, can make of it. The
/// functions keep study, data and result alive.
struct Computation {
  std::string plan;  ///< of a dry run, which has nothing else
  std::string kind;  ///< of the result, as the file says it; empty where there is none
  Outcome outcome;
  studies::ResultProvenance provenance;
  std::function<void()> write_files = {};         ///< what -o and its like ask for
  std::function<std::string()> print = {};        ///< standard output: a table, or JSON
  std::string closing;                            ///< the last line on standard error
  std::function<void()> remove_checkpoints = {};  ///< nothing is left to go on with
  /// The result as the file has it, and that file; both empty where the output is no result file.
  std::function<void(const studies::ResultProvenance&, FieldSink&)> show = {};
  std::function<void(const studies::ResultProvenance&, const std::string& file_path, bool force)>
      save = {};
  std::shared_ptr<const Reusable> reusable;  ///< null where no verb takes it
};

}  // namespace headway::cli
