#pragma once

#include <optional>
#include <string>

#include "headway/train_results.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// The run in `group` of a checkpoint, with its whole state (headway::TrainedRunView says how it
/// lies there), or of a result, without weights. Error{kBadData} naming the attribute or data set
/// that is missing or malformed.
TrainedRun read_trained_run(const Hdf5InputFile& file, const std::string& group);

/// Its learned tokenizer; "" where it has none.
std::string read_tokenizer(const Hdf5InputFile& file, const std::string& group);

/// What its network was told of its examples, where the file says it.
std::optional<training::TaskFormat> read_format(const Hdf5InputFile& file,
                                                const std::string& group);

/// The weights, the tokenizer and the format of a result's run, where it holds them; all else of
/// its state is not there.
void read_kept_weights(const Hdf5InputFile& file, const std::string& group, TrainedRun& run);

}  // namespace headway::io
