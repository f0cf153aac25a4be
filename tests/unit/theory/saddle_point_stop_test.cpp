// When a search for a saddle point ends, and whether it has converged.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/saddle_point.hpp"
#include "headway/theory/finite_width.hpp"
#include "headway/theory/hessian_probes.hpp"
#include "saddle_points.hpp"
#include "theory_problems.hpp"

using namespace headway;
using test::difference;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using test::solve;
using test::with;
using theory::KernelForm;
using theory::Optimizer;

namespace {

class StopAtOnce final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return true; }
};

}  // namespace

TEST_CASE("a kernel below the rounding of K + T I gives no solution, and the summary says why") {
  for (const KernelForm form : {KernelForm::kStored, KernelForm::kFeatureSpace}) {
    for (const Optimizer optimizer :
         {Optimizer::kNewton, Optimizer::kNewtonCg, Optimizer::kQuasiNewton}) {
      test::TheoryCase c = random_case({2}, 1, 12, 5, 3);
      REQUIRE(solve(c, 0.01, with(optimizer), form).summary.converged);
      c.architecture.variances = {1e-9, 1e-9, 1e-9};
      c.features *= std::sqrt(1e-9);
      const theory::SaddlePointSummary summary = solve(c, 0.01, with(optimizer), form).summary;
      CHECK_FALSE(summary.converged);
      CHECK(summary.message ==
            "not converged: at the variances [1e-09, 1e-09, 1e-09] the kernel is so small beside "
            "the temperature 0.01 that rounding leaves nothing of it. Raise model.variances or "
            "lower model.temperature");
    }
  }
}

TEST_CASE("where rounding leaves too few digits of U, no solution is called converged") {
  test::TheoryCase pairs = random_case({2}, 1, 60, 100, 3);  // near copies with the opposite label
  const MatrixXd noise = pairs.features.bottomRows(30);
  pairs.labels.bottomRows(30) = -pairs.labels.topRows(30);
  const auto with_copies_at = [&](double distance) {
    pairs.features.bottomRows(30) = pairs.features.topRows(30) + distance * noise;
    return pairs;
  };
  for (const double distance : {1e-6, 1e-2}) {
    const test::TheoryCase apart = with_copies_at(distance);
    test::TheoryCase reversed = apart;
    reversed.features = apart.features.colwise().reverse().eval();
    reversed.labels = apart.labels.colwise().reverse().eval();
    const theory::SaddlePoint one = solve(apart, 1e-8), other = solve(reversed, 1e-8);
    if (distance == 1e-2) CHECK(one.summary.converged);
    if (one.summary.converged && other.summary.converged)
      CHECK(difference(one.order_parameters, other.order_parameters) < 1e-3);
  }

  const test::TheoryCase many = random_case({2}, 1, 60, 4, 4);  // few directions, hardly any noise
  const theory::SaddlePoint sure = solve(many, 1e-11, {}, KernelForm::kFeatureSpace);
  CHECK(sure.summary.converged);
  for (const Optimizer optimizer : {Optimizer::kNewton, Optimizer::kCeres}) {
    // Whether rounding leaves enough digits depends on the processor. What is called converged has
    // them.
    const theory::SaddlePoint s = solve(many, 1e-11, with(optimizer), KernelForm::kStreamed);
    if (s.summary.converged) CHECK(difference(s.order_parameters, sure.order_parameters) < 1e-3);
  }
}

TEST_CASE("at small T examples that contradict each other leave every form its digits") {
  for (const Index outputs : {1, 2}) {
    test::TheoryCase c = random_case({2}, outputs, 20, 20, 3);
    c.features.row(1) = c.features.row(0);
    c.labels.row(1) = -c.labels.row(0);
    // (K + T)^{-1} y is as large as 1/T here.
    for (const double temperature : {1e-4, 1e-5, 1e-6, 1e-7}) {
      const theory::SaddlePoint sure = solve(c, temperature, {}, KernelForm::kFeatureSpace);
      REQUIRE(sure.summary.converged);
      for (const KernelForm form : {KernelForm::kStored, KernelForm::kStreamed}) {
        if (outputs > 1 && form == KernelForm::kStored) continue;
        const theory::SaddlePoint s = solve(c, temperature, {}, form);
        CAPTURE(outputs, temperature, s.summary.message);
        CHECK(s.summary.converged);
        CHECK(difference(s.order_parameters, sure.order_parameters) < 1e-6);
      }
    }
  }
}

TEST_CASE("steps that move rounding alone end the search") {
  const test::TheoryCase c = random_case({2}, 1, 12, 5, 3);
  for (const KernelForm form :
       {KernelForm::kStored, KernelForm::kStreamed, KernelForm::kFeatureSpace}) {
    theory::SaddlePointOptions options;
    options.gradient_tolerance = 1e-300;  // rounding does not allow it
    const theory::SaddlePointSummary summary = solve(c, 0.01, options, form).summary;
    CAPTURE(summary.message, summary.iterations);
    CHECK(summary.message.starts_with("converged to rounding"));
    CHECK(summary.iterations < 20);
    // The verdict does not wait for the last iteration that is allowed.
    options.max_iterations = summary.iterations - 1;
    CHECK(solve(c, 0.01, options, form).summary.message.starts_with("converged to rounding"));
  }
}

TEST_CASE("a narrow layer beside very wide ones is solved as well as they are") {
  test::TheoryCase c = random_case({2, 2}, 1, 5, 3, 6);
  for (const Optimizer optimizer :
       {Optimizer::kNewton, Optimizer::kQuasiNewton, Optimizer::kNewtonCg}) {
    for (const bool ends : {true, false}) {
      INFO("ends narrow: " << ends << ", optimizer " << static_cast<int>(optimizer));
      const auto solved_at = [&](Index wide) {
        c.architecture.widths =
            ends ? std::vector<Index>{3, wide, 4} : std::vector<Index>{wide, 3, wide};
        return solve(c, 0.1, with(optimizer), KernelForm::kStored);
      };
      const theory::SaddlePoint wide = solved_at(1'000'000), wider = solved_at(1'000'000'000);
      CHECK(wider.summary.converged);
      CHECK(wider.summary.iterations < 30);
      CHECK(difference(wider.order_parameters, wide.order_parameters) < 2e-5);
    }
  }
}

TEST_CASE(
    "beside a readout of 1e12 units a narrow layer has the digits that it has beside infinity") {
  // One path and one output. At N_a = infinity U_a = s_a^2, and U_1 = u solves
  // dE/du + N_1 (1 / (s_1^2 s_a^2) - 1 / u) = 0.
  for (const Optimizer optimizer :
       {Optimizer::kNewton, Optimizer::kQuasiNewton, Optimizer::kNewtonCg}) {
    for (const std::uint64_t seed : {6, 7, 8}) {
      test::TheoryCase c = random_case({1}, 1, 15, 4, seed);
      c.labels *= 3.0;
      const double temperature = 0.05;
      const double s1 = c.architecture.variance(1), sa = c.architecture.variance(2);
      const auto kernels = kernels_of(c, KernelForm::kStored);
      const auto slope = [&](double u) {
        const auto state = kernels->evaluate(MatrixXd::Constant(1, 1, u), temperature);
        return state->gradient(0, 0) + 10.0 * (1.0 / (s1 * sa) - 1.0 / u);
      };
      double low = 1e-3, high = 1e3;
      for (int i = 0; i < 200; ++i) {
        const double middle = 0.5 * (low + high);
        (slope(middle) < 0.0 ? low : high) = middle;
      }
      for (const Index wide : {Index{1'000'000'000}, Index{1'000'000'000'000}}) {
        CAPTURE(word_of(optimizer), seed, wide);
        c.architecture.widths = {10, wide};
        const theory::SaddlePoint s = solve(c, temperature, with(optimizer), KernelForm::kStored);
        CHECK(s.summary.converged);
        CHECK(s.summary.iterations < 30);
        // The readout of 1e9 units itself is off by N_1 / N_a = 1e-8.
        CHECK(std::abs(s.order_parameters.layers[0](0, 0) / low - 1.0) < 1e-7);
      }
    }
  }
}

TEST_CASE("of several paths beside very wide layers U is that of 1e9 units at 1e12") {
  for (const Optimizer optimizer :
       {Optimizer::kNewton, Optimizer::kQuasiNewton, Optimizer::kNewtonCg}) {
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      test::TheoryCase c = random_case({2, 2}, 1, 25, 4, seed);
      const auto solved_at = [&](Index wide) {
        c.architecture.widths = {10, wide, wide};
        return solve(c, 0.02, with(optimizer), KernelForm::kStored);
      };
      CAPTURE(word_of(optimizer), seed);
      const theory::SaddlePoint wide = solved_at(1'000'000'000);
      const theory::SaddlePoint wider = solved_at(1'000'000'000'000);
      CHECK(wide.summary.converged);
      CHECK(wider.summary.converged);
      CHECK(difference(wider.order_parameters, wide.order_parameters) < 1e-6);
    }
  }
}

TEST_CASE("a gradient that is not finite has an infinite norm, and is not called converged") {
  const test::TheoryCase c = random_case({2, 2}, 1, 12, 3, 5);
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStored));
  theory::OrderParameters u = theory::gaussian_process_order_parameters(c.architecture);
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (const bool everywhere : {true, false}) {
      theory::Action::Evaluation evaluation = action.evaluate(u);
      CHECK(std::isfinite(evaluation.gradient_norm(c.architecture)));
      if (everywhere) {
        for (MatrixXd& g : evaluation.gradient) g.setConstant(bad);
      } else {
        evaluation.gradient.back()(0, 0) = bad;
      }
      CHECK(evaluation.gradient_norm(c.architecture) == std::numeric_limits<double>::infinity());
      CHECK(evaluation.scaled_gradient_norm(c.architecture) ==
            std::numeric_limits<double>::infinity());
    }
  }
}

TEST_CASE("features of extreme size end in a point that has not converged, not in an error") {
  struct Extreme {
    double scale, temperature;
  };
  for (const Extreme& extreme : {Extreme{1e10, 0.1}, {1e20, 0.1}, {1e-20, 1e-40}}) {
    for (const Optimizer optimizer :
         {Optimizer::kNewton, Optimizer::kNewtonCg, Optimizer::kQuasiNewton}) {
      for (const Index examples : {2, 12}) {
        for (const Index width : {1, 10, 100}) {
          test::TheoryCase c = random_case({2, 2}, 1, examples, 3, 5);
          c.architecture = model::uniform_architecture({2, 2}, width);
          c.features *= extreme.scale;
          const theory::SaddlePoint saddle =
              solve(c, extreme.temperature, with(optimizer), KernelForm::kStored);
          CHECK(saddle.summary.message.starts_with(saddle.summary.converged ? "converged"
                                                                            : "not converged"));
          CHECK(std::isfinite(saddle.evaluation.value));
        }
      }
    }
  }
}

TEST_CASE("a Hessian that is not finite has no smallest eigenvalue") {
  const test::TheoryCase c = random_case({2}, 1, 12, 3, 5);
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStored));
  const Index n = action.unknowns();
  MatrixXd hessian = MatrixXd::Identity(n, n);
  CHECK(theory::smallest_hessian_eigenvalue(action, hessian) > 0.0);
  hessian(n - 1, 0) = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(theory::smallest_hessian_eigenvalue(action, hessian)));
}

TEST_CASE("the stopping test does not depend on the units of U") {
  // Inputs of variance 1/k and readouts of variance k multiply every U by k, and nothing else.
  const test::TheoryCase one = random_case({2, 2}, 1, 20, 5, 61);
  const theory::SaddlePoint reference = solve(one, 0.05);
  for (const double k : {1e-8, 1e8}) {
    test::TheoryCase c = one;
    c.features /= std::sqrt(k);
    c.architecture.variances.back() *= k;
    const theory::SaddlePoint other = solve(c, 0.05);
    REQUIRE(other.summary.converged);
    CHECK(other.summary.iterations == reference.summary.iterations);
    for (int l = 1; l <= 3; ++l) {
      CHECK(relative_error(other.order_parameters.at(l) / k, reference.order_parameters.at(l)) <
            1e-8);
    }
  }
}

TEST_CASE("a network far from its infinite width is not called converged where it starts") {
  test::TheoryCase c = random_case({2, 2}, 1, 20, 5, 61);
  c.architecture.widths.assign(3, 5);
  c.architecture.variances.assign(4, 1e4);
  const theory::Action action(c.architecture, 1e-3, kernels_of(c, KernelForm::kStored));
  const theory::SaddlePoint s = solve(c, 1e-3);
  REQUIRE(s.summary.converged);
  CHECK(s.summary.iterations > 3);
  const MatrixXd hessian = action.hessian(s.order_parameters, *s.evaluation.energy);
  CHECK(theory::smallest_hessian_eigenvalue(action, hessian) > 0.0);
  // Dimensionless slopes: of S along log U.
  for (int l = 1; l <= 3; ++l) {
    const MatrixXd own = s.order_parameters.at(l) * s.evaluation.gradient[l - 1];
    CHECK(own.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-6);
  }
}

TEST_CASE("a summary explains itself") {
  const theory::SaddlePointSummary untouched;
  REQUIRE(untouched.message == "solve_saddle_point was not called");
  const test::TheoryCase c = random_case({2}, 1, 10, 5, 71);
  theory::SaddlePointOptions options;
  options.max_iterations = 1;
  const theory::SaddlePoint stopped = solve(c, 0.01, options);
  REQUIRE_FALSE(stopped.summary.converged);
  const auto norm_of = [&c](const theory::SaddlePoint& s) {
    return s.evaluation.scaled_gradient_norm(c.architecture);
  };
  CHECK(stopped.summary.message ==
        fmt::format("not converged: gradient norm {:.1e} after 1 iterations. Raise "
                    "solve.max_iterations, or try another solve.optimizer",
                    norm_of(stopped)));
  options = {};
  options.gradient_tolerance = 2e-7;
  const theory::SaddlePoint solved = solve(c, 0.01, options);
  CHECK(solved.summary.message ==
        fmt::format("converged: gradient norm {:.1e} <= 2.0e-07", norm_of(solved)));
  REQUIRE_THROWS_AS(solve(random_case({1}, 1, 8, 3, 4), 0.0), Error);  // K is singular at T = 0
}

TEST_CASE("Ceres stops after max_iterations and says so") {
  const test::TheoryCase c = random_case({2, 2}, 1, 20, 6, 21);
  theory::SaddlePointOptions options = with(Optimizer::kCeres);
  options.max_iterations = 3;
  const theory::SaddlePoint stopped = solve(c, 0.05, options);
  CHECK(stopped.summary.optimizer == "ceres");
  CHECK_FALSE(stopped.summary.converged);
  CHECK(stopped.summary.iterations == 3);
  CHECK(stopped.summary.message ==
        fmt::format("not converged: gradient norm {:.1e} after 3 iterations. Raise "
                    "solve.max_iterations; Ceres needs hundreds or thousands",
                    stopped.summary.gradient_norm));
  StopAtOnce stop;
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStored));
  const theory::SaddlePoint none =
      theory::solve_saddle_point(action, theory::gaussian_process_order_parameters(c.architecture),
                                 with(Optimizer::kCeres), stop);
  CHECK_FALSE(none.summary.converged);
  CHECK(none.summary.message.starts_with(
      fmt::format("not converged: gradient norm {:.1e} (Ceres: ", none.summary.gradient_norm)));
  options = with(Optimizer::kCeres);
  options.gradient_tolerance = 1e-4;
  const theory::SaddlePoint found = solve(c, 0.05, options);
  CHECK(found.summary.converged);
  CHECK(found.summary.message.starts_with(
      fmt::format("converged: gradient norm {:.1e} (Ceres: ", found.summary.gradient_norm)));
  CHECK(found.summary.evaluations > found.summary.iterations);
}

TEST_CASE("T = 0 with an invertible kernel converges as far as rounding allows") {
  const test::TheoryCase c = random_case({2}, 1, 6, 20, 81);
  const theory::SaddlePoint s = solve(c, 0.0);
  REQUIRE(s.summary.converged);
  REQUIRE(s.summary.gradient_norm < 1e-9);
  // A tolerance that rounding does not allow.
  for (const Optimizer optimizer :
       {Optimizer::kNewton, Optimizer::kNewtonCg, Optimizer::kQuasiNewton}) {
    theory::SaddlePointOptions options = with(optimizer);
    options.gradient_tolerance = 1e-300;
    const theory::SaddlePointSummary summary = solve(c, 0.0, options).summary;
    CAPTURE(summary.optimizer, summary.message, summary.iterations);
    CHECK(summary.converged);
    const std::string before = "converged to rounding: gradient norm ",
                      between = ", rounding allows ";
    REQUIRE(summary.message.starts_with(before));
    const std::string numbers = summary.message.substr(before.size());
    const std::size_t middle = numbers.find(between);
    REQUIRE(middle != std::string::npos);
    std::size_t end = 0;
    const double norm = std::stod(numbers, &end);
    CHECK(end == middle);
    const double allowed = std::stod(numbers.substr(middle + between.size()), &end);
    CHECK(middle + between.size() + end == numbers.size());
    CHECK(norm <= allowed);
    CHECK(allowed >= summary.gradient_rounding);
    CHECK(allowed < 1e-9);
  }
}
