#pragma once

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "headway/checkpoints.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/detail_observer.hpp"
#include "headway/core/quiet_observer.hpp"
#include "headway/core/ranks.hpp"
#include "headway/schedule.hpp"
#include "jobs/job_for.hpp"

namespace headway::jobs {

/// A job that several ranks can share: `Base`, which every rank makes and carries out. The first
/// has the result, or all do (Request::everywhere). The first rank's observer hears of everything.
template <class Base>
class SharedJob : public Base {
  using Result = typename Base::ResultType;

 public:
  using Base::Base;

  void carry_out(Observer& observer) override {
    if (this->request.ranks == nullptr) return Base::carry_out(observer);
    QuietObserver other(observer);
    Observer& heard = ranks().is_first() ? observer : other;
    if (!ranks().is_first()) {
      this->request.watch = nullptr;
      this->request.record = {};
    }
    if (this->request.everywhere) {
      share_everywhere(heard);
    } else {
      share_result(heard);
    }
  }

 protected:
  /// compute() on one of several ranks, which all call it: returns the result on the first, nothing
  /// on the others.
  virtual std::optional<Result> share(Observer& observer) = 0;

  [[nodiscard]] Ranks& ranks() const { return *this->request.ranks; }

  /// share() by units. `divide()` gives the study that they are of; its hooks keep checkpoints.
  template <class Divide>
  std::optional<Result> share_units(Observer& observer, const Divide& divide) {
    const bool first = ranks().is_first();
    const std::string& output = this->request.output;
    const auto clear = [&] {
      if (first && this->request.force) PartFolder::clear(output);
    };
    if (!agree(ranks(), clear)) return std::nullopt;
    std::unique_ptr<SharedStudy<Result>> shared;
    std::shared_ptr<PartFiles<Result>> files;
    const auto divide_job = [&] {
      shared = divide();
      ResultProvenance whole = this->provenance;
      whole.seconds = this->earlier_seconds_;
      files = std::make_shared<PartFiles<Result>>(ranks(), output, this->study, whole,
                                                  shared->units(), this->overwrite_);
      if (!first || files->count() == 0) return;
      tell_message(observer, fmt::format("{} of {} {} are done already", files->count(),
                                         shared->units(), shared->unit_name()));
    };
    if (!agree(ranks(), divide_job)) return std::nullopt;
    std::optional<Result> result =
        headway::share(ranks(), *shared, *files, this->study.threads, observer);
    this->overwrite_ = this->overwrite_ || files->wrote();
    if (!output.empty()) {
      this->remove_ = [before = this->remove_, files] {
        if (before) before();
        files->remove();
      };
    }
    return result;
  }

 private:
  /// prepare() on one of several ranks. Only the first looks at the output.
  void prepare_on_rank(Observer& observer) {
    const std::string output = this->request.output;
    if (!ranks().is_first()) this->request.output.clear();
    this->prepare(observer);
    this->request.output = output;
    if (!this->request.shard.empty()) {
      const bool one_problem = this->study.solve.kernels == theory::KernelForm::kDistributed;
      throw Error(ErrorKind::kUsage,
                  one_problem ? "--shard: cannot be used with solve.kernels = \"distributed\""
                              : "--shard: cannot be used on several ranks (mpirun), which share "
                                "the work themselves");
    }
    this->study.threads = threads_of_rank(this->study.threads, ranks());
  }

  /// carry_out() up to the result, which the first rank has.
  void share_result(Observer& observer) {
    const auto make_ready = [&] {
      prepare_on_rank(observer);
      // What ranks must agree on before they share it.
      return fmt::format("{} {} {}", this->kind(), this->provenance.study_hash,
                         this->provenance.data_hash);
    };
    if (!agree_alike(ranks(), make_ready)) return;
    if (this->request.dry_run) return this->keep_plan();
    std::optional<Result> result = share(observer);
    if (!result) return;
    this->result_ = *std::move(result);
    this->result_.seconds += this->earlier_seconds_;
    this->finish(this->outcome_of(this->result_));
  }

  /// The same for a caller who wants the result on every rank. The first also writes the files, so
  /// that they are there when the others go on. A result that ranks do not send each other (Gram
  /// matrices) is its file alone: the others have nothing.
  void share_everywhere(Observer& observer) {
    const auto compute_first = [&] {
      share_result(observer);
      if (this->request.dry_run) return std::string();
      this->write_files();
      if (!this->outcome().interrupted) this->remove_checkpoints();
      if constexpr (io::SharedResult<Result>) {
        return io::result_bytes(this->study, this->result_, this->provenance);
      } else {
        return std::string();
      }
    };
    const auto compute_other = [&] {
      try {
        share_result(observer);
      } catch (const std::exception& error) {  // the first would wait for this rank for ever
        end_all(ranks(), error.what());
      }
      return std::string();
    };
    const std::string bytes = ranks().is_first() ? from_first(ranks(), compute_first)
                                                 : from_first(ranks(), compute_other);
    if (ranks().is_first() || this->request.dry_run) return;
    if constexpr (io::SharedResult<Result>) {
      this->result_ = io::read_shared_result<Result>("", bytes);
      this->provenance = io::read_result_provenance_of(bytes);
      this->finish(this->outcome_of(this->result_));
    }
  }
};

}  // namespace headway::jobs
