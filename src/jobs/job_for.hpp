#pragma once

#include <memory>
#include <string>
#include <utility>

#include "headway/error.hpp"
#include "headway/jobs/job.hpp"
#include "headway/result_file.hpp"
#include "jobs/checkpoint_fault.hpp"

namespace headway::jobs {

/// Has a file and a JSON object of its own (results/result_fields.hpp).
template <class Result>
concept IsResult = requires {
  Result::kVerb;
};

/// The job of a verb that returns a Result. `Base`: Job, or one that has steps of several verbs.
template <class Result, class Base = Job>
class JobFor : public Base {
 public:
  using Base::Base;

  void carry_out(Observer& observer) override {
    this->prepare(observer);
    if (this->request.dry_run) return keep_plan();
    result_ = compute_watched(observer);
    this->finish(outcome_of(result_));
  }

  [[nodiscard]] std::string_view kind() const override {
    if constexpr (IsResult<Result>) return Result::kVerb;
    return "";
  }
  [[nodiscard]] std::string json() const override {
    if constexpr (IsResult<Result>) return io::result_json(this->study, result_) + "\n";
    return "";
  }
  void show(const ResultProvenance& from, FieldSink& sink) const override {
    if constexpr (IsResult<Result>)
      io::ResultOutput<Result>::show(this->study, result_, from, sink);
  }
  void save(const ResultProvenance& from, const std::string& file_path, bool force) const override {
    if constexpr (IsResult<Result>) io::write_result(file_path, this->study, result_, from, force);
  }

 protected:
  using ResultType = Result;

  virtual Result compute(Observer& observer) = 0;
  [[nodiscard]] virtual Outcome outcome_of(const Result& result) const = 0;

  /// What lies there is looked at again: since this run began, another may have finished the same
  /// job, and its whole result stays.
  void write_result() const override {
    save(this->provenance, this->request.output,
         this->request.force || (this->overwrite_ && this->continues()));
  }
  [[nodiscard]] const void* find(const std::type_info& type) const override {
    return this->done_ && !this->request.dry_run && type == typeid(Result) ? &result_ : nullptr;
  }

  void keep_plan() {
    this->planned_ = this->plan();
    this->done_ = true;
  }
  /// compute(). A checkpoint that cannot be written stops it as Ctrl-C does. `seconds` of the
  /// result are those of all calls.
  Result compute_watched(Observer& observer) {
    FaultObserver watching(observer, *this->fault_);
    try {
      Result result = compute(watching);
      if constexpr (requires { result.seconds; }) result.seconds += this->earlier_seconds_;
      return result;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInterrupted || !this->fault_->happened()) throw;
      throw Error(ErrorKind::kCannotWrite, this->fault_->text());
    }
  }

  Result result_{};
};

}  // namespace headway::jobs
