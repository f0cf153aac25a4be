#pragma once

namespace headway::cli {

/// Binds the waiting policy and the thread pools of libgomp and OpenBLAS, which read their
/// environment when they are loaded, before main: where OMP_WAIT_POLICY is not set, it becomes
/// passive (and OPENBLAS_NUM_THREADS 1 where that is not set). libgomp's default, spinning while it
/// waits, collapses when another process shares the cores (measured: 1352 against 154 ms).
///
/// startup.cpp has the loader show the libraries both; this function then leaves the environment as
/// it was, and both in it. Where the loader could not (a C library that is not glibc, an
/// environment with next to nothing in it), it starts the program again in the same process, which
/// takes twice as long. Returns when nothing is to be done or the program cannot be started again,
/// which costs speed alone.
void bind_thread_pools(char** argv);

}  // namespace headway::cli
