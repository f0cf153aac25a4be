// The warning where rounding takes digits of a predictor's variance.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

class Warnings final : public Observer {
 public:
  void warning(std::string_view text) override {
    if (text.find("predictor variances") != std::string_view::npos) found.emplace_back(text);
  }
  std::vector<std::string> found;
};

struct Solved {
  MatrixXd variance;
  std::vector<std::string> warnings;
};

/// More training examples than features, so that a variance shrinks as T.
Solved solved(double temperature, theory::KernelForm form) {
  Rng rng(5, StreamPurpose::kTests, 1);
  tasks::Dataset dataset = random_dataset({1}, {30, 4, 3}, rng);
  dataset.test = random_split({5, 4, 3}, rng);
  Study study;
  study.threads = 1;
  study.model.widths = {{50}};
  study.model.temperatures = {temperature};
  study.solve.kernels = form;
  study.solve.corrections = When::kOff;
  Warnings observer;
  const SolveResult result = solve(study, dataset, observer);
  return {result.points.front().predictor.variance, observer.found};
}

}  // namespace

TEST_CASE("variances that rounding reaches are warned of") {
  using enum theory::KernelForm;
  for (const theory::KernelForm form : {kStored, kStreamed}) {
    CHECK(solved(1e-6, form).warnings.empty());
    const Solved small = solved(1e-14, form);
    REQUIRE(small.warnings.size() == 1);
    CHECK(small.warnings.front().starts_with("widths 50,50, temperature 1e-14: 5 of 5 predictor"));
    const Solved right = solved(1e-14, kFeatureSpace);
    CHECK(right.warnings.empty());
    // The warning is true: the other form has other digits.
    CHECK((small.variance.array() / right.variance.array() - 1.0).abs().maxCoeff() > 1e-3);
  }
}
