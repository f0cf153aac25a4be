// Where the runs of a stack, each in a thread of its own, meet for the step that works for all.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "headway/types.hpp"

namespace headway::training::detail {

/// A run takes its place, arrives for each of its steps, and leaves. The last one to arrive of
/// those that have a place makes the launch; all others wait for it. Runs need not be at the same
/// step of theirs. A run that evaluates or saves itself makes the others wait; one that has left
/// does not.
class StackMeeting {
 public:
  /// Makes the step of the runs that have arrived; any of them may be asked to.
  using Launch = std::function<void(const std::vector<bool>& arrived)>;

  explicit StackMeeting(Index runs) : present_(at(runs)), arrived_(at(runs)), entered_(at(runs)) {}

  [[nodiscard]] Index runs() const { return static_cast<Index>(present_.size()); }
  /// From now on the others wait for this run. Returns when all have entered once, so that all
  /// begin together, or after `patience`: a thread of theirs may not have come to be.
  void enter(Index place, std::chrono::milliseconds patience);
  /// Returns when the launch has been made. Throws what a launch threw, from then on every time.
  void arrive(Index place, const Launch& launch);
  /// The others wait no more. Does nothing where the run has no place.
  void leave(Index place);

 private:
  void launch_if_all_are_here();
  [[nodiscard]] static std::size_t at(Index place) { return static_cast<std::size_t>(place); }

  std::mutex guard_;
  std::condition_variable changed_;
  std::vector<bool> present_, arrived_;
  std::vector<bool> entered_;  // ever
  Launch launch_;              // of one who waits
  Index launches_ = 0;
  std::exception_ptr error_;
};

}  // namespace headway::training::detail
