#include "io/hdf5/isolated.hpp"

#include <csignal>
#include <cstring>
#include <filesystem>

#include "core/fail.hpp"
#include "core/isolated.hpp"
#include "io/hdf5/handle.hpp"

namespace headway::io {

std::vector<std::string> run_isolated(const std::string& file_path,
                                      const std::function<std::vector<std::string>()>& work,
                                      int seconds) {
  std::error_code failure;
  const std::uintmax_t bytes = std::filesystem::file_size(file_path, failure);
  const auto guarded = [&] {
    const Hdf5Lock lock;
    try {
      return work();
    } catch (const std::bad_alloc&) {
      bad_data("needs more memory than there is: damaged");
    }
  };
  const IsolatedOutcome outcome =
      run_in_copy(guarded, seconds + static_cast<int>(failure ? 0 : bytes >> 20));
  if (outcome.signal == SIGINT || outcome.signal == SIGTERM || outcome.signal == SIGHUP) {
    fail(ErrorKind::kInterrupted, "{}: interrupted while it was checked", file_path);
  }
  if (outcome.signal == SIGXCPU) bad_data("{}: reading it took too long: damaged", file_path);
  if (outcome.signal != 0) {
    bad_data("{}: reading it crashed ({}): damaged", file_path, ::strsignal(outcome.signal));
  }
  if (!outcome.answered) bad_data("{}: the check of the file ended without an answer", file_path);
  if (outcome.error) throw Error(*outcome.error);
  return outcome.lines;
}

}  // namespace headway::io
