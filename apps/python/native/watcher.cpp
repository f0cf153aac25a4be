#include "watcher.hpp"

#include <array>
#include <string>
#include <utility>

namespace headway::python {
namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

/// Of the main thread: a function that is told of progress may begin another computation. A request
/// to stop is for all of them, and the outermost forgets it.
int active_watchers = 0;

extern "C" void handle_interrupt(int /*signal*/) { stop_flag.store(true); }

/// A stack for signals where the thread has none: matrix products of oneDNN keep numbers below the
/// stack pointer, further than a signal's frame leaves alone.
void ensure_signal_stack() {
  constexpr std::size_t kStack = std::size_t{64} << 10U;
  static std::array<char, kStack> memory;
  stack_t stack = {};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0) return;
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  stack.ss_flags = 0;
  sigaltstack(&stack, nullptr);
}

constexpr double kSecondsBetweenCalls = 0.05;

}  // namespace

StopOnInterrupt::StopOnInterrupt(bool main_thread, bool several_ranks)
    : several_ranks_(several_ranks) {
  if (!main_thread) return;
  sigaction(SIGINT, nullptr, &before_);
  if ((before_.sa_flags & SA_SIGINFO) == 0 && before_.sa_handler == SIG_IGN) return;
  ensure_signal_stack();
  if (active_watchers == 0) stop_flag.store(false);
  struct sigaction action = {};
  action.sa_handler = &handle_interrupt;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  active_ = sigaction(SIGINT, &action, nullptr) == 0;
  if (active_) ++active_watchers;
  if (several_ranks_) sigaction(SIGTERM, &action, &before_term_);
}

StopOnInterrupt::~StopOnInterrupt() {
  if (!active_) return;
  sigaction(SIGINT, &before_, nullptr);
  if (several_ranks_) sigaction(SIGTERM, &before_term_, nullptr);
  if (--active_watchers == 0) stop_flag.store(false);
}

bool StopOnInterrupt::requested() { return stop_flag.load(); }

Watcher::Watcher(py::object progress, py::object warning, py::object note)
    : progress_(std::move(progress)), warning_(std::move(warning)), note_(std::move(note)) {}

template <class Call>
void Watcher::call(const Call& listener) {
  if (failed_) return;
  const py::gil_scoped_acquire lock;
  try {
    listener();
  } catch (py::error_already_set& error) {
    failure_ = std::make_unique<py::error_already_set>(error);
    failed_ = true;
  }
}

void Watcher::progress(std::string_view stage, double done, double total) {
  if (progress_.is_none()) return;
  const Clock::time_point now = Clock::now();
  if (done < total && std::chrono::duration<double>(now - last_).count() < kSecondsBetweenCalls) {
    return;
  }
  last_ = now;
  call([&] { progress_(std::string(stage), done, total); });
}

void Watcher::tell(const py::object& listener, std::string_view text) {
  if (listener.is_none()) return;
  call([&] { listener(std::string(text)); });
}

void Watcher::raise_failure() {
  if (!failure_) return;
  const py::error_already_set failure(*failure_);
  failure_.reset();
  throw py::error_already_set(failure);
}

}  // namespace headway::python
