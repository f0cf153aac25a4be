#include "terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "headway/error.hpp"
#include "headway/results/table.hpp"

namespace headway::cli {

namespace {

std::atomic<bool> stop_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

extern "C" void handle_stop(int /*signal*/) {
  const int kept = errno;  // the signal may have come between a failed call and its check
  stop_flag.store(true);
  constexpr std::string_view kText =
      "\nheadway: stopping at the next safe point; a second signal stops at once\n";
  // A failure is ignored: a signal handler can do nothing about it.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  errno = kept;
}

/// False with errno set when not all of `text` went out.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Whether a progress line, which has no newline, stands on the terminal.
bool progress_line_open = false;

void clear_progress_line() {
  if (progress_line_open) write_all(STDERR_FILENO, "\r\x1b[K");
  progress_line_open = false;
}

std::string_view environment(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  return text == nullptr ? "" : text;
}

/// Whether a line on standard error can be taken back: on a terminal that knows how.
bool can_rewrite() {
  const std::string_view kind = environment("TERM");
  return isatty(STDERR_FILENO) != 0 && !kind.empty() && kind != "dumb";
}

}  // namespace

void guard_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1 || errno != EBADF) continue;
    // open() takes the lowest free number, which is the closed one. Writing to it must still fail,
    // hence read-only.
    [[maybe_unused]] const int opened = open("/dev/null", O_RDONLY);
  }
}

// The handler has a stack of its own. oneDNN's matrix products keep numbers far below the stack
// pointer, where the frame of a signal would overwrite them.
void install_signal_handlers() {
  constexpr std::size_t kStack = std::size_t{64} << 10U;
  static std::array<char, kStack> memory;
  stack_t stack = {};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = &handle_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART | SA_ONSTACK);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // nohup ignores it
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
  sigaction(SIGXFSZ, &ignore, nullptr);  // a file that may not grow (ulimit -f) is a write error
}

bool stop_requested() { return stop_flag.load(); }

void write_output(std::string_view text) {
  clear_progress_line();
  if (write_all(STDOUT_FILENO, text)) return;
  throw Error(ErrorKind::kCannotWrite,
              fmt::format("standard output: cannot be written: {}", std::strerror(errno)));
}

void write_message(std::string_view text) {
  clear_progress_line();
  [[maybe_unused]] const bool written = write_all(STDERR_FILENO, fmt::format("{}\n", text));
}

std::string duration_text(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 99.5 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

void show_progress(const std::string& line) {
  if (!can_rewrite()) return write_message(line);
  // A line that wraps is not erased by the next.
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  write_all(STDERR_FILENO, "\r\x1b[K" + (columns > 1 ? line.substr(0, columns - 1) : line));
  progress_line_open = true;
}

std::size_t progress_columns() {
  if (!can_rewrite()) return 0;
  constexpr std::size_t kUsual = 80;  // of a terminal that does not tell
  const std::size_t columns = terminal_columns(STDERR_FILENO);
  return columns > 1 ? columns : kUsual;
}

std::string bar_line(const std::string& title, double share, double seconds_left,
                     const std::vector<std::string>& more, std::size_t columns,
                     std::size_t widest) {
  const double part = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  std::string tail = fmt::format("{:.0f} %", std::floor(100.0 * part));
  if (seconds_left > 0.0) tail += fmt::format(", {} left", duration_text(seconds_left));
  // A bar takes a quarter of the line. A narrow line has none.
  const std::size_t width = std::min(columns / 4, widest);
  std::string line = title;
  if (width >= 8 && title.size() + width + tail.size() + 4 <= columns) {
    const auto full = static_cast<std::size_t>(part * static_cast<double>(width));
    line += fmt::format(" [{}{}]", std::string(full, '#'), std::string(width - full, ' '));
  }
  line += " " + tail;
  for (const std::string& one : more) {
    if (line.size() + 2 + one.size() > columns) break;
    line += ", " + one;
  }
  return line.substr(0, columns);
}

void Pace::begin(double done, double earlier) {
  *this = Pace();
  begun_at_ = done_ = done;
  earlier_at_begin_ = earlier;
}

void Pace::advance(double done, double earlier) {
  done_ = done;
  made_ = done - begun_at_ - (earlier - earlier_at_begin_);
}

double Pace::rate() const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  return std::max(made_, 0.0) / std::max(elapsed, 1e-9);
}

double Pace::seconds_left(double total) const {
  const double speed = rate();
  return speed > 0.0 ? std::max(total - done_, 0.0) / speed : 0.0;
}

ProgressClock::ProgressClock() : interval_(can_rewrite() ? 0.1 : 3.0) { restart(); }

bool ProgressClock::due() {
  const auto now = std::chrono::steady_clock::now();
  if (std::chrono::duration<double>(now - last_).count() < interval_) return false;
  last_ = now;
  return true;
}

TerminalObserver::TerminalObserver(bool quiet, bool verbose) : quiet_(quiet), verbose_(verbose) {}

TerminalObserver::~TerminalObserver() { clear_progress_line(); }

bool TerminalObserver::Stage::advance(std::string_view stage, double now, double all,
                                      double earlier) {
  const bool same = stage == name && now >= done && all == total;
  name = stage;
  done = now;
  total = all;
  if (same) {
    pace.advance(now, earlier);
  } else {
    pace.begin(now, earlier);
  }
  return same;
}

void TerminalObserver::progress(std::string_view stage, double done, double total) {
  if (quiet_) return;
  if (stage_.advance(stage, done, total, 0.0)) return show(stage_, done);
  detail_.clear();
  shown_ = done;  // a stage that has just begun needs no line
  if (whole_.name.empty()) clock_.restart();
}

void TerminalObserver::whole(std::string_view stage, double done, double total, double earlier) {
  if (quiet_) return;
  if (total <= 1.0) return progress(stage, done, total);  // its stages say more
  const bool same = whole_.advance(stage, done, total, earlier);
  if (same) {
    show(whole_, done);
  } else {
    detail_.clear();
    clock_.restart();
    shown_ = done;
  }
  stage_ = {};
  if (done >= total) whole_ = {};
}

void TerminalObserver::detail(std::string_view what, std::string_view more) {
  const std::size_t columns = quiet_ ? 0 : progress_columns();
  const Stage& stage = stage_.name.empty() ? whole_ : stage_;
  if (columns == 0 || stage.name.empty()) return;
  detail_ = {std::string(what), std::string(more)};
  if (clock_.due()) show_progress(line_of(stage));
}

void TerminalObserver::show(const Stage& stage, double done) {
  if (done == shown_ || !clock_.due()) return;
  shown_ = done;
  show_progress(line_of(stage));
}

// A stage, its share, the time left and what it is at fit into 80 columns.
constexpr std::size_t kWidestBar = 20, kBarBesideDetail = 8;

std::string TerminalObserver::line_of(const Stage& stage) const {
  std::string counted = fmt::format("{:.6g} of {:.6g}", stage.done, stage.total);
  const double left = stage.pace.seconds_left(stage.total);
  const std::size_t columns = progress_columns();
  if (columns == 0) {
    std::string line = fmt::format("{}: {}", stage.name, counted);
    const double rate = stage.pace.rate();
    if (rate > 0 && stage.total >= stage.done) {
      line += fmt::format(", {:.3g}/s, {} left", rate, duration_text(left));
    }
    return line;
  }
  if (whole_.name.empty() || &stage == &whole_) {
    std::vector<std::string> parts = detail_;
    parts.push_back(std::move(counted));
    const std::size_t bar = detail_.empty() ? kWidestBar : kBarBesideDetail;
    return bar_line(stage.name, stage.done / stage.total, left, parts, columns - 1, bar);
  }
  return bar_line(whole_.name, whole_.done / whole_.total, whole_.pace.seconds_left(whole_.total),
                  {fmt::format("{:.6g} of {:.6g}", whole_.done, whole_.total),
                   fmt::format("{}: {}", stage.name, counted)},
                  columns - 1);
}

void TerminalObserver::warning(std::string_view text) {
  write_message(fmt::format("headway: warning: {}", text));
}

void TerminalObserver::message(std::string_view text) {
  if (!quiet_) write_message(fmt::format("headway: {}", text));
}

void TerminalObserver::note(std::string_view text) {
  if (!verbose_) return;
  write_message(fmt::format("headway: {}", text));
}

}  // namespace headway::cli
