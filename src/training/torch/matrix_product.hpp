#pragma once

#include "headway/core/cpu.hpp"
#include "training/model/transformer_blocks.hpp"

namespace headway::training::detail {

/// The fastest matrix product at hand: oneDNN's where the build has it, but OpenBLAS's for the
/// shapes that it is faster for on this instruction set; or LibTorch's BLAS.
MatrixProduct matrix_product(InstructionSet set = best_instruction_set());

/// "oneDNN 2.6.3" or "LibTorch's BLAS".
const char* matrix_product_name();

/// LibTorch starts a thread for each processor when it is first told how many to use, and waits for
/// ever if one cannot be started. Error{kUnavailable} unless twice as many can be started, since we
/// start some later.
void require_library_threads();

/// While it lives, libraries that ask OpenMP for threads get one: ours are counted by hand.
class SerialLibraries {
 public:
  SerialLibraries();
  ~SerialLibraries();
  SerialLibraries(const SerialLibraries&) = delete;
  SerialLibraries& operator=(const SerialLibraries&) = delete;

 private:
  int threads_;
};

}  // namespace headway::training::detail
