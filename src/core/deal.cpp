#include "headway/core/deal.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/clock.hpp"
#include "headway/core/jobs.hpp"

namespace headway {
namespace {

constexpr std::chrono::milliseconds kShortestNap{1}, kLongestNap{8};
constexpr int kNapsSoFar = 16;  // a nap lasts this fraction of the time since the last event

/// The first byte of a message. Ready, Done, Stopped, Failed and Agreed go to the first rank.
enum class Message : char {
  kReady = 'r',    ///< of a rank that has nothing to do
  kDone = 'd',     ///< a complete unit
  kStopped = 's',  ///< an interrupted one
  kFailed = 'f',   ///< an Error
  kFine = 'a',     ///< agree(): it went well
  kGo = 'g',       ///< compute this unit
  kStop = 'i',     ///< come back with what there is
  kQuit = 'q',     ///< nothing is left
};

/// Texts and numbers behind the word, one after another.
class Packet {
 public:
  explicit Packet(Message word) : bytes_(1, static_cast<char>(word)) {}
  explicit Packet(std::string bytes) : bytes_(std::move(bytes)) {
    if (bytes_.empty()) fail(ErrorKind::kInternal, "an empty message of a rank");
  }

  [[nodiscard]] Message word() const { return static_cast<Message>(bytes_.front()); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  Packet& add(std::uint64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);  // NOLINT: its bytes
    return *this;
  }
  Packet& add(const std::string& text) {
    add(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
    return *this;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    require(sizeof value);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    require(size);
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

 private:
  void require(std::uint64_t size) const {
    if (size > bytes_.size() - at_) fail(ErrorKind::kInternal, "a message of a rank is cut short");
  }

  std::string bytes_;
  std::size_t at_ = 1;
};

Packet failure_packet(const std::exception_ptr& failure) {
  Packet packet(Message::kFailed);
  try {
    std::rethrow_exception(failure);
  } catch (const Error& e) {
    packet.add(static_cast<std::uint64_t>(e.exit_code())).add(e.what());
  } catch (const std::bad_alloc&) {
    packet.add(static_cast<std::uint64_t>(ErrorKind::kUnavailable)).add("not enough memory");
  } catch (const std::exception& e) {
    packet.add(static_cast<std::uint64_t>(ErrorKind::kInternal)).add(e.what());
  } catch (...) {
    packet.add(static_cast<std::uint64_t>(ErrorKind::kInternal)).add("an exception without words");
  }
  return packet;
}

Error failure_of(int rank, Packet packet) {
  const auto kind = static_cast<ErrorKind>(packet.number());
  const std::string text = packet.text();
  return {kind, rank == 0 ? text : fmt::format("rank {}: {}", rank, text)};
}

/// One unit at a time in a thread of its own, so that the calling thread can listen meanwhile.
class Worker {
 public:
  explicit Worker(const DealtWork& work) : work_(work) {}

  [[nodiscard]] bool busy() const { return unit_.has_value(); }
  void stop() { stop_ = true; }
  void start(std::size_t unit) {
    ended_ = false;
    thread_ = start_quiet_thread([this, unit] {
      try {
        outcome_ = work_.compute(unit, [this] { return stop_.load() || work_.interrupted(); });
      } catch (...) {
        failure_ = std::current_exception();
      }
      const std::lock_guard<std::mutex> lock(guard_);
      ended_ = true;
      end_.notify_one();
    });
    unit_ = unit;
  }
  /// Sleeps for `most`, or until the unit ends.
  void wait(Clock::duration most) {
    std::unique_lock<std::mutex> lock(guard_);
    end_.wait_for(lock, most, [this] { return busy() && ended_; });
  }
  /// The message about the unit, once it has ended.
  std::optional<Packet> ended() {
    if (!busy() || !ended_) return std::nullopt;
    thread_.join();
    const std::size_t unit = *std::exchange(unit_, std::nullopt);
    if (failure_) return failure_packet(std::exchange(failure_, nullptr));
    Packet packet(outcome_.complete ? Message::kDone : Message::kStopped);
    packet.add(unit).add(static_cast<std::uint64_t>(outcome_.warnings.size()));
    for (const std::string& warning : outcome_.warnings) packet.add(warning);
    packet.add(outcome_.complete ? outcome_.bytes : std::string());
    return packet;
  }

 private:
  const DealtWork& work_;
  std::atomic<bool> stop_{false}, ended_{false};
  std::mutex guard_;
  std::condition_variable end_;
  std::optional<std::size_t> unit_;
  UnitOutcome outcome_;
  std::exception_ptr failure_;
  std::jthread thread_;
};

/// How long to sleep between two looks at the messages: shorter if something happened recently. On
/// a rank that is bound to one core, every look takes that core from the rank's own worker.
class Nap {
 public:
  void wake() { since_ = Clock::now(); }
  [[nodiscard]] Clock::duration length() const {
    return std::clamp<Clock::duration>((Clock::now() - since_) / kNapsSoFar, kShortestNap,
                                       kLongestNap);
  }

 private:
  Clock::time_point since_ = Clock::now();
};

struct FinishedUnit {
  std::size_t unit = 0;
  UnitOutcome outcome;
};

/// The first rank: deals, takes, and computes like the others.
class Dealer {
 public:
  Dealer(Ranks& ranks, const DealtWork& work)
      : ranks_(ranks),
        work_(work),
        own_(work),
        busy_(static_cast<std::size_t>(ranks.size())),
        given_(work.units) {}

  void run() {
    Nap nap;
    while (gone_ + 1 < ranks_.size() || own_.busy() || any_left()) {
      attempt([&] {
        if (!stopping_ && work_.interrupted()) interrupt();
      });
      std::optional<FinishedUnit> finished;
      if (std::optional<Packet> packet = own_.ended()) {
        nap.wake();
        attempt([&] { finished = hear(0, *std::move(packet)); });
      } else if (std::optional<RankMessage> message = ranks_.receive()) {
        nap.wake();
        waiting_.push_back(message->from);
        attempt([&] { finished = hear(message->from, Packet(std::move(message->bytes))); });
      } else {
        own_.wait(nap.length());
      }
      attempt([&] { serve(); });  // first: taking may wait for the disk
      if (finished) attempt([&] { work_.take(finished->unit, finished->outcome); });
    }
    if (error_) throw Error(*error_);
  }

 private:
  /// What `step` throws (the disk is full, say) ends the work of all. It does not leave run()
  /// before the others have ended: they would wait for this rank for ever.
  template <class Step>
  void attempt(const Step& step) {
    try {
      step();
    } catch (...) {
      fail_with(failure_of(0, failure_packet(std::current_exception())));
    }
  }
  /// Is there a unit that nobody has yet, ready or not?
  bool any_left() {
    while (left_ < work_.units && (given_[left_] || work_.done(left_))) ++left_;
    return !stopping_ && left_ < work_.units;
  }
  /// The next unit that can be computed now; nothing when there is none.
  std::optional<std::size_t> take_next() {
    if (!any_left()) return std::nullopt;
    for (std::size_t unit = left_; unit < work_.units; ++unit) {
      if (given_[unit] || work_.done(unit) || (work_.ready && !work_.ready(unit))) continue;
      given_[unit] = true;
      return unit;
    }
    return std::nullopt;
  }
  /// Gives a unit to every idle rank, or lets the rank quit if none is left.
  void serve() {
    if (!own_.busy()) {
      if (const std::optional<std::size_t> unit = take_next()) attempt([&] { own_.start(*unit); });
    }
    std::vector<int> still;
    for (const int rank : std::exchange(waiting_, {})) {
      if (const std::optional<std::size_t> unit = take_next()) {
        busy_[static_cast<std::size_t>(rank)] = true;
        ranks_.send(rank, Packet(Message::kGo).add(static_cast<std::uint64_t>(*unit)).bytes());
      } else if (any_left()) {
        still.push_back(rank);
      } else {
        ++gone_;
        ranks_.send(rank, Packet(Message::kQuit).bytes());
      }
    }
    waiting_ = std::move(still);
  }

  std::optional<FinishedUnit> hear(int rank, Packet packet) {
    busy_[static_cast<std::size_t>(rank)] = false;
    if (packet.word() == Message::kFailed) fail_with(failure_of(rank, packet));
    if (packet.word() != Message::kDone && packet.word() != Message::kStopped) return std::nullopt;
    FinishedUnit finished{static_cast<std::size_t>(packet.number()), {}};
    UnitOutcome& outcome = finished.outcome;
    outcome.complete = packet.word() == Message::kDone;
    for (std::uint64_t n = packet.number(); n > 0; --n) outcome.warnings.push_back(packet.text());
    outcome.bytes = packet.text();
    return finished;
  }
  void interrupt() {
    stop();
    work_.stopping();
  }
  void fail_with(const Error& error) {
    if (!error_) error_ = error;
    stop();
  }
  void stop() {
    if (std::exchange(stopping_, true)) return;
    own_.stop();
    for (int rank = 1; rank < ranks_.size(); ++rank) {
      if (busy_[static_cast<std::size_t>(rank)]) ranks_.send(rank, Packet(Message::kStop).bytes());
    }
  }

  Ranks& ranks_;
  const DealtWork& work_;
  Worker own_;
  std::vector<bool> busy_;   ///< ranks that were given a unit
  std::vector<bool> given_;  ///< units that somebody was given
  std::vector<int> waiting_;
  std::size_t left_ = 0;  ///< before this all units are given or done
  int gone_ = 0;          ///< ranks that were told to quit
  bool stopping_ = false;
  std::optional<Error> error_;
};

void work_for_first(Ranks& ranks, const DealtWork& work) {
  Worker worker(work);
  Nap nap;
  ranks.send(0, Packet(Message::kReady).bytes());
  for (;;) {
    if (std::optional<RankMessage> message = ranks.receive()) {
      nap.wake();
      Packet packet(std::move(message->bytes));
      if (packet.word() == Message::kQuit) return;
      if (packet.word() == Message::kStop) worker.stop();
      if (packet.word() == Message::kGo) worker.start(static_cast<std::size_t>(packet.number()));
    } else if (const std::optional<Packet> packet = worker.ended()) {
      nap.wake();
      ranks.send(0, packet->bytes());
    } else {
      worker.wait(nap.length());
    }
  }
}

}  // namespace

void deal_units(Ranks& ranks, const DealtWork& work) {
  if (ranks.is_first()) {
    Dealer(ranks, work).run();
  } else {
    work_for_first(ranks, work);
  }
}

bool agree(Ranks& ranks, const std::function<void()>& step) {
  return agree_alike(ranks, [&step] {
    step();
    return std::string();
  });
}

bool agree_alike(Ranks& ranks, const std::function<std::string()>& step) {
  Packet mine(Message::kFine);
  std::string words;
  try {
    words = step();
    mine.add(words);
  } catch (...) {
    mine = failure_packet(std::current_exception());
  }
  if (!ranks.is_first()) {
    ranks.send(0, mine.bytes());
    return Packet(wait_for_message(ranks).bytes).word() == Message::kGo;
  }
  std::optional<Error> error;
  if (mine.word() == Message::kFailed) error = failure_of(0, mine);
  for (int others = 1; others < ranks.size(); ++others) {
    const RankMessage message = wait_for_message(ranks);
    Packet theirs(message.bytes);
    if (error) continue;
    if (theirs.word() == Message::kFailed) {
      error = failure_of(message.from, theirs);
    } else if (theirs.text() != words) {
      error = Error(ErrorKind::kUsage,
                    fmt::format("rank {} computes something else than rank 0; allowed: the same "
                                "call, study and data on all ranks",
                                message.from));
    }
  }
  const Packet verdict(error ? Message::kQuit : Message::kGo);
  for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, verdict.bytes());
  if (error) throw Error(*error);
  return true;
}

std::string from_first(Ranks& ranks, const std::function<std::string()>& step) {
  if (!ranks.is_first()) {
    step();
    Packet packet(wait_for_message(ranks).bytes);
    if (packet.word() == Message::kFailed) throw Error(failure_of(0, packet));
    return packet.text();
  }
  const auto tell = [&ranks](const Packet& packet) {
    for (int rank = 1; rank < ranks.size(); ++rank) ranks.send(rank, packet.bytes());
  };
  try {
    std::string given = step();
    tell(Packet(Message::kFine).add(given));
    return given;
  } catch (...) {
    tell(failure_packet(std::current_exception()));
    throw;
  }
}

}  // namespace headway
