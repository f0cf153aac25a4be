#pragma once

#include <string_view>

#include "headway/observer.hpp"

namespace headway {

/// An observer that also hears what only a person at a terminal wants to know.
class DetailObserver : public Observer {
 public:
  /// What a stage is at just now, between two calls of progress(): which replica moves, say. `what`
  /// is short. `more` is shown where there is room.
  virtual void detail(std::string_view what, std::string_view more) = 0;
  /// What is said even without -v: that a run goes on from checkpoints, say.
  virtual void message(std::string_view /*text*/) {}
};

/// Tells `observer`, if it wants to hear that.
inline void tell_detail(Observer& observer, std::string_view what, std::string_view more) {
  if (auto* hears = dynamic_cast<DetailObserver*>(&observer)) hears->detail(what, more);
}

/// The same for a message.
inline void tell_message(Observer& observer, std::string_view text) {
  if (auto* hears = dynamic_cast<DetailObserver*>(&observer)) hears->message(text);
}

}  // namespace headway
