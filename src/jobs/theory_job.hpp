#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "headway/core/detail_observer.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset.hpp"
#include "headway/theory_results.hpp"
#include "headway/verbs/theory/plan.hpp"
#include "jobs/job_for.hpp"
#include "jobs/named_point.hpp"
#include "jobs/outcomes.hpp"

namespace headway::jobs {

/// How verbs of the theory differ before they compute.
struct TheoryTraits {
  std::string verb;
  /// What memory must hold: kSamples has draws beside the solution, kAligns a whole kernel.
  TheoryVerb kind = TheoryVerb::kSolves;
  bool reuses = true;  ///< takes the order parameters of a result given as input
};

/// The steps that verbs of the theory share.
class TheoryStart : public Job {
 public:
  TheoryStart(Request asked, TheoryTraits traits)
      : Job(std::move(asked)), traits_(std::move(traits)) {}

 protected:
  void load() override;
  /// Reads or makes the data set, and checks that study, data and memory fit each other. A result
  /// given as input lends its order parameters if study and data are the same.
  std::string read_data(Observer& observer) override;
  [[nodiscard]] std::string plan() const override;

  [[nodiscard]] const SolveResult* reused() const { return known_ ? &*known_ : nullptr; }

  /// Hooks that keep checkpoints beside the result, until it is complete; none without a result
  /// file. `force`: those that are there are deleted.
  template <class Checkpoints>
  auto checkpoint_hooks(Observer& observer, bool force) {
    using Hooks = decltype(std::declval<Checkpoints>().hooks());
    if (request.output.empty()) return Hooks{};
    const auto checkpoints =
        std::make_shared<Checkpoints>(request.output, study, dataset_.content_hash, force);
    remove_ = [checkpoints] { checkpoints->remove(); };
    if (checkpoints->resumable() > 0) {
      tell_message(observer, fmt::format("resuming from {} in {}",
                                         count_text(checkpoints->resumable(), "checkpoint"),
                                         checkpoints->folder()));
    }
    earlier_seconds_ = std::max(earlier_seconds_, checkpoints->earlier_seconds());
    Hooks hooks = checkpoints->hooks();
    // Ranks hand each other draws in checkpoints: without them they cannot go on.
    if (request.ranks == nullptr) hooks.save = watched(std::move(hooks.save), fault_);
    return hooks;
  }

  tasks::Dataset dataset_;
  std::optional<SolveResult> known_;  ///< of the result file given as input, if it fits

 private:
  [[nodiscard]] std::optional<SolveResult> known_result(Observer& observer) const;
  void warn_of_idle_options(Observer& observer) const;

  TheoryTraits traits_;
  TheoryPlan sizes_;
};

/// The job of a verb of the theory.
template <class Result>
class TheoryJob : public JobFor<Result, TheoryStart> {
 public:
  using JobFor<Result, TheoryStart>::JobFor;

  [[nodiscard]] std::shared_ptr<const Reusable> reusable() override {
    if (!this->done_ || this->request.dry_run || !this->provenance.shard.empty()) return nullptr;
    const std::shared_ptr<Job> self = this->shared_from_this();
    const Result& result = this->result_;
    Reusable lent{{self, &this->study}, {self, &this->dataset_}, {}, {}};
    if constexpr (std::is_same_v<Result, SampleResult>) lent.sampled = {self, &result};
    if constexpr (std::is_convertible_v<const Result*, const SolveResult*>) {
      lent.solved = {self, &result};
    } else if constexpr (requires { result.solve; }) {
      lent.solved = {self, &result.solve};
    }
    return lent.solved ? std::make_shared<const Reusable>(std::move(lent)) : nullptr;
  }
};

}  // namespace headway::jobs
