#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "headway/observer.hpp"

namespace headway::cli {

/// Opens /dev/null in place of a standard stream that the caller closed, so that no file opened
/// later takes its number. Standard output stays unwritable then.
void guard_standard_streams();

/// From here on SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) ask for a stop at
/// the next safe point; a second one kills. A closed pipe and a file that may not grow are write
/// errors, not signals.
void install_signal_handlers();
bool stop_requested();

/// Writes all of `text` to standard output and flushes it. Error{kCannotWrite} when that fails.
void write_output(std::string_view text);

/// Columns of the terminal that standard output is; 0 where it is none.
std::size_t output_columns();

/// One line on standard error. Failures there are ignored: there is no place left to report them.
void write_message(std::string_view text);

/// "42 s", "12 min", "3.4 h"
std::string duration_text(double seconds);

/// A line of progress on standard error: on a terminal it takes the place of the last one.
void show_progress(const std::string& line);

/// Says when the next line of progress is due: ten a second on a terminal, else one in three
/// seconds.
class ProgressClock {
 public:
  ProgressClock();
  /// Whether a line is due now.
  bool due();
  void restart() { last_ = std::chrono::steady_clock::now(); }

 private:
  double interval_;
  std::chrono::steady_clock::time_point last_;
};

/// The program's observer: progress with rate and remaining time, warnings, notes; on standard
/// error. On a terminal, one line that is rewritten; else plain lines, one per few seconds at most.
class TerminalObserver final : public Observer {
 public:
  TerminalObserver(bool quiet, bool verbose);
  ~TerminalObserver() override;  ///< leaves no half line behind

  void progress(std::string_view stage, double done, double total) override;
  void warning(std::string_view text) override;
  void note(std::string_view text) override;
  [[nodiscard]] bool interrupted() const override { return stop_requested(); }

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_;
  bool verbose_;
  ProgressClock clock_;
  std::string stage_;
  double stage_begun_at_ = 0.0;
  double stage_done_ = 0.0;
  double shown_ = 0.0;  ///< in the last line
  Clock::time_point stage_start_;
};

}  // namespace headway::cli
