#pragma once

#include <string>

#include "headway/studies/training.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/output.hpp"

/// One training run in HDF5: in results and in checkpoints alike. Layout of a group:
///   attributes          label, variant, seed, device, parameters, flops_per_step, outcome, steps,
///                       train_loss, best_step, best_loss, training_seconds, steps_per_second, ...
///   settings            [n, 2] strings: what the sweep sets, key and value
///   curves/<split>      [records, columns], the attribute `columns` names them: record (its number
///                       among those of all splits), step, loss, the split's metrics, ...
///   final/<split>       attributes examples, loss and the metrics at the end
///   ceiling/<split>     attributes instances and studies::ceiling_numbers(): "sraven"; written
///   only weights/<name>, best_weights/<name>   float32, named as training::TrainState says
///   tokenizer           bytes of the SentencePiece model that made the text's tokens (results with
///                       weights only)
/// and below state/ of a checkpoint the rest of training::TrainState.
namespace headway::io {

enum class KeptWeights { kNone, kLastAndBest, kWholeState };

void write_trained_run(const std::string& group, const studies::TrainedRun& run, KeptWeights kept,
                       Hdf5OutputFile& out);

/// The run in `group` of a checkpoint, with its whole state. Error{kBadData} naming the attribute
/// or data set that is missing, malformed, or not what was written (a SHA-256 guards the state).
studies::TrainedRun read_trained_run(const Hdf5InputFile& file, const std::string& group);

/// What a sweep sets in the run in `group`, of a result too.
std::vector<studies::Setting> trained_run_settings(const Hdf5InputFile& file,
                                                   const std::string& group);

}  // namespace headway::io
