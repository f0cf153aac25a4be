#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "headway/core/field_sink.hpp"
#include "headway/dataset.hpp"
#include "headway/jobs/request.hpp"
#include "headway/observer.hpp"
#include "headway/provenance.hpp"
#include "headway/results/lookup.hpp"
#include "headway/sample_results.hpp"
#include "headway/shard.hpp"
#include "headway/study.hpp"
#include "headway/study_file.hpp"
#include "headway/theory_results.hpp"

namespace headway::jobs {

class CheckpointFault;

/// How a computation ended.
struct Outcome {
  std::string done;  ///< "7 points": what was computed, for the closing line
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
  std::vector<std::string> faults = {};  ///< what keeps it from being usable, one line each
  bool goes_on = false;  ///< interrupted, with a checkpoint from which the same command goes on
};

/// What another verb of the theory can use again, on the same study and data.
struct Reusable {
  std::shared_ptr<const Study> study;
  std::shared_ptr<const tasks::Dataset> dataset;
  std::shared_ptr<const SolveResult> solved;
  std::shared_ptr<const SampleResult> sampled;  ///< whose draws may be used, too; or null

  [[nodiscard]] SolveResult known() const {
    return sampled ? theory_with_draws(*sampled) : *solved;
  }
};

/// One verb at work on one study: what program and Python ask for, and what they then print, write
/// or hand to other verbs. make_job() makes it, carry_out() does the work. The job of a verb
/// (src/jobs/verbs/) says the steps in which verbs differ.
class Job : public std::enable_shared_from_this<Job> {
 public:
  explicit Job(Request asked) : request(std::move(asked)) {}
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  /// Prepares, then plans (Request::dry_run) or computes. Every fault of study, data and output
  /// shows before anything is computed. Of several ranks (Request::ranks) all call it. Throws
  /// headway::Error.
  virtual void carry_out(Observer& observer) = 0;
  /// Whether the result, or the plan, is here: not on ranks that have computed for the first.
  [[nodiscard]] bool is_done() const { return done_; }
  /// Of a dry run: sizes and costs, as text or JSON.
  [[nodiscard]] const std::string& planned() const { return planned_; }

  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  /// The result, where it is of this type; else null.
  template <class Result>
  [[nodiscard]] const Result* result() const {
    return static_cast<const Result*>(find(typeid(Result)));
  }
  /// The kind of the result file; "" where the result has none of its own. json() is then "", too.
  [[nodiscard]] virtual std::string_view kind() const = 0;
  [[nodiscard]] virtual std::string json() const = 0;
  /// Shows the result field by field, and writes its file.
  virtual void show(const ResultProvenance& origin, FieldSink& sink) const = 0;
  virtual void save(const ResultProvenance& origin, const std::string& file_path,
                    bool force) const = 0;

  /// The files that Request::output and ::weights ask for. Error{kCannotWrite}.
  void write_files();
  /// To be called when the result is written.
  void remove_checkpoints() const;
  /// What other verbs can take; null if none can.
  [[nodiscard]] virtual std::shared_ptr<const Reusable> reusable() { return nullptr; }

  Request request;
  Study study;
  io::StudyOrigin origin = io::StudyOrigin::kStudyFile;
  Shard shard = {};  ///< the part of the study that is computed
  ResultProvenance provenance;
  /// Why files could not be written: checkpoints, which stops a run as Ctrl-C does, or those of
  /// write_files(), where the caller goes on without them. "" while all could.
  std::string unwritten;

 protected:
  // The steps, in their order.

  /// The study, with its overlays; data come later.
  virtual void load();
  /// Reads or makes the data and finds every fault that can be found before computing; returns
  /// their hash.
  virtual std::string read_data(Observer& observer) = 0;
  /// Whether a run that was interrupted can go on.
  [[nodiscard]] virtual bool resumes() const { return false; }
  /// Whether the existing output was left by an interrupted run of this job, which this run then
  /// continues. Asked of jobs that resume.
  [[nodiscard]] virtual bool goes_on() const { return is_own_partial_result(); }
  /// Refuses further files that could not be written.
  virtual void check_exports() const {}
  /// What a dry run tells: sizes and costs, as text, or as one JSON object (Request::json).
  [[nodiscard]] virtual std::string plan() const = 0;
  virtual void write_result() const = 0;
  /// Further files.
  virtual void write_exports() const {}
  [[nodiscard]] virtual const void* find(const std::type_info& type) const = 0;

  /// All steps up to the computation.
  void prepare(Observer& observer);
  /// Whether the existing output is the partial result of an interrupted run of this study and
  /// data.
  [[nodiscard]] bool is_own_partial_result() const;
  /// Whether the output that is there now was left by an interrupted run of this job.
  [[nodiscard]] bool continues() const;
  /// Keeps how the computation ended.
  void finish(Outcome outcome);

  bool overwrite_ = false;             ///< the output may exist: --force, or this run continues it
  std::function<void()> remove_ = {};  ///< the checkpoints; called when the result is complete
  std::shared_ptr<void> lock_ = {};    ///< keeps other runs from the output (OutputLock)
  double earlier_seconds_ = 0.0;       ///< of calls whose work this one continues
  std::shared_ptr<CheckpointFault> fault_;
  std::string planned_;
  Outcome outcome_;
  bool done_ = false;

 private:
  void check_output_early() const;
  void check_output(bool overwrite) const;
  void refuse_partial_of_another_run() const;
};

/// The job of a verb, as the command line spells it. Error{kUsage} for a verb that computes
/// nothing; others where the input decides what it is and cannot be read.
std::shared_ptr<Job> make_job(std::string_view verb, Request request);

/// Whether several ranks can share the work of a verb.
bool ranks_share(std::string_view verb);

}  // namespace headway::jobs
