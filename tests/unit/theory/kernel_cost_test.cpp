#include "headway/theory/kernel_cost.hpp"

#if defined(__GLIBC__) && !defined(HEADWAY_ADDRESS_SANITIZER) && !defined(HEADWAY_THREAD_SANITIZER)
#include <malloc.h>
#endif

#include <cmath>
#include <string>
#include <utility>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/path_kernels.hpp"
#include "theory_problems.hpp"

using namespace headway;
using theory::KernelCost;
using theory::KernelForm;
using theory::KernelSizes;

namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

KernelCost cost_of(Index examples, Index paths, Index features, double temperature) {
  theory::PathKernelOptions options;
  options.smallest_temperature = temperature;
  return theory::kernel_cost({examples, paths, features, 1}, options);
}

}  // namespace

TEST_CASE("kernels have the cost that was predicted before they were made") {
  theory::PathKernelOptions options;
  options.smallest_temperature = 0.1;
  const test::TheoryCase c = test::random_case({2, 2}, 1, 25, 7, 3);
  std::vector<KernelForm> forms = test::forms_of(c);
  REQUIRE(forms.size() >= 4);
  forms.push_back(KernelForm::kAuto);
  for (const KernelForm form : forms) {
    for (const double tolerance : {0.0, 1e-3}) {
      options.form = form;
      options.energy_tolerance = tolerance;
      options.compact_above_bytes = 0.0;
      const auto kernels = theory::make_path_kernels(c.features, c.labels, 4, options);
      const KernelCost cost = theory::kernel_cost({25, 4, 7, 1}, options);
      CAPTURE(word_of(form), tolerance);
      CHECK(kernels->form() == cost.form);
      CHECK(kernels->cost().compact == cost.compact);
      CHECK(kernels->cost().evaluation_flops == cost.evaluation_flops);
      CHECK(kernels->cost().hessian_flops == cost.hessian_flops);
      CHECK(kernels->cost().kernel_bytes == cost.kernel_bytes);
    }
  }
}

TEST_CASE("2,000 examples and 16 paths are never described by kernels that do not fit") {
  const KernelCost many = cost_of(2000, 16, 400, 0.1);
  CHECK(many.form == KernelForm::kStreamed);
  CHECK(many.kernel_bytes + many.state_bytes + many.work_bytes < 0.25 * kGibibyte);
  const KernelCost few = cost_of(2000, 16, 50, 0.1);
  CHECK(few.form == KernelForm::kFeatureSpace);
  CHECK(few.kernel_bytes + few.state_bytes + few.work_bytes < 0.1 * kGibibyte);
}

TEST_CASE("one evaluation of stored kernels reads each packed kernel twice") {
  const double pairs = 4.0 * 5.0 / 2.0;
  const double packed = pairs * 100.0 * 101.0 / 2.0;
  CHECK(cost_of(100, 4, 231, 0.1).evaluation_flops == 4.0 * packed + 1e6);
}

TEST_CASE("the cost of the form kAuto is an error") {
  CHECK_THROWS_WITH(theory::kernel_cost(KernelSizes{10, 2, 3, 1}, KernelForm::kAuto),
                    "the cost of kernels whose form is not chosen");
}

TEST_CASE("forms that are impossible are refused, with what they need and what is allowed") {
  const auto refusal = [](KernelForm form, Index outputs, double temperature,
                          int ranks) -> std::string {
    theory::PathKernelOptions options;
    options.form = form;
    options.smallest_temperature = temperature;
    options.ranks = ranks;
    try {
      const KernelCost cost = theory::kernel_cost({10, 2, 3, outputs}, options);
      CHECK(cost.form == form);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      return error.what();
    }
    return "none";
  };
  for (const auto& [form, word] : {std::pair{KernelForm::kFeatureSpace, "feature_space"},
                                   std::pair{KernelForm::kGram, "gram"}}) {
    CHECK(refusal(form, 3, 1e-300, 1) == "none");
    CHECK(refusal(form, 3, 0.0, 1) == std::string("solve.kernels = \"") + word +
                                          "\": needs model.temperature > 0, but the smallest is 0");
  }
  CHECK(refusal(KernelForm::kStreamed, 3, 0.0, 1) == "none");
  CHECK(refusal(KernelForm::kStored, 1, 0.0, 1) == "none");
  CHECK(refusal(KernelForm::kStored, 3, 0.1, 1) ==
        "solve.kernels = \"stored\": needs one output, but the data have 3; use \"streamed\"");
  CHECK(refusal(KernelForm::kDistributed, 1, 0.0, 2) == "none");
  CHECK(refusal(KernelForm::kDistributed, 2, 0.0, 2) ==
        "solve.kernels = \"distributed\": needs one output, but the data have 2");
  CHECK(refusal(KernelForm::kDistributed, 1, 0.1, 1) ==
        "solve.kernels = \"distributed\": needs several ranks, as with mpirun -n R headway solve; "
        "allowed here: \"auto\", \"stored\", \"streamed\", \"feature_space\" or \"gram\"");
}

TEST_CASE("packed kernels are stored as long as they take less than half of the memory") {
  const KernelSizes sizes = {100, 4, 231, 1};
  const double doubles = 8.0 * (4.0 * 5.0 / 2.0) * (100.0 * 101.0 / 2.0);
  for (const bool compact : {false, true}) {
    theory::PathKernelOptions options;
    options.smallest_temperature = 0.1;
    options.energy_tolerance = compact ? 1e-3 : 0.0;
    options.compact_above_bytes = 0.0;
    const double bytes = compact ? 0.5 * doubles : doubles;
    options.memory_limit_bytes = 2.0 * bytes * 1.0001;
    CHECK(theory::kernel_cost(sizes, options).form == KernelForm::kStored);
    CHECK(theory::kernel_cost(sizes, options).compact == compact);
    options.memory_limit_bytes = 2.0 * bytes;
    CHECK(theory::kernel_cost(sizes, options).form == KernelForm::kStreamed);
    CHECK_FALSE(theory::kernel_cost(sizes, options).compact);
    options.memory_limit_bytes = 1e12;
    options.compact_above_bytes = doubles;
    CHECK_FALSE(theory::kernel_cost(sizes, options).compact);
    options.compact_above_bytes = 0.9999 * doubles;
    CHECK(theory::kernel_cost(sizes, options).compact == compact);
  }
}

#if defined(__GLIBC__) && !defined(HEADWAY_ADDRESS_SANITIZER) && !defined(HEADWAY_THREAD_SANITIZER)
namespace {

/// Bytes that the program holds from malloc.
double held() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks) + static_cast<double>(info.hblkhd);
}

}  // namespace

TEST_CASE("kernels and their states hold the bytes that were predicted") {
  const auto c = GENERATE(0, 1) == 0
                     ? test::random_case({3, 2}, 1, 300, 40, 4)
                     : test::random_case({2}, 1, 80, 400, 4);  // few paths: Hessian by products
  const Index paths = c.architecture.paths();
  const MatrixXd u = MatrixXd::Identity(paths, paths);
  theory::PathKernelOptions options;
  options.smallest_temperature = 0.1;
  const auto features = static_cast<double>(c.features.size() + c.labels.size()) * 8.0;
  for (const KernelForm form :
       {KernelForm::kStored, KernelForm::kStreamed, KernelForm::kFeatureSpace}) {
    for (const double tolerance : {0.0, 1e-3}) {
      options.form = form;
      options.energy_tolerance = tolerance;
      options.compact_above_bytes = 0.0;
      const double before = held();
      const auto kernels = theory::make_path_kernels(c.features, c.labels, paths, options);
      const double with_kernels = held();
      const auto state = kernels->evaluate(u, 0.1);
      const double with_state = held();
      const KernelCost& cost = kernels->cost();
      const double tolerated = 0.03 * (features + cost.kernel_bytes + cost.state_bytes);
      CAPTURE(word_of(form), tolerance, paths);
      CHECK(std::abs(with_kernels - before - features - cost.kernel_bytes) < tolerated);
      CHECK(std::abs(with_state - with_kernels - cost.state_bytes) < tolerated);
    }
  }
}
#endif
