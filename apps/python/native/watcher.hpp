#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>

#include "headway/observer.hpp"

namespace headway::python {

namespace py = pybind11;

/// Makes Ctrl-C a request to stop for as long as it lives. Python's own handler would only be heard
/// when the computation is over. Signals go to the main thread: elsewhere it does nothing. On one
/// of several ranks SIGTERM is one, too: mpirun sends it when Ctrl-C is pressed.
class StopOnInterrupt {
 public:
  StopOnInterrupt(bool main_thread, bool several_ranks);
  ~StopOnInterrupt();
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  static bool requested();

 private:
  bool active_ = false;
  bool several_ranks_ = false;
  struct sigaction before_ = {}, before_term_ = {};
};

/// Passes what a computation says to three functions of Python, any of them None: progress(stage,
/// done, total), at most twenty times a second and at the end of a stage; warning(text);
/// note(text). A function that raises stops the computation; raise_failure() raises that again.
class Watcher final : public Observer {
 public:
  Watcher(py::object progress, py::object warning, py::object note);

  void progress(std::string_view stage, double done, double total) override;
  void warning(std::string_view text) override { tell(warning_, text); }
  void note(std::string_view text) override { tell(note_, text); }
  [[nodiscard]] bool interrupted() const override {
    return failed_ || StopOnInterrupt::requested();
  }
  /// With Python's lock held.
  void raise_failure();

 private:
  using Clock = std::chrono::steady_clock;
  void tell(const py::object& listener, std::string_view text);
  template <class Call>
  void call(const Call& listener);

  py::object progress_, warning_, note_;
  Clock::time_point last_;
  std::unique_ptr<py::error_already_set> failure_;
  std::atomic<bool> failed_{false};
};

}  // namespace headway::python
