#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/detail_observer.hpp"

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

/// One line on standard error. Failures there are ignored: there is no place left to report them.
void write_message(std::string_view text);

/// "42 s", "12 min", "3.4 h"
std::string duration_text(double seconds);

/// A line of progress on standard error: on a terminal it takes the place of the last one. A dumb
/// terminal (TERM) cannot take a line back, and gets plain lines as a file does.
void show_progress(const std::string& line);

/// Columns of the terminal that standard error is; 0 where it is none, or a dumb one.
std::size_t progress_columns();

/// "train [########            ] 43 %, 12 min left, run 3 of 9": a bar and as many of `more` as fit
/// into `columns`. `share`: from 0 to 1. `seconds_left`: 0 where nobody knows. `widest`: of the
/// bar.
std::string bar_line(const std::string& title, double share, double seconds_left,
                     const std::vector<std::string>& more, std::size_t columns,
                     std::size_t widest = 20);

/// How fast something goes on, and how long the rest will take.
class Pace {
 public:
  /// `done` are finished, `earlier` of them by an earlier call.
  void begin(double done, double earlier);
  void advance(double done, double earlier);
  [[nodiscard]] double rate() const;  ///< a second
  /// 0: not known yet, or nothing is left.
  [[nodiscard]] double seconds_left(double total) const;

 private:
  using Clock = std::chrono::steady_clock;
  double begun_at_ = 0.0;  ///< not 0 in a resumed run
  double made_ = 0.0;      ///< since then, and by this call
  double done_ = 0.0, earlier_at_begin_ = 0.0;
  Clock::time_point start_ = Clock::now();
};

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
/// What a stage is at just now stands on a terminal alone.
class TerminalObserver final : public DetailObserver {
 public:
  TerminalObserver(bool quiet, bool verbose);
  ~TerminalObserver() override;  ///< leaves no half line behind

  void progress(std::string_view stage, double done, double total) override;
  void whole(std::string_view stage, double done, double total, double earlier) override;
  void detail(std::string_view what, std::string_view more) override;
  void warning(std::string_view text) override;
  void note(std::string_view text) override;
  void message(std::string_view text) override;
  [[nodiscard]] bool interrupted() const override { return stop_requested(); }

 private:
  /// Something of which `done` of `total` are finished.
  struct Stage {
    std::string name;
    double done = 0.0, total = 0.0;
    Pace pace;

    /// False where it has just begun: another stage, or the same for other data.
    bool advance(std::string_view stage, double now, double all, double earlier);
  };
  void show(const Stage& stage, double done);
  [[nodiscard]] std::string line_of(const Stage& stage) const;

  bool quiet_;
  bool verbose_;
  ProgressClock clock_;
  Stage stage_;
  Stage whole_;         ///< "" between computations that have several parts
  double shown_ = 0.0;  ///< in the last line
  std::vector<std::string> detail_;
};

}  // namespace headway::cli
