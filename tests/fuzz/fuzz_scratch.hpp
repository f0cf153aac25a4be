#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

/// What fuzzers share: files in memory, of this process alone.
namespace headway::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline std::string scratch_file(const char* name) {
  return "/dev/shm/headway-fuzz-" + std::to_string(::getpid()) + name;
}

/// Writes a file of scratch_file(".h5"), "-input" or "-labels"; those are gone when the process
/// ends.
inline bool write_scratch(const std::string& path, const std::uint8_t* data, std::size_t size) {
  static const int kRegistered = std::atexit([] {
    for (const char* name : {".h5", "-input", "-labels"}) ::unlink(scratch_file(name).c_str());
  });
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr || kRegistered != 0) return false;
  const bool fine = std::fwrite(data, 1, size, file) == size;
  return std::fclose(file) == 0 && fine;
}

}  // namespace headway::fuzz
