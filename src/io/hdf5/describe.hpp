#pragma once

#include <string>

#include "io/hdf5/input.hpp"

namespace headway::io {

/// What a data set holds: form, sizes, heads, note.
std::string describe_dataset(const Hdf5InputFile& file);

/// Gram matrices in place of training examples.
std::string describe_gram(const Hdf5InputFile& file);

/// Examples to train on, set by set.
std::string describe_examples(const Hdf5InputFile& file);

/// What a result holds: provenance, sizes, a table of its points or its runs, how to remake it.
std::string describe_result(const Hdf5InputFile& file);

/// How far a checkpoint is.
std::string describe_checkpoint(const Hdf5InputFile& file);

}  // namespace headway::io
