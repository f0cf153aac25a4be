#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "headway/core/ranks.hpp"

namespace headway {

/// How a unit of work that ranks share came out.
struct UnitOutcome {
  std::string bytes;                  ///< its result
  std::vector<std::string> warnings;  ///< for the user
  bool complete = false;              ///< false: interrupted
};

/// Units of work for several ranks. All ranks describe the same work.
struct DealtWork {
  std::size_t units = 0;
  /// On every rank: computes a unit, in a thread that takes no signals; one at a time. When `stop`
  /// becomes true it returns what it has, incomplete. An Error ends the work of all.
  std::function<UnitOutcome(std::size_t unit, const std::function<bool()>& stop)> compute;
  /// On the first rank, in the calling thread. `done`: the unit need not be computed; does not
  /// throw. `take`: receives a complete unit.
  std::function<bool(std::size_t unit)> done;
  std::function<void(std::size_t unit, const UnitOutcome&)> take;
  /// On every rank: the user asked to stop.
  std::function<bool()> interrupted;
  /// On the first rank, as soon as an interruption is known and before it waits for the others.
  /// Whoever started the ranks may give them only a second.
  std::function<void()> stopping;
  /// On the first rank: whether the units that this one builds on were taken; does not throw.
  /// Empty: always.
  std::function<bool(std::size_t unit)> ready = {};
};

/// Computes all units. Every rank, the first one too, computes one unit after another and sends it
/// to the first. It gets the unit with the lowest number that is left and ready. Returns on the
/// first rank when no rank computes any more; `take` has then received all units, or after an
/// interruption those that were finished. Returns on the others when the first has no more for
/// them. What any rank throws is thrown on the first after the others have ended, as an Error with
/// the rank in its message.
void deal_units(Ranks& ranks, const DealtWork& work);

/// A step that every rank takes by itself before they share work. Waits for all. If it failed on
/// any rank, the Error is thrown on the first, and the others return false.
bool agree(Ranks& ranks, const std::function<void()>& step);

/// The same for a step that returns what this rank is about to do. Error{kUsage} on the first rank
/// if the ranks do not all return the same text.
bool agree_alike(Ranks& ranks, const std::function<std::string()>& step);

/// Every rank calls `step`, and gets the first rank's answer, or its Error. On the others `step`
/// must not throw.
std::string from_first(Ranks& ranks, const std::function<std::string()>& step);

}  // namespace headway
