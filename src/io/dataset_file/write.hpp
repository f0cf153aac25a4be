#pragma once

#include "headway/tasks/dataset.hpp"
#include "io/hdf5/output.hpp"

namespace headway::io {

/// Writes everything that a data-set file says of `dataset` but its provenance (schema
/// "headway-dataset" 1.0), numbers in single precision, inputs read block by block. Only for data
/// sets with inputs and head matrices (AttentionForm kWeights and kQueryKey); Error{kInternal} for
/// others.
void write_dataset(const tasks::Dataset& dataset, Hdf5OutputFile& out);

}  // namespace headway::io
