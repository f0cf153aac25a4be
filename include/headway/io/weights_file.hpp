#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headway/training/trainer.hpp"

namespace headway::io {

/// Error{kUsage} unless the name ends in .npz or .safetensors.
void check_weights_path(const std::string& file_path);

/// Writes parameters for other programs, whole or not at all; names and shapes are those of
/// training::TrainState. The ending decides:
///   .npz          a ZIP archive without compression of NumPy arrays <name>.npy (format 1.0), for
///                 numpy.load
///   .safetensors  a header in JSON, then the numbers; `notes` become its __metadata__
/// Both are little-endian float32, row-major. Errors: kUsage for another ending, kCannotWrite as
/// write_result.
void write_weights(const std::string& file_path, const std::vector<training::NamedTensor>& tensors,
                   const std::vector<std::pair<std::string, std::string>>& notes, bool force);

}  // namespace headway::io
