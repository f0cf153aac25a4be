#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "headway/sample.hpp"
#include "headway/schedule/parts.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "headway/train_results.hpp"

namespace headway::io {

class Hdf5InputFile;
class Hdf5OutputFile;

/// The checkpoints of one result on disk: a folder RESULT.h5.checkpoint beside it with one HDF5
/// file (schema "headway-checkpoint") for each part. A file appears whole or not at all, says which
/// study, data and version it belongs to, and ends in the SHA-256 of all before.
class Checkpoints {
 public:
  /// Parts that have something to go on from, and parts of which nothing is left to do.
  [[nodiscard]] std::size_t resumable() const { return resumable_; }
  [[nodiscard]] std::size_t finished() const { return finished_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Deletes the checkpoints: the result is complete.
  void remove() const;

 protected:
  /// Looks at what the folder holds. A checkpoint that belongs to none of the parts, whose study,
  /// data or version is another, throws Error{kBadStudy} naming what differs, a damaged one
  /// Error{kBadData}, each with the way out; with `force` all that are there are deleted.
  /// Error{kCannotWrite} when something that is no folder has the folder's name. `verb`: what the
  /// parts are of, "sample" or "train".
  Checkpoints(const std::string& result_path, std::string verb,
              std::vector<headway::ComputationPart> parts, bool force);

  /// Calls `read` with the checkpoint of a part; false when there is none.
  bool load(std::size_t part, const std::function<void(const Hdf5InputFile&)>& read) const;
  /// Replaces the checkpoint of a part by what `write` writes. `done`: nothing is left to do.
  /// Error{kCannotWrite} when the disk is full.
  void save(std::size_t part, bool done, const std::function<void(Hdf5OutputFile&)>& write) const;

 private:
  void look(const std::string& name);
  [[nodiscard]] std::string path_of(const std::string& name) const;

  std::string folder_;
  std::string verb_;
  std::vector<headway::ComputationPart> parts_;
  std::size_t resumable_ = 0, finished_ = 0;
};

/// The checkpoints of `solve` or `sample`: one for each sweep point that takes long, and for chains
/// of one that are run apart.
template <class Hooks>
class PointCheckpoints final : public Checkpoints {
 public:
  PointCheckpoints(const std::string& result_path, const headway::Study& study,
                   const std::string& data_hash, bool force);
  /// What the verb calls; save is absent when its checkpoint_seconds is 0.
  [[nodiscard]] Hooks hooks() const;

 private:
  bool saves_;
  std::size_t points_, chains_;
};
using SolveCheckpoints = PointCheckpoints<headway::SolveHooks>;
using SampleCheckpoints = PointCheckpoints<headway::SampleHooks>;

/// The checkpoints of `train`: one for each run (headway::train_parts()). Runs of a grid that give
/// the same numbers share a file, but for those that differ in `threads`.
class TrainCheckpoints final : public Checkpoints {
 public:
  /// `data_hashes`: of each run, as TrainTask::content_hash.
  TrainCheckpoints(const std::string& result_path, const std::vector<headway::TrainRun>& runs,
                   const std::vector<std::string>& data_hashes, bool force);
  /// Hooks load and save of headway::train.
  [[nodiscard]] headway::TrainHooks hooks() const;
};

}  // namespace headway::io
