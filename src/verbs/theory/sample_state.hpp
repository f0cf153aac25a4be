#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "headway/core/clock.hpp"
#include "headway/sample.hpp"
#include "headway/sampling/sample.hpp"
#include "headway/study.hpp"

/// Private to verbs: what `sample` keeps of a point between calls.
namespace headway {

/// Hands what the checkpoint of a point must hold to the caller's hook.
class SavePoint final : public sampling::CheckpointSink {
 public:
  using Save = std::function<void(const SampleState&)>;
  /// `state` must outlive the sink; its seconds are those of the calls that this one resumes.
  /// `save` may be empty.
  SavePoint(Save save, SampleState& state)
      : save_(std::move(save)), state_(state), earlier_seconds_(state.seconds) {}
  void save(const sampling::Checkpoint& checkpoint) override {
    if (!save_) return;
    state_.run = checkpoint;
    state_.seconds = earlier_seconds_ + seconds_since(began_);
    save_(state_);
  }
  [[nodiscard]] bool saves() const { return save_ != nullptr; }
  [[nodiscard]] double earlier_seconds() const { return earlier_seconds_; }

 private:
  Save save_;
  SampleState& state_;
  double earlier_seconds_;
  Clock::time_point began_ = Clock::now();
};

/// What earlier calls left of a point: of the whole point, and of the chains [first, second) that
/// were run apart. The records go to `state`, the chains to the return value.
std::optional<sampling::Checkpoint> resume(const SampleHooks& hooks, std::size_t point,
                                           std::pair<int, int> chains, SampleState& state);

/// Leaves those chains alone, in their order.
void leave_kept_chains(const std::vector<int>& chains, sampling::Checkpoint& run,
                       std::vector<ChainRecord>& records);

/// Keeps the chains [first, second) of a point. The others are as if they had not begun.
void keep_alone(std::pair<int, int> chains, sampling::Checkpoint& run, SampleState& state);

}  // namespace headway
