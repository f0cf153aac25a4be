#pragma once

#include <string_view>

namespace headway {

/// How a long computation talks to its caller. The base class ignores everything and never
/// interrupts; the program's own observer prints. Algorithms call progress(), whole(), warning()
/// and note() from one thread at a time. interrupted() may be called from several at once, and
/// beside the others: let it read an atomic.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  /// `done` of `total` units of `stage` are finished.
  virtual void progress(std::string_view /*stage*/, double /*done*/, double /*total*/) {}
  /// The same for the whole computation: `done` of `total` points or draws of a study. progress()
  /// tells of its stages in between. An earlier call did `earlier` of the done ones, so these say
  /// nothing about the speed.
  virtual void whole(std::string_view stage, double done, double total, double /*earlier*/ = 0.0) {
    progress(stage, done, total);
  }
  /// Something the user should know but that is no error.
  virtual void warning(std::string_view /*text*/) {}
  /// Details for -v.
  virtual void note(std::string_view /*text*/) {}
  /// True when the user asked to stop: the computation returns at its next safe point with what it
  /// has.
  [[nodiscard]] virtual bool interrupted() const { return false; }
};

/// An observer that says nothing and never interrupts: what functions take unless they are given
/// one.
inline Observer& no_observer() {
  static Observer silent;
  return silent;
}

}  // namespace headway
