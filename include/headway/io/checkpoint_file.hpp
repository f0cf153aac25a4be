#pragma once

#include <functional>
#include <string>

#include "headway/core/record.hpp"
#include "headway/schedule/parts.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/output.hpp"

/// One checkpoint on disk: an HDF5 file, and behind it the SHA-256 of its bytes in 64 hexadecimal
/// digits, which HDF5 passes over. Root attributes: schema_name "headway-checkpoint",
/// schema_version, git_commit, written and those of CheckpointHeader; the rest is the verb's own:
///   point/   theory::SaddlePointState (solve), headway::SampleState (sample)
///   run/     headway::TrainedRun with its state (train; headway::TrainedRunView)
namespace headway::io {

/// What a checkpoint belongs to.
struct CheckpointHeader {
  std::string verb;
  ComputationPart part;  ///< its name is that of the file
  std::string version;
  bool done = false;
  double seconds = 0.0;
};

template <class Visitor, RecordOf<CheckpointHeader> Record>
void fields(Visitor& visit, Record& r) {
  visit("kind", r.verb, "the verb that wrote it");
  visit("study_hash", r.part.study_hash, "of the keys that decide the numbers");
  visit("study_toml", r.part.study_toml, "the resolved study");
  visit("data_hash", r.part.data_hash, "content of the data");
  visit("headway_version", r.version, "of the program that wrote it");
  visit("done", r.done, "nothing is left to do");
  visit("seconds", r.seconds, "of all calls on this result until it was written",
        {.optional = true});
}

/// The folder of a result's checkpoints.
std::string checkpoint_folder_of(const std::string& result_path);

/// Error{kCannotWrite} where something else has the name of the folder, or no folder can have it.
void require_checkpoint_folder(const std::string& folder);

/// Makes the folder and calls `write`, which writes a file in it: again where that fails, since
/// another process that ends may remove the folder meanwhile. Error{kCannotWrite} if it fails
/// often.
void write_in_folder(const std::string& folder, const std::function<void()>& write);

/// Puts the file there, whole or not at all; `write` adds the content.
void write_checkpoint(const std::string& file_path, const CheckpointHeader& header,
                      const std::function<void(Hdf5OutputFile&)>& write);

/// What reads the content of a sound checkpoint, once its header is known.
using CheckpointReader = std::function<void(const CheckpointHeader&, const Hdf5InputFile&)>;

/// Opens a checkpoint for `read`. One whose bytes are not those that were written is an
/// Error{kBadData}, one of another format an Error{kBadStudy}; both say how to go on.
void read_checkpoint(const std::string& file_path, const CheckpointReader& read);

/// Error{kBadStudy}: a sound checkpoint that is not this run's, because of `differences`.
[[noreturn]] void refuse_checkpoint(const std::string& file_path, const std::string& differences);

}  // namespace headway::io
