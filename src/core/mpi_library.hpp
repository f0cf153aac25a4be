// What Headway asks of its library of MPI, which is loaded only in a process that mpirun or srun
// started beside others.
#pragma once

#include <memory>

#include "headway/core/ranks.hpp"

namespace headway::detail {

struct MpiLibrary {
  /// MPI_Init; MPI_Finalize when the object goes. Once in a process.
  std::unique_ptr<Ranks> (*join)();
};

/// Another number: another version of this header.
inline constexpr int kMpiInterface = 3;
inline constexpr const char* kMpiLibraryEntry = "headway_mpi_library";
using MpiLibraryEntry = const MpiLibrary* (*)(int interface);

}  // namespace headway::detail
