#pragma once

#include <string_view>

#include "headway/observer.hpp"

namespace headway {

/// An observer that also hears what a stage is at just now, between two calls of progress(): which
/// replica moves, say.
class DetailObserver : public Observer {
 public:
  /// `what` is short. `more` is shown where there is room.
  virtual void detail(std::string_view what, std::string_view more) = 0;
};

/// Tells `observer`, if it wants to hear that.
inline void tell_detail(Observer& observer, std::string_view what, std::string_view more) {
  if (auto* hears = dynamic_cast<DetailObserver*>(&observer)) hears->detail(what, more);
}

}  // namespace headway
