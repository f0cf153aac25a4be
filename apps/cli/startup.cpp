#include "startup.hpp"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace headway::cli {
namespace {

bool is_program(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  std::array<char, 4> start{};
  const bool whole = file >= 0 && read(file, start.data(), start.size()) == 4;
  if (file >= 0) close(file);
  return whole && std::string_view(start.data(), start.size()) ==
                      "\x7f"
                      "ELF";
}

/// This program by the name that it was started by, which the process keeps. It needs no /proc.
/// Null where it cannot be started again so: `ld.so --library-path ... headway` has options that
/// are lost, and a script whose first line names this program would be started in its place.
const char* own_path() {
  const auto path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  if (getauxval(AT_BASE) == 0 || path == nullptr || !is_program(path)) return nullptr;
  return path;
}

}  // namespace

void bind_thread_pools(char** argv) {
  constexpr const char* kPolicy = "OMP_WAIT_POLICY";
  constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
  if (std::getenv(kPolicy) != nullptr && std::getenv(kThreads) != nullptr) return;
  const char* const program = own_path();
  if (program == nullptr) return;
  // The second start finds both, and goes on.
  if (setenv(kPolicy, "passive", 0) != 0 || setenv(kThreads, "1", 0) != 0) return;
  execv(program, argv);
}

}  // namespace headway::cli
