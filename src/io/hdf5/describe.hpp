#pragma once

#include <string>

#include "io/hdf5/input.hpp"

namespace headway::io {

/// The tree of a file, one line for each group, data set and attribute, indented; numbered groups
/// (points/0, points/1, ...) are shown once. At most 2,000 lines.
std::string describe_tree(const Hdf5InputFile& file);

/// What a data set holds: form, sizes, heads, note.
std::string describe_dataset(const Hdf5InputFile& file);

/// What a result holds: provenance, sizes, a table of its points, how to remake it.
std::string describe_result(const Hdf5InputFile& file);

/// Runs and final table of a result of `train`.
std::string describe_train_runs(const Hdf5InputFile& file);

/// What was decoded from networks (`latents`), or how they did (`evaluate`): the table over seeds.
std::string describe_latents(const Hdf5InputFile& file);
std::string describe_evaluations(const Hdf5InputFile& file);

/// How far a checkpoint is.
std::string describe_checkpoint(const Hdf5InputFile& file);

}  // namespace headway::io
