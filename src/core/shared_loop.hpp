#pragma once

#include <atomic>
#include <exception>
#include <mutex>

#include "headway/types.hpp"

namespace headway {

/// The indices 0 to count - 1, dealt in order to the threads that call work(). After a failure no
/// larger index is begun, but every smaller one is still run. So the exception that is rethrown
/// does not depend on the number of threads.
class SharedLoop {
 public:
  explicit SharedLoop(Index count) : failed_index_(count) {}

  template <class Body>
  void work(const Body& body) {
    for (Index i = next_++; i < failed_index_; i = next_++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(guard_);
        if (i < failed_index_) {
          failed_index_ = i;
          failure_ = std::current_exception();
        }
      }
    }
  }
  /// Throws what the smallest failed index threw. All threads must have left work().
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<Index> next_{0};
  std::atomic<Index> failed_index_;
  std::mutex guard_;
  std::exception_ptr failure_;
};

}  // namespace headway
