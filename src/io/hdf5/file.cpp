#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "headway/core/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/schema.hpp"

namespace headway::io {

bool is_hdf5(const std::string& file_path) {
  try {
    check_is_hdf5(file_path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

void check_is_hdf5(const std::string& file_path) {
  const std::uint64_t bytes = readable_file_bytes(file_path);
  const Hdf5Lock lock;
  if (H5Fis_hdf5(file_path.c_str()) > 0) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: is not an HDF5 file{}", file_path, bytes == 0 ? ": empty" : ""));
}

std::string schema_name(const std::string& file_path) {
  if (!is_hdf5(file_path)) return {};
  try {
    return first_reading(file_path).schema;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kInterrupted) throw;
    return {};
  }
}

void check_output_path(const std::string& file_path, bool force) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorKind::kCannotWrite, fmt::format("{}: cannot be written: {}", file_path, why));
  };
  if (file_path.empty()) refuse("the name is empty");
  struct stat status {};
  if (::stat(file_path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) refuse("it exists and is no regular file");
    if (!force) refuse("it exists already (--force overwrites it)");
  } else if (errno != ENOENT) {
    refuse(std::strerror(errno));
  }
  const std::string parent = std::filesystem::path(file_path).parent_path().string();
  const std::string directory = parent.empty() ? "." : parent;
  if (::stat(directory.c_str(), &status) != 0) {
    refuse(fmt::format("the directory {}: {}", directory, std::strerror(errno)));
  }
  if (!S_ISDIR(status.st_mode)) refuse(fmt::format("{} is no directory", directory));
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    refuse(fmt::format("the directory {}: {}", directory, std::strerror(errno)));
  }
}

}  // namespace headway::io
