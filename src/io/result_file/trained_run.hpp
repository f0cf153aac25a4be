#pragma once

#include <string>

#include "headway/studies/training.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// The run in `group` of a checkpoint, with its whole state (studies::TrainedRunView says how it
/// lies there). Error{kBadData} naming the attribute or data set that is missing or malformed.
studies::TrainedRun read_trained_run(const Hdf5InputFile& file, const std::string& group);

}  // namespace headway::io
