#include "jobs/checkpoint/checkpoint_folder.hpp"

#include <filesystem>
#include <system_error>

#include "core/fail.hpp"

namespace headway::jobs {
namespace {

constexpr int kTries = 5;

}  // namespace

std::string checkpoint_folder_of(const std::string& result_path) {
  return result_path + ".checkpoint";
}

void require_checkpoint_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code failure, ignored;
  const fs::file_status status = fs::status(folder, failure);
  const bool dangling = !fs::exists(status) && fs::is_symlink(fs::symlink_status(folder, ignored));
  if (dangling || (fs::exists(status) && !fs::is_directory(status))) {
    fail(ErrorKind::kCannotWrite,
         "{}: exists and is not a folder; checkpoints need a folder of this name", folder);
  }
  if (failure == std::errc::filename_too_long) {
    fail(ErrorKind::kCannotWrite, "{}: checkpoints need a folder of this name: {}", folder,
         failure.message());
  }
}

void write_in_folder(const std::string& folder, const std::function<void()>& write) {
  for (int tries = 1;; ++tries) {
    const bool last = tries == kTries;
    std::error_code failure;
    std::filesystem::create_directory(folder, failure);
    if (failure && last) {
      fail(ErrorKind::kCannotWrite, "{}: cannot be made: {}", folder, failure.message());
    }
    if (failure) continue;
    try {
      return write();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kCannotWrite || last) throw;
    }
  }
}

}  // namespace headway::jobs
