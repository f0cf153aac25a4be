#pragma once

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace headway {

/// MiB that /proc/self/status tells of this process, such as "VmRSS:" or "VmHWM:"; 0 where there is
/// none.
inline double process_memory_mib(const char* field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(field, 0) == 0) return std::atof(line.c_str() + std::strlen(field)) / 1024.0;
  }
  return 0.0;
}

}  // namespace headway
