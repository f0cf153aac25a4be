#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/ranks.hpp"
#include "headway/dataset.hpp"
#include "headway/observer.hpp"
#include "headway/provenance.hpp"
#include "headway/sample.hpp"
#include "headway/shard.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "headway/train.hpp"

namespace headway {

/// What a part says of itself before its numbers are read.
struct PartHeader {
  std::string file;
  std::string kind;  ///< the verb
  ResultProvenance provenance;
};

/// Why numbers of `found` do not belong to those of `wanted`: "is of another study: ...", "is of
/// other data", "was made by version ...". "" when study, data and version are the same.
std::string other_origin(const ResultProvenance& found, const ResultProvenance& wanted);

/// The indices of `parts` in the order of their shards. Error{kBadData} naming file and fault where
/// the parts do not belong together: one has another verb, study, data, version or number of parts
/// than the first, is a whole or an unfinished result, or is there twice. Error{kMissingFile} where
/// parts are missing, with the command that makes each.
std::vector<std::size_t> order_of_parts(const std::vector<PartHeader>& parts);

/// The provenance of the undivided result. Its command is that of the first part without --shard,
/// its time the sum over the parts, and `started` the earliest of theirs.
ResultProvenance merged_provenance(const std::vector<PartHeader>& parts);

/// The results of all parts in the order of their shards; nullopt for a missing one.
template <class Result>
using Parts = std::vector<std::optional<Result>>;

/// The undivided result. It is marked as interrupted if parts are missing; one part at least must
/// be there. Error{kBadData} where a part does not have the points or runs of its shard.
SolveResult merge_parts(const Study& study, Parts<SolveResult> parts);
SampleResult merge_parts(const Study& study, Parts<SampleResult> parts);
TrainResult merge_parts(const Study& study, Parts<TrainResult> parts);

/// A study that several processes compute together. Its units are independent of each other. With
/// as many shards as units, each shard is one unit.
template <class Result>
class SharedStudy {
 public:
  SharedStudy() = default;
  SharedStudy(const SharedStudy&) = delete;
  SharedStudy& operator=(const SharedStudy&) = delete;
  virtual ~SharedStudy() = default;

  /// "points", for progress.
  [[nodiscard]] virtual const char* unit_name() const = 0;
  [[nodiscard]] virtual std::size_t units() const = 0;
  /// Called once, on every rank, before anything is computed. The observer, which outlives this,
  /// hears of all that follows.
  virtual void make_ready(Observer& observer) = 0;
  virtual Result part(const Shard& unit) = 0;
  /// The undivided result, marked as interrupted where a unit is missing.
  [[nodiscard]] virtual Result join(Parts<Result> parts) const = 0;

  /// The number of pieces that a unit is cut into, for ranks with so many threads. 0: a unit is
  /// computed as a whole.
  [[nodiscard]] virtual std::size_t pieces(int /*threads*/) const { return 0; }
  /// Computes a piece of a unit ahead of part(), which finds it in the checkpoints. False when
  /// interrupted.
  virtual bool piece(std::size_t /*unit*/, const Shard& /*piece*/) { return true; }
};

/// How the result of a unit travels to the first rank, and where the first rank keeps it until all
/// are there. jobs::PartFiles keeps result files. All but pack() is called on the first rank alone.
template <class Result>
class PartStore {
 public:
  PartStore() = default;
  PartStore(const PartStore&) = delete;
  PartStore& operator=(const PartStore&) = delete;
  virtual ~PartStore() = default;

  /// The bytes of a complete unit. Called on the rank that computed it.
  [[nodiscard]] virtual std::string pack(const Result& result, const Shard& unit) const = 0;
  /// Whether a unit is kept, by an earlier call perhaps.
  [[nodiscard]] virtual bool has(std::size_t unit) const = 0;
  virtual void put(std::size_t unit, std::string_view bytes) = 0;
  /// The result of a unit that is kept; from `bytes` if they are given.
  [[nodiscard]] virtual Result get(std::size_t unit, std::string_view bytes = {}) const = 0;
  /// The user asked to stop, and this is finished so far. It is called while other ranks may still
  /// be at work: whoever started the ranks may kill all of them a second later.
  virtual void stopping(const Result& /*so_far*/) {}
};

/// Computes a study on all ranks, which call it together with the same study. They take units one
/// by one from the first rank, and send it their results, which it joins. Returns the result on the
/// first rank, to the bits of one process, and nothing on the others. `threads`: of a rank, for
/// SharedStudy::pieces(). Progress and the warnings of all go to the first rank's observer; each
/// rank's says when to stop. An Error of any rank is thrown on the first: kInterrupted if nothing
/// was finished.
template <class Result>
std::optional<Result> share(Ranks& ranks, SharedStudy<Result>& study, PartStore<Result>& store,
                            int threads, Observer& observer);

/// The units of solve() are chains of points. What a study is given must outlive it.
std::unique_ptr<SharedStudy<SolveResult>> shared_solve(const Study& study,
                                                       const tasks::Dataset& dataset,
                                                       const SolveHooks& hooks = {});

/// The units of sample() are points. With hooks that keep chains, a point is cut into pieces of as
/// many chains as a rank has threads.
std::unique_ptr<SharedStudy<SampleResult>> shared_sample(const Study& study,
                                                         const tasks::Dataset& dataset,
                                                         const SampleHooks& hooks = {},
                                                         const SolveResult* known = nullptr);

/// The units of train() are runs. `study` is that of the grid; each run takes all threads of a
/// rank.
std::unique_ptr<SharedStudy<TrainResult>> shared_train(const Study& study,
                                                       const std::vector<TrainRun>& runs,
                                                       const TaskMaker& make_task,
                                                       const TrainHooks& hooks = {});

/// Threads of a rank: those `wanted`, if that is above 0; else the cores that it is bound to; else
/// its share of the machine.
int threads_of_rank(int wanted, const Ranks& ranks);

}  // namespace headway
