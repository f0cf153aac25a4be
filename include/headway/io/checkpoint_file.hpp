#pragma once

#include <functional>
#include <optional>
#include <string>

/// One checkpoint on disk: an HDF5 file, and behind it the SHA-256 of its bytes in 64 hexadecimal
/// digits, which HDF5 passes over. Root attributes: schema_name "headway-checkpoint",
/// schema_version, git_commit, written and those of CheckpointHeader; the rest is the state of the
/// verb:
///   point/   theory::SaddlePointState (solve), headway::SampleState (sample)
///   run/     headway::TrainedRun with its state (train; headway::TrainedRunView)
namespace headway::io {

/// What a checkpoint belongs to.
struct CheckpointHeader {
  std::string verb;
  std::string study_hash;  ///< of the keys that decide its numbers
  std::string study_toml;  ///< to name the keys that differ when another one is found
  std::string data_hash;
  std::string version;  ///< of the program
  bool done = false;    ///< nothing is left to do
  double seconds = 0.0;
};

/// Puts the file there, whole or not at all. Error{kCannotWrite} when the disk is full. State:
/// theory::SaddlePointState, headway::SampleState or headway::TrainedRun.
template <class State>
void write_checkpoint(const std::string& file_path, const CheckpointHeader& header,
                      const State& state);

/// What a checkpoint says of itself. One whose bytes are not those that were written is an
/// Error{kBadData}, one of another format an Error{kBadStudy}; both say how to go on.
CheckpointHeader read_checkpoint_header(const std::string& file_path);

/// The state in a checkpoint whose header `fits`; nothing else of it is read. Errors likewise.
template <class State>
std::optional<State> read_checkpoint(const std::string& file_path,
                                     const std::function<bool(const CheckpointHeader&)>& fits);

/// Error{kBadStudy}: a sound checkpoint that is not this run's, because of `differences`.
[[noreturn]] void refuse_checkpoint(const std::string& file_path, const std::string& differences);

}  // namespace headway::io
