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

/// Units of work for several ranks. All ranks give the same.
struct DealtWork {
  std::size_t units = 0;
  /// On every rank: computes a unit, in a thread that takes no signals; one at a time. `stop` says
  /// when to come back with an unfinished one. An Error ends the work of all.
  std::function<UnitOutcome(std::size_t unit, const std::function<bool()>& stop)> compute;
  /// On the first rank, in the calling thread: whether the unit needs no computing, and what
  /// becomes of a complete one.
  std::function<bool(std::size_t unit)> done;
  std::function<void(std::size_t unit, const UnitOutcome&)> take;
  /// On every rank: the user asked to stop.
  std::function<bool()> interrupted;
  /// On the first rank, as soon as that is known and before anybody is waited for: whoever started
  /// the ranks may give them a second only.
  std::function<void()> stopping;
  /// On the first rank: whether the units that this one builds on were taken. Empty: always.
  std::function<bool(std::size_t unit)> ready = {};
};

/// Every rank, the first one too, computes one unit after another, the next that is left and ready
/// in their order, and sends it to the first. Returns on the first rank when nothing is being
/// computed any more: everything, or after an interruption what was finished, has been given to
/// `take`; on the others when the first has no more for them. An Error of any rank is thrown on the
/// first, with the rank in its message, after the others have come to an end.
void deal_units(Ranks& ranks, const DealtWork& work);

/// A step that every rank takes by itself before they share work. Throws on the first rank what
/// failed on any; returns false on the others then. Waits for all.
bool agree(Ranks& ranks, const std::function<void()>& step);

/// The same, where the step says in words what this rank is about to do. Error{kUsage} on the first
/// rank if they do not all say the same.
bool agree_alike(Ranks& ranks, const std::function<std::string()>& step);

/// Every rank calls `step`, and gets what it gave on the first rank, or the Error that it threw
/// there. On the others it must not throw.
std::string from_first(Ranks& ranks, const std::function<std::string()>& step);

}  // namespace headway
