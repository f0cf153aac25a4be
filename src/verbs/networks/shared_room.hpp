// Work that shares one device waits until its part of it is free.
#pragma once

#include <condition_variable>
#include <mutex>

namespace headway {

/// Work begins while the shares of all that is at work add up to at most 1. Work whose share is
/// larger begins when nothing else is at work.
class SharedRoom {
 public:
  /// Waits for its share, and gives it back at its end.
  class Stay {
   public:
    Stay(SharedRoom& room, double share) : room_(room), share_(share) { room_.take(share_); }
    ~Stay() { room_.give_back(share_); }
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    SharedRoom& room_;
    double share_;
  };

 private:
  void take(double share) {
    constexpr double kRounding = 1e-9;  // of a sum such as 1/3 + 1/3 + 1/3
    std::unique_lock lock(guard_);
    changed_.wait(lock, [&] { return at_work_ == 0 || taken_ + share <= 1.0 + kRounding; });
    ++at_work_;
    taken_ += share;
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
  int at_work_ = 0;
  double taken_ = 0.0;
};

}  // namespace headway
