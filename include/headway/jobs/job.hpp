#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headway/core/field_sink.hpp"
#include "headway/dataset.hpp"
#include "headway/provenance.hpp"
#include "headway/results/lookup.hpp"
#include "headway/sample_results.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"

namespace headway::cli {

/// How a computation ended.
struct Outcome {
  std::string done;  ///< "7 points": what was computed, for the closing line
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
  std::vector<std::string> faults = {};  ///< what keeps it from being usable, one line each
};

/// What another verb of the theory can use again, on the same study and data.
struct Reusable {
  Study study;
  std::shared_ptr<const tasks::Dataset> dataset;
  std::shared_ptr<const SolveResult> solved;
  std::shared_ptr<const SampleResult> sampled;  ///< whose draws may be used, too; or null

  [[nodiscard]] SolveResult known() const {
    return sampled ? theory_with_draws(*sampled) : *solved;
  }
};

/// A finished computation of any verb, and what the program or Python can make of it. The functions
/// keep study, data and result alive.
struct Computation {
  std::string plan;  ///< of a dry run; all else is then empty
  std::string kind;  ///< of the result, as in the file; empty without one
  Outcome outcome;
  ResultProvenance provenance;
  std::function<void()> write_files = {};         ///< those that -o and --export ask for
  std::function<std::string()> print = {};        ///< standard output: a table, or JSON
  std::string unwritten;                          ///< why the files could not be written, if so
  std::string closing;                            ///< the last line on standard error
  std::function<void()> remove_checkpoints = {};  ///< to be called when the result is written
  /// Shows the result field by field, and writes its file; both empty where it has no such file.
  std::function<void(const ResultProvenance&, FieldSink&)> show = {};
  std::function<void(const ResultProvenance&, const std::string& file_path, bool force)> save = {};
  std::shared_ptr<const Reusable> reusable;  ///< for other verbs; null if none can use it
};

}  // namespace headway::cli
