#include "startup.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace headway::cli {

void bind_thread_pools(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;  // the user's choice, or the second start
  std::array<char, 4096> program{};
  // The path rather than /proc/self/exe itself, which would rename the process to "exe".
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0 || static_cast<std::size_t>(length) == program.size() - 1) return;
  setenv("OMP_WAIT_POLICY", "passive", 0);
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  execv(program.data(), argv);
}

}  // namespace headway::cli
