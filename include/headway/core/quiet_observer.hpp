#pragma once

#include "headway/observer.hpp"

namespace headway {

/// Passes on the wish to stop, and drops all that is told: for one computation beside others, or
/// for a rank that prints nothing.
class QuietObserver final : public Observer {
 public:
  /// `whole` must outlive it.
  explicit QuietObserver(const Observer& whole) : whole_(whole) {}
  [[nodiscard]] bool interrupted() const override { return whole_.interrupted(); }

 private:
  const Observer& whole_;
};

}  // namespace headway
