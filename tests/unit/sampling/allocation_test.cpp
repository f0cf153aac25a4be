// Transitions allocate no memory, except when a trajectory is deeper than all before it. The tests
// count calls of malloc, with glibc only.
#include <atomic>
#include <cstdlib>

#include "catch.hpp"
#include "sampling/nuts.hpp"
#include "sampling/static_hmc.hpp"
#include "sampling_targets.hpp"

#if defined(__GLIBC__) && !defined(HEADWAY_ADDRESS_SANITIZER) && !defined(HEADWAY_THREAD_SANITIZER)

namespace {
std::atomic<long> allocations{0};
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t size);  // NOLINT: the name is glibc's
void* malloc(std::size_t size) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
}

using namespace headway;            // NOLINT: a test
using namespace headway::sampling;  // NOLINT

namespace {

long allocations_of(Transition& transition, PhasePoint& point, int moves) {
  Rng rng(1, StreamPurpose::kTests);
  TransitionStatistics done;
  for (int i = 0; i < 300; ++i) transition.move(point, 0.2, rng, done);
  const long before = allocations.load();
  for (int i = 0; i < moves; ++i) transition.move(point, 0.2, rng, done);
  return allocations.load() - before;
}

}  // namespace

TEST_CASE("the counter of allocations counts them", "[not_sanitized]") {
  const long before = allocations.load();
  const VectorXd vector = VectorXd::Ones(14);
  CHECK(allocations.load() > before);
  CHECK(vector.sum() == 14.0);
}

TEST_CASE("transitions do not allocate", "[not_sanitized]") {
  testing::GaussianTarget target = testing::correlated_gaussian(14);
  for (const MetricKind kind : {MetricKind::kUnit, MetricKind::kDiagonal, MetricKind::kDense}) {
    INFO(metric_name(kind));
    const Metric metric(kind, 14);
    Hamiltonian hamiltonian(target, metric);
    PhasePoint point(14);
    point.position = target.mean();
    hamiltonian.evaluate(point);
    SamplerOptions options;
    options.max_tree_depth = 5;  // reached at once, so that no new depth comes later
    Nuts nuts(hamiltonian, options, 14, nullptr);
    CHECK(allocations_of(nuts, point, 500) == 0);
    options.sampler = SamplerKind::kStaticHmc;
    StaticHmc hmc(hamiltonian, options, 14, nullptr);
    CHECK(allocations_of(hmc, point, 500) == 0);
  }
}

#endif
