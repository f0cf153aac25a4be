#pragma once

#include <string>

#include "headway/studies/study.hpp"
#include "headway/studies/verbs.hpp"

namespace headway::io {

/// The checkpoints of `sample` on disk: a folder RESULT.h5.checkpoint beside the result file, with
/// one file a sweep point. A file appears whole or not at all and says which study, data and
/// version it belongs to, and a SHA-256 guards its content.
class SampleCheckpoints {
 public:
  /// Looks at what the folder holds. A checkpoint of another study, seed, data or version throws
  /// Error{kBadStudy} and a damaged one Error{kBadData}, each with the way out; with `force` such
  /// files are ignored, and replaced when the run gets there. Error{kCannotWrite} when something
  /// that is no folder has the folder's name.
  SampleCheckpoints(const std::string& result_path, const studies::Study& study,
                    const std::string& data_hash, bool force);

  /// What studies::sample calls: load gives the points that were begun; save, absent when
  /// sample.checkpoint_seconds is 0, throws Error{kCannotWrite} when the disk is full.
  [[nodiscard]] studies::SampleHooks hooks() const;
  /// Points that this run resumes.
  [[nodiscard]] std::size_t resumable() const { return resumable_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Deletes the checkpoints: the result is complete.
  void remove() const;

 private:
  std::string folder_;
  std::string identity_;
  bool force_;
  bool saves_;
  std::size_t resumable_ = 0;
};

}  // namespace headway::io
