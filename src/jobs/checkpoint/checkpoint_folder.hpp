#pragma once

#include <functional>
#include <string>

namespace headway::jobs {

/// The folder of a result's checkpoints.
std::string checkpoint_folder_of(const std::string& result_path);

/// Error{kCannotWrite} where something else has the name of the folder, or no folder can have it.
void require_checkpoint_folder(const std::string& folder);

/// Makes the folder and calls `write`, which writes a file in it: again where that fails, since
/// another process that ends may remove the folder meanwhile. Error{kCannotWrite} if it fails
/// often.
void write_in_folder(const std::string& folder, const std::function<void()>& write);

}  // namespace headway::jobs
