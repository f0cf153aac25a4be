// Starts the program a second time, with OMP_WAIT_POLICY=passive and OPENBLAS_NUM_THREADS=1, unless
// the user has set both. libgomp's default is to spin while it waits, which collapses when another
// process shares the cores (measured: 1352 against 154 ms). OpenBLAS would start a thread a core,
// none of which is used.
//
// Both libraries read these variables when they are initialised, before main. So the dynamic loader
// calls this file before them: process, arguments, signals and open files stay, and no thread was
// started. Where that is not possible only speed is lost.
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace headway::cli {
namespace {

using namespace std::string_view_literals;

// Initialised at compile time, since they are used before anything else is.
constinit std::array policy = std::to_array("OMP_WAIT_POLICY=passive");
constinit std::array threads = std::to_array("OPENBLAS_NUM_THREADS=1");

bool is_program(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  std::array<char, 4> start{};
  const bool whole = file >= 0 && read(file, start.data(), start.size()) == 4;
  if (file >= 0) close(file);
  return whole && std::string_view(start.data(), start.size()) == "\177ELF"sv;
}

/// This program by the name that it was started by, which the process keeps. It needs no /proc.
/// Null where it cannot be started again so: `ld.so --library-path ... headway` has options that
/// are lost, and a script whose first line names this program would be started in its place.
const char* own_path() {
  const auto path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return getauxval(AT_BASE) != 0 && path != nullptr && is_program(path) ? path : nullptr;
}

/// Whether the environment has the variable of "NAME=value".
bool has(char** environment, std::string_view setting) {
  const std::string_view name = setting.substr(0, setting.find('=') + 1);
  while (*environment != nullptr && !std::string_view(*environment).starts_with(name))
    ++environment;
  return *environment != nullptr;
}

/// The second start finds both variables, and goes on.
void start_again(int /*argc*/, char** argv, char** environment) {
  const bool has_policy = has(environment, policy.data());
  const bool has_threads = has(environment, threads.data());
  if (has_policy && has_threads) return;
  const char* const program = own_path();
  std::size_t count = 0;
  while (environment[count] != nullptr) ++count;
  // setenv() cannot be used yet: glibc has not read the environment.
  auto** const with_both = static_cast<char**>(std::malloc((count + 3) * sizeof(char*)));
  if (program == nullptr || with_both == nullptr) return std::free(with_both);
  std::copy_n(environment, count, with_both);
  if (!has_policy) with_both[count++] = policy.data();
  if (!has_threads) with_both[count++] = threads.data();
  with_both[count] = nullptr;
  execve(program, argv, with_both);
  std::free(with_both);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**,
                                                                             char**) = &start_again;

}  // namespace
}  // namespace headway::cli
