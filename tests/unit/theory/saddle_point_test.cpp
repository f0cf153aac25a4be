#include "headway/saddle_point.hpp"

#include <fmt/format.h>

#include <boost/math/tools/roots.hpp>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <thread>

#include "catch.hpp"
#include "headway/error.hpp"
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
using theory::Elimination;
using theory::KernelForm;
using theory::Optimizer;

TEST_CASE("every optimizer, elimination and kernel form finds the same saddle point") {
  for (const auto& [heads, outputs] : std::vector<std::pair<std::vector<int>, Index>>{
           {{3}, 1}, {{2, 2}, 1}, {{2, 1, 2}, 1}, {{2, 2}, 2}}) {
    const test::TheoryCase c = random_case(heads, outputs, 20, 6, 21);
    const theory::SaddlePoint newton = solve(c, 0.05, with(Optimizer::kNewton));
    REQUIRE(newton.summary.converged);
    REQUIRE(newton.summary.gradient_norm < 1e-9);
    for (const theory::SaddlePointOptions& o :
         {with(Optimizer::kNewton, Elimination::kClosedForm), with(Optimizer::kQuasiNewton),
          with(Optimizer::kQuasiNewton, Elimination::kClosedForm), with(Optimizer::kNewtonCg),
          with(Optimizer::kNewtonCg, Elimination::kClosedForm), with(Optimizer::kAuto)}) {
      const theory::SaddlePoint other = solve(c, 0.05, o);
      REQUIRE(other.summary.converged);
      REQUIRE(difference(other.order_parameters, newton.order_parameters) < 1e-7);
    }
    const theory::SaddlePoint ceres = solve(c, 0.05, with(Optimizer::kCeres));
    REQUIRE(difference(ceres.order_parameters, newton.order_parameters) < 1e-5);
    if (outputs == 1) {
      REQUIRE(difference(solve(c, 0.05, {}, KernelForm::kStored).order_parameters,
                         solve(c, 0.05, {}, KernelForm::kStreamed).order_parameters) < 1e-8);
    }
  }
}

TEST_CASE("with one head the saddle point is the root of a one-dimensional equation") {
  // With L = 1, p = 1: U_a from its quadratic, and dS/dU_1 = energy'(u) + N_1 (1 / (s_1^2 U_a(u)) -
  // 1/u) = 0.
  const test::TheoryCase c = random_case({1}, 1, 12, 20, 31);
  const double temperature = 0.1;
  const double n1 = c.architecture.width(1);
  const double na = c.architecture.width(2);
  const double s1 = c.architecture.variance(1);
  const double sa = c.architecture.variance(2);
  const auto slope = [&](double u) {
    const double b = sa * (n1 / na - 1);
    const double ua = 0.5 * (-b + std::sqrt(b * b + 4 * n1 * sa / (na * s1) * u));
    const MatrixXd one = MatrixXd::Identity(1, 1);
    const double h = 1e-6 * u;
    const double energy = (test::reference_energy(c, (u + h) * one, temperature) -
                           test::reference_energy(c, (u - h) * one, temperature)) /
                          (2 * h);
    return energy + n1 * (1 / (s1 * ua) - 1 / u);
  };
  std::uintmax_t iterations = 200;
  const auto bracket = boost::math::tools::toms748_solve(
      slope, 1e-3, 1e3, boost::math::tools::eps_tolerance<double>(40), iterations);
  const theory::SaddlePoint s = solve(c, temperature);
  REQUIRE_THAT(s.order_parameters.layers[0](0, 0),
               Catch::Matchers::WithinRel(0.5 * (bracket.first + bracket.second), 1e-6));
}

TEST_CASE("infinite temperature and infinite width give the Gaussian process") {
  test::TheoryCase c = random_case({2, 2}, 1, 10, 4, 41);
  const theory::OrderParameters gp = theory::gaussian_process_order_parameters(c.architecture);
  REQUIRE(difference(solve(c, 1e9).order_parameters, gp) < 1e-6);
  double previous = INFINITY;
  for (Index n : {100, 10000, 1000000}) {  // the distance falls like P / N
    c.architecture.widths.assign(3, n);
    const double distance = difference(solve(c, 0.1).order_parameters, gp);
    REQUIRE(distance < 0.05 * previous);
    previous = distance;
  }
  REQUIRE(previous < 1e-4);
}

TEST_CASE("relabelling heads relabels the solution; the order of examples does not matter") {
  const test::TheoryCase c = random_case({2, 2}, 1, 15, 5, 51);
  const theory::SaddlePoint original = solve(c, 0.05);
  test::TheoryCase relabelled = c;  // swap the heads of layer 1: paths (1,.) and (2,.)
  const std::vector<Index> path = {2, 3, 0, 1};
  for (Index a = 0; a < 4; ++a)
    relabelled.features.middleCols(a * c.n0, c.n0) = c.features.middleCols(path[a] * c.n0, c.n0);
  const theory::SaddlePoint swapped = solve(relabelled, 0.05);
  REQUIRE_THAT(swapped.evaluation.value,
               Catch::Matchers::WithinRel(original.evaluation.value, 1e-12));
  for (Index a = 0; a < 4; ++a) {
    for (Index b = 0; b < 4; ++b) {
      REQUIRE_THAT(
          swapped.order_parameters.layers[0](a, b),
          Catch::Matchers::WithinAbs(original.order_parameters.layers[0](path[a], path[b]), 1e-7));
    }
  }
  test::TheoryCase reversed = c;
  reversed.features = c.features.colwise().reverse().eval();
  reversed.labels = c.labels.colwise().reverse().eval();
  REQUIRE(difference(solve(reversed, 0.05).order_parameters, original.order_parameters) < 1e-7);
}

TEST_CASE("random starts end in the same minimum, and the Hessian there is positive") {
  const test::TheoryCase c = random_case({2, 2}, 1, 20, 5, 61);
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStored));
  Observer observer;
  const theory::OrderParameters gp = theory::gaussian_process_order_parameters(c.architecture);
  const theory::SaddlePoint reference = theory::solve_saddle_point(action, gp, {}, observer);
  for (std::uint64_t k = 0; k < 5; ++k) {
    Rng rng(k, StreamPurpose::kSolverStart);
    const theory::OrderParameters start = theory::perturb_order_parameters(gp, 1.0, rng);
    REQUIRE(difference(start, gp) > 0.05);
    const theory::SaddlePoint s = theory::solve_saddle_point(action, start, {}, observer);
    REQUIRE(s.summary.converged);
    REQUIRE(difference(s.order_parameters, reference.order_parameters) < 1e-7);
  }
  const MatrixXd hessian = action.hessian(reference.order_parameters, *reference.evaluation.energy);
  REQUIRE(theory::smallest_hessian_eigenvalue(action, hessian) > 0.0);
}

TEST_CASE("options of the solver that make no sense are refused by their names in a study") {
  const test::TheoryCase c = random_case({2}, 1, 10, 5, 71);
  const auto refusal = [&c](const auto& change) -> std::string {
    theory::SaddlePointOptions options;
    change(options);
    try {
      solve(c, 0.01, options);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      return error.what();
    }
    return "none";
  };
  CHECK(refusal([](auto&) {}) == "none");
  CHECK(refusal([](auto& o) { o.gradient_tolerance = -1.0; }) ==
        "solve.gradient_tolerance = -1.0: must be a number > 0 and < 1");
  CHECK(refusal([](auto& o) { o.max_iterations = 0; }) ==
        "solve.max_iterations = 0: must be an integer from 1 to 1e6");
  // These are no keys of a study.
  CHECK(refusal([](auto& o) { o.hessian_renewal_share = -1.0; }) ==
        "SaddlePointOptions::hessian_renewal_share = -1.0: must be a number >= 0 and <= 1");
  CHECK(refusal([](auto& o) { o.max_log_step = 0.0; }) ==
        "SaddlePointOptions::max_log_step = 0.0: must be a finite number > 0");
}

TEST_CASE("with too many unknowns for a dense Hessian, Newton-CG is chosen and finds the minimum") {
  const test::TheoryCase c = random_case({110}, 1, 12, 2, 101);  // 6105 + 1 unknowns
  theory::SaddlePointOptions options;
  options.gradient_tolerance = 1e-8;
  const theory::SaddlePoint s = solve(c, 0.5, options);
  CAPTURE(s.summary.message, s.summary.iterations);
  CHECK(s.summary.optimizer == "newton_cg");
  CHECK(s.summary.hessians == 0);
  CHECK(s.summary.products < 100);
  CHECK(s.summary.converged);
  CHECK(s.summary.gradient_norm < 1e-8);
}

TEST_CASE("a saddle point outlives the action and the kernels that it was found with") {
  for (const KernelForm form :
       {KernelForm::kStored, KernelForm::kStreamed, KernelForm::kFeatureSpace}) {
    const test::TheoryCase c = random_case({2, 2}, 1, 30, 3, 21);
    std::weak_ptr<const theory::PathKernels> kernels;
    theory::SaddlePoint s;
    MatrixXd expected;
    {
      Observer observer;
      const theory::Action action(c.architecture, 0.05, kernels_of(c, form));
      kernels = action.kernels().weak_from_this();
      s = theory::solve_saddle_point(
          action, theory::gaussian_process_order_parameters(c.architecture), {}, observer);
      expected = s.evaluation.energy->predict(c.features).mean;
    }
    REQUIRE_FALSE(kernels.expired());
    CHECK(s.evaluation.energy->predict(c.features).mean == expected);
    s.evaluation.energy.reset();
    CHECK(kernels.expired());
  }
}

TEST_CASE(
    "optimizers that make a dense matrix refuse more unknowns than fit, and say what takes them") {
  const test::TheoryCase c = random_case({110}, 1, 3, 2, 82);  // 6105 + 1 unknowns
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStreamed));
  Observer observer;
  const auto start = theory::gaussian_process_order_parameters(c.architecture);
  for (const Optimizer optimizer : {Optimizer::kNewton, Optimizer::kQuasiNewton}) {
    theory::SaddlePointOptions options;
    options.optimizer = optimizer;
    CHECK_THROWS_WITH(theory::solve_saddle_point(action, start, options, observer),
                      fmt::format("solve.optimizer = \"{}\": makes a matrix of 6106 x 6106 "
                                  "unknowns; allowed: up to 6000. Take \"auto\" or \"newton_cg\", "
                                  "which make none",
                                  word_of(optimizer)));
  }
}

TEST_CASE(
    "the corrected mean is closer to the exact one than the saddle point by an order in 1/N") {
  // Against a slow reference: the one-dimensional posterior of L = 1, p = 1 by quadrature over
  // (U_1, U_a) of the density of eq. 35.
  test::TheoryCase c = random_case({1}, 1, 8, 10, 91);
  const double temperature = 0.02;
  const MatrixXd one = MatrixXd::Identity(1, 1);
  const auto exact_mean = [&](double n) {
    double weight = 0.0;
    double sum = 0.0;
    const int points = 400;
    std::vector<double> grid;
    std::vector<double> energy;
    for (int i = 0; i < points; ++i) {
      grid.push_back(std::exp(-3.0 + 6.0 * (i + 0.5) / points));
      energy.push_back(test::reference_energy(c, grid.back() * one, temperature));
    }
    double best = INFINITY;
    std::vector<double> exponent(static_cast<std::size_t>(points * points));
    for (int i = 0; i < points; ++i) {
      for (int j = 0; j < points; ++j) {
        const double u = grid[i];
        const double ua = grid[j];
        // -2 log p = energy + N (U_a/s_a^2 - log U_a) + 2 log U_a
        //            + N (u/(s_1^2 U_a) - log u + log U_a) + 2 log u.
        // The last two terms are the measure of the logarithmic grid.
        const double s = energy[i] + n * (ua / c.architecture.variance(2) - std::log(ua)) +
                         2 * std::log(ua) +
                         n * (u / (c.architecture.variance(1) * ua) - std::log(u) + std::log(ua)) +
                         2 * std::log(u) - 2 * std::log(u) - 2 * std::log(ua);
        exponent[i * points + j] = s;
        best = std::min(best, s);
      }
    }
    for (int i = 0; i < points; ++i) {
      for (int j = 0; j < points; ++j) {
        const double w = std::exp(-0.5 * (exponent[i * points + j] - best));
        weight += w;
        sum += w * grid[i];
      }
    }
    return sum / weight;
  };
  std::vector<double> saddle_error;
  std::vector<double> corrected_error;
  for (Index n : {160, 640}) {
    c.architecture.widths.assign(2, n);
    const theory::Action action(c.architecture, temperature, kernels_of(c, KernelForm::kStored));
    Observer observer;
    const theory::SaddlePoint s = theory::solve_saddle_point(
        action, theory::gaussian_process_order_parameters(c.architecture), {}, observer);
    const MatrixXd hessian = action.hessian(s.order_parameters, *s.evaluation.energy);
    const theory::FiniteWidthCorrection correction =
        theory::finite_width_correction(action, s, hessian, nullptr, observer);
    REQUIRE(correction.defined);
    const double exact = exact_mean(static_cast<double>(n));
    saddle_error.push_back(std::abs(s.order_parameters.layers[0](0, 0) - exact));
    corrected_error.push_back(std::abs(correction.mean.layers[0](0, 0) - exact));
  }
  CAPTURE(saddle_error, corrected_error);
  // At fixed P the saddle's error falls at least like 1/N and the corrected one's at least like
  // 1/N^2; widths differ by 4.
  REQUIRE(saddle_error[0] / saddle_error[1] > 3.5);
  REQUIRE(corrected_error[0] / corrected_error[1] > 12.0);
  REQUIRE(corrected_error[0] < 0.05 * saddle_error[0]);
  REQUIRE(corrected_error[1] < 0.05 * saddle_error[1]);
}

namespace {

class StopAfter final : public Observer {
 public:
  explicit StopAfter(int questions) : left_(questions) {}
  [[nodiscard]] bool interrupted() const override { return left_-- <= 0; }

 private:
  mutable int left_;
};

}  // namespace

TEST_CASE("Newton-CG continued from any stop has the bits of a solution that never stopped") {
  const test::TheoryCase c = random_case({3, 3}, 1, 25, 6, 111);
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStreamed));
  const theory::OrderParameters start = theory::gaussian_process_order_parameters(c.architecture);
  const theory::SaddlePointOptions options = with(Optimizer::kNewtonCg);
  Observer observer;
  const theory::SaddlePoint whole = theory::solve_saddle_point(action, start, options, observer);
  REQUIRE(whole.summary.converged);
  REQUIRE(whole.summary.iterations > 3);
  for (const int questions : {0, 1, 5, 11, 17}) {
    theory::SaddlePointHooks hooks;
    hooks.seconds = 1e9;  // at the stop alone
    int saves = 0;
    hooks.save = [&](const theory::SaddlePointState& state) {
      ++saves;
      hooks.from = state;
    };
    StopAfter stop(questions);
    theory::SaddlePointHooks first = hooks;
    first.save = hooks.save;
    const theory::SaddlePoint part =
        theory::solve_saddle_point(action, start, options, stop, first);
    CAPTURE(questions, part.summary.message);
    REQUIRE(saves == 1);
    CHECK(part.summary.message == "interrupted");
    hooks.save = {};
    const theory::SaddlePoint rest =
        theory::solve_saddle_point(action, start, options, observer, hooks);
    for (int l = 1; l <= 3; ++l) CHECK(rest.order_parameters.at(l) == whole.order_parameters.at(l));
    CHECK(rest.summary.message == whole.summary.message);
    CHECK(rest.summary.products == whole.summary.products);
    CHECK(rest.summary.evaluations == whole.summary.evaluations);
    CHECK(rest.summary.history.size() == whole.summary.history.size());
  }
}

TEST_CASE("no optimizer ever raises the action, however far away it starts") {
  for (const std::uint64_t seed : {1, 2}) {
    const test::TheoryCase c = random_case({2, 3}, 1, 20, 5, 40 + seed);
    const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStored, 0.05));
    theory::OrderParameters start = theory::gaussian_process_order_parameters(c.architecture);
    Rng rng(seed, StreamPurpose::kTests);
    for (MatrixXd& u : start.layers) {
      const MatrixXd any = test::random_matrix(u.rows(), u.cols(), rng);
      u = 100.0 * any * any.transpose() + 0.001 * MatrixXd::Identity(u.rows(), u.cols());
    }
    for (const Optimizer optimizer :
         {Optimizer::kNewton, Optimizer::kQuasiNewton, Optimizer::kNewtonCg}) {
      Observer observer;
      const theory::SaddlePoint found =
          theory::solve_saddle_point(action, start, with(optimizer), observer);
      const auto& history = found.summary.history;
      CAPTURE(seed, found.summary.optimizer, found.summary.message, history.size());
      CHECK(found.summary.converged);
      REQUIRE(history.size() > 3);
      CHECK(static_cast<int>(history.size()) == found.summary.iterations + 1);
      for (std::size_t i = 1; i < history.size(); ++i) {
        CHECK(history[i].action <= history[i - 1].action + 1e-12 * std::abs(history[i].action));
      }
    }
  }
}

TEST_CASE("Newton-CG saves its state no more often than it was asked to") {
  class Slow final : public Observer {  // makes each step take a known time
   public:
    [[nodiscard]] bool interrupted() const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return false;
    }
  };
  const test::TheoryCase c = random_case({3, 3}, 1, 25, 6, 111);
  const theory::Action action(c.architecture, 0.05, kernels_of(c, KernelForm::kStreamed));
  const theory::OrderParameters start = theory::gaussian_process_order_parameters(c.architecture);
  using Clock = std::chrono::steady_clock;
  const auto run = [&](double seconds, int* saves) {
    theory::SaddlePointHooks hooks;
    hooks.seconds = seconds;
    hooks.save = [&](const theory::SaddlePointState&) { ++*saves; };
    Slow observer;
    const Clock::time_point begin = Clock::now();
    theory::solve_saddle_point(action, start, with(Optimizer::kNewtonCg), observer, hooks);
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  int always = 0;
  run(0.0, &always);  // after each step
  REQUIRE(always > 3);
  const double third = 1e-3 * always / 3.0;  // of the least time that the same steps can take
  int seldom = 0;
  const double again = run(third, &seldom);
  CHECK(seldom >= 1);
  CHECK(seldom * third <= again);
}
