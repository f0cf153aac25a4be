#pragma once

namespace headway::cli {

/// Sets OMP_WAIT_POLICY to passive and OPENBLAS_NUM_THREADS to 1, unless the user has set them.
/// libgomp's default is to spin while it waits, which collapses when another process shares the
/// cores (measured: 1352 against 154 ms).
///
/// libgomp and OpenBLAS read both when they are loaded, before main. So startup.cpp puts them into
/// the environment while the loader runs. This function then restores what they stood in the place
/// of. Where that is not possible (a C library that is not glibc, a nearly empty environment), it
/// starts the program again in the same process, which takes twice as long to start. If that fails,
/// too, only speed is lost.
void bind_thread_pools(char** argv);

}  // namespace headway::cli
