#include "headway/core/ranks.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "core/fail.hpp"
#include "core/mpi_library.hpp"
#include "headway/core/block_cyclic.hpp"
#include "headway/core/plugin.hpp"

namespace headway {
namespace {

constexpr std::chrono::milliseconds kNap{1};

/// A whole number of the environment; 0 when it is not there.
int number_in(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return text == nullptr ? 0 : std::atoi(text);
}

/// How many processes mpirun (of OpenMPI) or srun --mpi=pmix started.
int started_ranks() {
  if (const int size = number_in("OMPI_COMM_WORLD_SIZE"); size > 0) return size;
  const bool pmix = std::getenv("PMIX_RANK") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  return pmix ? number_in("SLURM_STEP_NUM_TASKS") : 1;
}

#ifdef HEADWAY_MPI_LIBRARY

std::unique_ptr<Ranks> join() {
  // POSIX: an object pointer from dlsym is a function's.
  const auto entry = reinterpret_cast<detail::MpiLibraryEntry>(  // NOLINT
      load_plugin({"several ranks: Headway's MPI library", HEADWAY_MPI_LIBRARY,
                   HEADWAY_MPI_LIBRARY_INSTALLED, detail::kMpiLibraryEntry}));
  const detail::MpiLibrary* library = entry(detail::kMpiInterface);
  if (library != nullptr) return library->join();
  fail(ErrorKind::kUnavailable,
       "several ranks: the MPI library that was found belongs to another version of Headway");
}

#else

[[noreturn]] std::unique_ptr<Ranks> join() {
  fail(ErrorKind::kUnavailable,
       "started as one of several ranks, but this build has no MPI. Install it (Debian, Ubuntu: "
       "apt-get install libopenmpi-dev openmpi-bin), configure and build again; or use --shard "
       "and headway merge");
}

#endif

}  // namespace

std::unique_ptr<SharedCholesky> Ranks::shared_cholesky(const SharedSquare& /*place*/) {
  return nullptr;
}

RankMessage wait_for_message(Ranks& ranks) {
  for (;;) {
    if (std::optional<RankMessage> message = ranks.receive()) return *std::move(message);
    std::this_thread::sleep_for(kNap);
  }
}

void end_all(Ranks& ranks, std::string_view why) {
  std::cerr << "headway: rank " << ranks.rank() << ": " << why << std::endl;
  ranks.abort(static_cast<int>(ErrorKind::kInternal));
  std::abort();  // which the abort of MPI does not come to
}

std::unique_ptr<Ranks> join_ranks() { return started_ranks() > 1 ? join() : nullptr; }

}  // namespace headway
