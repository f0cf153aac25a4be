#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headway/studies/training.hpp"

namespace headway::io {

/// The checkpoints of `train` on disk: a folder RESULT.h5.checkpoint beside the result file, with
/// one HDF5 file a run (schema "headway-checkpoint"), which holds everything that the rest of the
/// run depends on. A file appears whole or not at all, is named after the hashes of its run and its
/// data (so that a grid may grow), says which they are, and a SHA-256 guards its state. Runs of a
/// grid that give the same numbers share a file, but for those that differ in `threads`: their
/// times are what such a sweep is for.
class TrainCheckpoints {
 public:
  /// Looks at what the folder holds. A checkpoint that belongs to no run of the grid throws
  /// Error{kBadStudy} naming the keys that differ, a damaged one Error{kBadData}, each with the way
  /// out; with `force` whatever is there is deleted. Error{kCannotWrite} when something that is no
  /// folder has the folder's name. `data_hashes`: of each run, as TrainTask::content_hash.
  TrainCheckpoints(const std::string& result_path, const std::vector<studies::TrainRun>& runs,
                   const std::vector<std::string>& data_hashes, bool force);

  /// Hooks load and save of studies::train. Error{kCannotWrite} when the disk is full.
  [[nodiscard]] studies::TrainHooks hooks() const;
  /// Runs that this call goes on with, and runs that are done.
  [[nodiscard]] std::size_t resumable() const { return resumable_; }
  [[nodiscard]] std::size_t finished() const { return finished_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Deletes the checkpoints: the result is complete.
  void remove() const;

 private:
  void look(const std::string& name);
  [[nodiscard]] std::string path_of(std::size_t run) const;
  [[nodiscard]] std::optional<studies::TrainedRun> load(std::size_t run) const;
  void save(std::size_t run, const studies::TrainedRun& trained) const;

  struct Identity {
    std::string hash;  // train_hash of the run's study
    std::string study_toml;
    std::string data_hash;
    std::string file_name;
  };
  std::string folder_;
  std::vector<Identity> runs_;
  bool force_;
  std::size_t resumable_ = 0, finished_ = 0;
};

}  // namespace headway::io
