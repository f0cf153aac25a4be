#include "headway/core/parallel.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace headway {

void parallel_for(Index count, int threads, const std::function<void(Index)>& body) {
  if (threads <= 1 || count <= 1 || omp_in_parallel() != 0) {
    for (Index i = 0; i < count; ++i) body(i);
    return;
  }
  std::exception_ptr failure;
  std::atomic<Index> failed_index{count};  // smallest so far; smaller ones must still run
  std::mutex guard;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (Index i = 0; i < count; ++i) {
    if (i > failed_index) continue;
    try {
      body(i);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(guard);
      if (i < failed_index) {
        failed_index = i;
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

int resolve_threads(int requested) {
  return requested > 0 ? requested : std::max(1, omp_get_max_threads());
}

}  // namespace headway
