#include "headway/core/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "core/isolated.hpp"

using namespace headway;

namespace {

/// Bytes of address space that this process takes.
double taken() {
  double pages = 0.0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// What a copy of this process finds free with this limit on its address space.
double free_with_limit(double limit) {
  const IsolatedOutcome outcome = run_in_copy(
      [limit] {
        static_cast<void>(free_address_space());  // has what it allocates, once the limit is low
        struct rlimit of_copy {};
        getrlimit(RLIMIT_AS, &of_copy);
        of_copy.rlim_cur = static_cast<rlim_t>(limit);
        setrlimit(RLIMIT_AS, &of_copy);
        const double found = free_address_space();
        of_copy.rlim_cur = of_copy.rlim_max;
        setrlimit(RLIMIT_AS, &of_copy);
        return std::vector<std::string>{std::to_string(found)};
      },
      60);
  REQUIRE(outcome.lines.size() == 1);
  return std::stod(outcome.lines[0]);
}

}  // namespace

TEST_CASE("free address space is what a limit leaves of it, and never negative") {
  const double slack = 0.1 * kGibibyte;  // that a copy may have taken or given back meanwhile
  for (const double room : {1.0 * kGibibyte, 4.0 * kGibibyte}) {
    CHECK(std::abs(free_with_limit(taken() + room) - room) < slack);
  }
  CHECK(free_with_limit(0.5 * taken()) == 0.0);
  CHECK(kGibibyte == std::pow(2.0, 30.0));
}

TEST_CASE("a machine has whole pages of memory") {
  const double bytes = physical_memory();
  CHECK(bytes > 0.1 * kGibibyte);
  CHECK(bytes < std::pow(2.0, 60.0));
  CHECK(std::fmod(bytes, static_cast<double>(sysconf(_SC_PAGESIZE))) == 0.0);
}
