#include "shared_course.hpp"

#include <unistd.h>

#include <algorithm>

#include "headway/core/parallel.hpp"

namespace headway::cli {

int threads_of_rank(const headway::Study& study, const Ranks& ranks) {
  const int available = resolve_threads(study.threads);
  const bool bound = available < sysconf(_SC_NPROCESSORS_ONLN);
  if (study.threads > 0 || bound) return available;
  return std::max(1, available / ranks.on_this_machine());
}

}  // namespace headway::cli
