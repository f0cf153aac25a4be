#pragma once

namespace headway::cli {

/// Sets OMP_WAIT_POLICY to passive and OPENBLAS_NUM_THREADS to 1, each unless the user has set it.
/// libgomp's default is to spin while it waits, which collapses when another process shares the
/// cores (measured: 1352 against 154 ms).
///
/// libgomp and OpenBLAS read both when they are loaded, before main. So where one is missing, the
/// program starts again in the same process, with both. If that fails, only speed is lost.
void bind_thread_pools(char** argv);

}  // namespace headway::cli
