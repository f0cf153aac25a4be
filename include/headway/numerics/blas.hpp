#pragma once

#include <string>

namespace headway::numerics {

/// Binds OpenBLAS to one thread a call, and to kernels that fit this processor. The program and
/// every study call it first; safe to repeat, from any thread.
///
/// OpenBLAS chooses its kernels by the processor's model number. An older version takes kernels
/// without AVX for a model that it does not know, which are several times slower. Then it is made
/// to choose again, by the instruction set. Its choice stays where it knows the processor, and so
/// does the user's own (OPENBLAS_CORETYPE). No variable is left behind in the environment.
///
/// The kernels must not change during a product. So while another thread of this process is at
/// work, they stay as they are until the next call (see blas_warning()).
void prepare_blas();

/// For -v and provenance: "OpenBLAS 0.3.21 ... SkylakeX, kernels for SkylakeX (by instruction
/// set)".
std::string blas_description();

/// What slows OpenBLAS down and what the user can do about it; "" if nothing does.
std::string blas_warning();

}  // namespace headway::numerics
