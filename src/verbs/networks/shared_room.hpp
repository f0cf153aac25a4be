// Work that shares one device waits until its part of it is free.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace headway {

/// Work begins in its order, while the shares of all that is at work add up to at most 1. Work
/// whose share is larger begins when nothing else is at work.
class SharedRoom {
 public:
  /// Waits for its share, and gives it back at its end. `order` counts all work from 0 on: each
  /// number has to come, from whatever thread.
  class Stay {
   public:
    Stay(SharedRoom& room, std::size_t order, double share) : room_(room), share_(share) {
      room_.take(order, share_);
    }
    ~Stay() { room_.give_back(share_); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    SharedRoom& room_;
    double share_;
  };

 private:
  void take(std::size_t order, double share) {
    constexpr double kRounding = 1e-9;  // of a sum such as 1/3 + 1/3 + 1/3
    {
      std::unique_lock lock(guard_);
      changed_.wait(lock, [&] {
        return order == next_ && (at_work_ == 0 || taken_ + share <= 1.0 + kRounding);
      });
      ++next_;
      ++at_work_;
      taken_ += share;
    }
    changed_.notify_all();
  }
  void give_back(double share) {
    {
      const std::lock_guard lock(guard_);
      --at_work_;
      taken_ = at_work_ == 0 ? 0.0 : taken_ - share;
    }
    changed_.notify_all();
  }

  std::mutex guard_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  int at_work_ = 0;
  double taken_ = 0.0;
};

}  // namespace headway
