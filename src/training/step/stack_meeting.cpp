#include "training/step/stack_meeting.hpp"

#include <algorithm>

namespace headway::training::detail {

void StackMeeting::enter(Index place, std::chrono::milliseconds patience) {
  std::unique_lock lock(guard_);
  present_[at(place)] = entered_[at(place)] = true;
  changed_.notify_all();
  changed_.wait_for(lock, patience, [this] {
    return std::find(entered_.begin(), entered_.end(), false) == entered_.end();
  });
}

void StackMeeting::arrive(Index place, const Launch& launch) {
  std::unique_lock lock(guard_);
  launch_ = launch;
  present_[at(place)] = arrived_[at(place)] = true;
  const Index before = launches_;
  launch_if_all_are_here();
  changed_.wait(lock, [&] { return launches_ > before || error_; });
  if (error_) std::rethrow_exception(error_);
}

void StackMeeting::leave(Index place) {
  const std::lock_guard lock(guard_);
  if (!present_[at(place)]) return;
  present_[at(place)] = arrived_[at(place)] = false;
  launch_if_all_are_here();
}

// While this runs nobody else does anything: all who have a place wait for it.
void StackMeeting::launch_if_all_are_here() {
  if (error_ || arrived_ != present_) return;
  if (std::find(arrived_.begin(), arrived_.end(), true) == arrived_.end()) return;
  try {
    launch_(arrived_);
  } catch (...) {
    error_ = std::current_exception();
  }
  arrived_.assign(arrived_.size(), false);
  ++launches_;
  changed_.notify_all();
}

}  // namespace headway::training::detail
