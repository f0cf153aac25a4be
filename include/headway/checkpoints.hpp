#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/clock.hpp"
#include "headway/jobs/parts.hpp"
#include "headway/provenance.hpp"
#include "headway/sample.hpp"
#include "headway/schedule.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "headway/train.hpp"

namespace headway::jobs {

/// Keeps every other run from a result and its checkpoints while this one is at work on it. It is a
/// lock on the file RESULT.h5.checkpoint/lock, whose text says who holds it. It ends with the
/// process, however that ends, so what is left of a killed one blocks nobody. It reaches across
/// machines where the file system has locks of POSIX, as NFS has. Where it has none, nothing is
/// locked.
class OutputLock {
 public:
  /// Error{kCannotWrite} when another run holds the lock, naming its process and machine, or when
  /// there can be no such folder.
  explicit OutputLock(const std::string& result_path);
  /// Removes the file, and the folder if nothing else is in it.
  ~OutputLock();
  OutputLock(const OutputLock&) = delete;
  OutputLock& operator=(const OutputLock&) = delete;

 private:
  [[nodiscard]] bool try_take();

  std::string result_path_, folder_, file_path_;
  int handle_ = -1;
};

/// The checkpoints of one result on disk: a folder RESULT.h5.checkpoint beside it, with one HDF5
/// file (schema "headway-checkpoint") for each part. A file appears whole or not at all. It says
/// which study, data and version it belongs to. It ends in the SHA-256 of all bytes before.
class Checkpoints {
 public:
  /// The number of unfinished parts that have a checkpoint, and the number of finished ones.
  [[nodiscard]] std::size_t resumable() const { return resumable_; }
  [[nodiscard]] std::size_t finished() const { return finished_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// That all earlier calls on this result took together, up to the last checkpoint.
  [[nodiscard]] double earlier_seconds() const { return earlier_seconds_; }
  /// Deletes the checkpoints: the result is complete.
  void remove() const;

 protected:
  /// Looks at what the folder holds. With `force` all checkpoints there are deleted instead.
  /// `verb`: "solve", "sample" or "train". Errors: kBadStudy for a checkpoint of another study,
  /// data or version, naming what differs; kBadData for a damaged one; kCannotWrite when the
  /// folder's name is taken by something else. Messages say what the user can do.
  Checkpoints(const std::string& result_path, std::string verb, std::vector<ComputationPart> parts,
              bool force);

  /// What the checkpoint of a part holds; nothing when there is none.
  template <class State>
  [[nodiscard]] std::optional<State> load(std::size_t part) const;
  /// Replaces the checkpoint of a part. `done`: nothing is left to do. Error{kCannotWrite} when the
  /// disk is full.
  template <class State>
  void save(std::size_t part, bool done, const State& state) const;

 private:
  void look(const std::string& name);
  [[nodiscard]] std::string path_of(const std::string& name) const;

  std::string folder_;
  std::string verb_;
  std::vector<ComputationPart> parts_;
  std::size_t resumable_ = 0, finished_ = 0;
  double earlier_seconds_ = 0.0;
  Clock::time_point began_ = Clock::now();
};

/// The checkpoints of `solve` or `sample`: one for each sweep point that takes long. Chains of a
/// point that are run apart have checkpoints of their own.
template <class Hooks>
class PointCheckpoints final : public Checkpoints {
 public:
  PointCheckpoints(const std::string& result_path, const Study& study, const std::string& data_hash,
                   bool force);
  /// What the verb calls; save is absent when its checkpoint_seconds is 0.
  [[nodiscard]] Hooks hooks() const;

 private:
  bool saves_;
  std::size_t points_, chains_;
};
using SolveCheckpoints = PointCheckpoints<SolveHooks>;
using SampleCheckpoints = PointCheckpoints<SampleHooks>;

/// The checkpoints of `train`: one for each run, named after the hashes of its study and data
/// (headway::train_parts()). Where a grid sweeps `threads`, the name has their number too.
class TrainCheckpoints final : public Checkpoints {
 public:
  /// `data_hashes`: of each run, as TrainTask::content_hash.
  TrainCheckpoints(const std::string& result_path, const std::vector<TrainRun>& runs,
                   const std::vector<std::string>& data_hashes, bool force);
  /// Hooks load and save of headway::train.
  [[nodiscard]] TrainHooks hooks() const;
};

/// The result files of finished units in the folder of the checkpoints, one file for each.
class PartFolder {
 public:
  /// Finds what an earlier call left. With an empty `result_path` a temporary folder is made, and
  /// deleted with this object. A part of another study, data or program is an Error{kBadStudy}.
  /// `whole`: the provenance of the result to be made.
  PartFolder(const std::string& result_path, const ResultProvenance& whole, std::size_t units);
  ~PartFolder();
  PartFolder(const PartFolder&) = delete;
  PartFolder& operator=(const PartFolder&) = delete;

  [[nodiscard]] bool has(std::size_t unit) const { return there_[unit]; }
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::string file(std::size_t unit) const;
  void put(std::size_t unit, std::string_view bytes);
  /// Deletes the parts: the whole result is written.
  void remove() const;
  /// Deletes all that earlier calls left in the folder of a result, checkpoints too.
  static void clear(const std::string& result_path);

 private:
  void look(std::size_t unit, const ResultProvenance& whole);

  std::string folder_;
  bool for_this_call_;
  std::vector<bool> there_;
};

/// The units of a shared study (headway/schedule.hpp) as result files. When the user asks to stop,
/// a partial result is written beside them.
template <class Result>
class PartFiles final : public PartStore<Result> {
 public:
  /// All ranks construct one with the same arguments. The first rank alone keeps files.
  /// `overwrite`: a partial result may replace the file `result_path`.
  PartFiles(const Ranks& ranks, std::string result_path, const Study& study, ResultProvenance whole,
            std::size_t units, bool overwrite);

  [[nodiscard]] std::string pack(const Result& result, const Shard& unit) const override;
  [[nodiscard]] bool has(std::size_t unit) const override { return folder_->has(unit); }
  void put(std::size_t unit, std::string_view bytes) override { folder_->put(unit, bytes); }
  [[nodiscard]] Result get(std::size_t unit, std::string_view bytes) const override;
  void stopping(const Result& so_far) override;

  /// Units that an earlier call left.
  [[nodiscard]] std::size_t count() const { return folder_->count(); }
  /// Whether a partial result was written. The whole result may replace it.
  [[nodiscard]] bool wrote() const { return wrote_; }
  void remove() const { folder_->remove(); }

 private:
  std::string result_path_;
  const Study& study_;
  ResultProvenance whole_;
  bool overwrite_, wrote_ = false;
  std::optional<PartFolder> folder_;  ///< on the first rank
};

}  // namespace headway::jobs
