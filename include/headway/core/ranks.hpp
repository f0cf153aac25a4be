#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headway/error.hpp"

namespace headway {

class SharedCholesky;
struct SharedSquare;

struct RankMessage {
  int from = 0;
  std::string bytes;
};

/// Processes that mpirun or srun started together to share one computation. Each has a number, its
/// rank, from 0. Called from one thread.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  /// Waits until all ranks are destroyed.
  virtual ~Ranks() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// How many of them are on this machine.
  [[nodiscard]] virtual int on_this_machine() const = 0;
  /// Any number of bytes. Messages of one rank to another come in order. May wait until the message
  /// is received.
  virtual void send(int to, std::string_view bytes) = 0;
  /// A message that has come; never waits for one.
  virtual std::optional<RankMessage> receive() = 0;
  /// Sends numbers to a rank that calls receive_numbers() now; both know how many. They are apart
  /// from the messages above. Both ranks may wait for each other, without sleeping.
  virtual void send_numbers(int to, std::span<const double> numbers) = 0;
  virtual void receive_numbers(int from, std::span<double> numbers) = 0;
  /// The factorisation of a matrix of which this rank has `place`; null where the build has none.
  /// All ranks call it together.
  virtual std::unique_ptr<SharedCholesky> shared_cholesky(const SharedSquare& place);
  /// Ends all of them with this exit code, at once.
  virtual void abort(int exit_code) = 0;

  [[nodiscard]] bool is_first() const { return rank() == 0; }
};

/// The next message; sleeps while there is none, as another process may need this core.
RankMessage wait_for_message(Ranks& ranks);

/// A step in which ranks wait for each other's numbers. If it throws on one of them, all end at
/// once (Ranks::abort): the others would wait for ever.
template <class Step>
void in_step(Ranks& ranks, const Step& step) {
  try {
    step();
  } catch (const Error& error) {
    ranks.abort(error.exit_code());
    throw;
  } catch (...) {
    ranks.abort(static_cast<int>(ErrorKind::kUnavailable));
    throw;
  }
}

/// Ends all ranks because of a fault on this one that the others would wait for, and says why on
/// standard error.
[[noreturn]] void end_all(Ranks& ranks, std::string_view why);

/// Joins the others if this process is one of several that mpirun or srun started, as the
/// environment tells; null if it is alone. Only in the first case the plugin that is linked with
/// MPI is loaded. Error{kUnavailable} when that fails.
std::unique_ptr<Ranks> join_ranks();

}  // namespace headway
