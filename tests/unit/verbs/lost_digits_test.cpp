// Digits that rounding takes, and the warning where they are lost.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

class Warnings final : public Observer {
 public:
  void warning(std::string_view text) override {
    if (text.find("digits") != std::string_view::npos) found.emplace_back(text);
  }
  std::vector<std::string> found;
};

struct Solved {
  MatrixXd variance;
  std::vector<std::string> warnings;
};

/// More training examples than features, so that a variance shrinks as T.
/// `offset`: of every feature.
Solved solved(double temperature, theory::KernelForm form, double offset = 0.0) {
  Rng rng(5, StreamPurpose::kTests, 1);
  tasks::Dataset dataset = random_dataset({1}, {30, 4, 3}, rng);
  dataset.test = random_split({5, 4, 3}, rng);
  if (offset != 0.0) {
    const auto shift = [&](tasks::Split& split) {
      RowMatrixXd x(split.size(), 3);
      Rng numbers(6, StreamPurpose::kTests, static_cast<std::uint64_t>(split.size()));
      for (double& v : x.reshaped()) v = offset + numbers.normal();
      split.examples = nullptr;
      split.path_features = x;
    };
    shift(dataset.train);
    shift(*dataset.test);
    dataset.form = AttentionForm::kPathFeatures;
  }
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

TEST_CASE("variances that rounding would reach have their digits in every form") {
  using enum theory::KernelForm;
  for (const double temperature : {1e-6, 1e-14}) {
    const Solved right = solved(temperature, kFeatureSpace);
    CHECK(right.warnings.empty());
    for (const theory::KernelForm form : {kStored, kStreamed}) {
      const Solved same = solved(temperature, form);
      CHECK(same.warnings.empty());
      CHECK((same.variance.array() / right.variance.array() - 1.0)
                .abs()
                .maxCoeff<Eigen::PropagateNaN>() < 1e-6);
    }
  }
}

TEST_CASE("Gram matrices that have lost digits are warned of, with how many are left") {
  const Solved good = solved(1e-3, theory::KernelForm::kGram);
  CHECK(good.warnings.empty());
  const Solved bad = solved(1e-3, theory::KernelForm::kGram, 1e7);
  REQUIRE(bad.warnings.size() == 1);
  CHECK(bad.warnings.front().find("digits of the energy are right") != std::string::npos);
  CHECK(solved(1e-3, theory::KernelForm::kStreamed, 1e7).warnings.empty());
}
