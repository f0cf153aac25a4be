#pragma once

#include "headway/error.hpp"
#include "headway/observer.hpp"

namespace headway {

/// Error{kInterrupted} where the observer asks to stop: ends work that keeps nothing of a part.
inline void throw_if_interrupted(const Observer& observer) {
  if (observer.interrupted()) throw Error(ErrorKind::kInterrupted, "interrupted");
}

}  // namespace headway
