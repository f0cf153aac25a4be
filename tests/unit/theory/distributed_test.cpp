#include "headway/theory/distributed.hpp"

#include <Eigen/Cholesky>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/error.hpp"
#include "headway/saddle_point.hpp"
#include "theory_problems.hpp"
#include "thread_ranks.hpp"

using namespace headway;
using test::kernels_of;
using test::random_case;
using test::relative_error;
using theory::KernelForm;

namespace {

constexpr double kT = 0.05;

std::span<double> numbers_of(MatrixXd& m) { return {m.data(), static_cast<std::size_t>(m.size())}; }

/// The first rank factorises, with all of the matrix.
class CholeskyOfFirst final : public SharedCholesky {
 public:
  CholeskyOfFirst(Ranks& ranks, const SharedSquare& place) : ranks_(ranks), place_(place) {}

  bool factor(MatrixXd& a) override {
    std::array<double, 1> positive{1.0};
    on_whole(a, [&](MatrixXd& whole) {
      const Eigen::LLT<MatrixXd> llt(whole);
      positive[0] = llt.info() == Eigen::Success ? 1.0 : 0.0;
      whole = llt.matrixL();
    });
    broadcast(ranks_, positive);
    return positive[0] != 0.0;
  }
  void solve(const MatrixXd& l, VectorXd& b) override {
    MatrixXd all = MatrixXd::Zero(place_.rows.size, 1);
    if (place_.grid.column == 0) {
      place_.rows.for_each_run([&](Index first, Index count, Index at) {
        all.middleRows(first, count) = b.segment(at, count);
      });
    }
    TreeSum sum;
    sum.push(static_cast<std::size_t>(ranks_.rank()),
             std::vector<double>(all.data(), all.data() + all.size()));
    std::vector<double> total = total_over_ranks(ranks_, std::move(sum));
    MatrixXd copy = l;
    on_whole(copy, [&](MatrixXd& whole) {
      Eigen::Map<VectorXd> x(total.data(), place_.rows.size);
      whole.triangularView<Eigen::Lower>().solveInPlace(x);
      whole.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
    });
    broadcast(ranks_, total);
    for (Index i = 0; i < b.size(); ++i)
      b[i] = total[static_cast<std::size_t>(place_.rows.global(i))];
  }
  void invert(MatrixXd& l) override {
    on_whole(l, [](MatrixXd& whole) {
      const MatrixXd half = whole.triangularView<Eigen::Lower>().solve(
          MatrixXd::Identity(whole.rows(), whole.cols()));
      whole = (half.transpose() * half).triangularView<Eigen::Lower>();
      // No code may read entries above the diagonal.
      whole.triangularView<Eigen::StrictlyUpper>().setConstant(
          std::numeric_limits<double>::quiet_NaN());
    });
  }

 private:
  /// On the first rank f(the matrix of all); what it leaves there goes back to all.
  void on_whole(MatrixXd& own, const std::function<void(MatrixXd&)>& f) {
    if (!ranks_.is_first()) {
      ranks_.send_numbers(0, numbers_of(own));
      ranks_.receive_numbers(0, numbers_of(own));
      return;
    }
    MatrixXd whole = MatrixXd::Zero(place_.rows.size, place_.rows.size);
    std::vector<MatrixXd> parts;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      const SharedSquare place(place_.rows.size, ranks_.size(), rank);
      MatrixXd part(place.rows.count(), place.columns.count());
      if (rank == 0) part = own;
      if (rank > 0) ranks_.receive_numbers(rank, numbers_of(part));
      copy(place, part, whole, false);
      parts.push_back(std::move(part));
    }
    f(whole);
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      MatrixXd& part = parts[static_cast<std::size_t>(rank)];
      copy(SharedSquare(place_.rows.size, ranks_.size(), rank), part, whole, true);
      if (rank > 0) ranks_.send_numbers(rank, numbers_of(part));
    }
    own = parts.front();
  }
  static void copy(const SharedSquare& place, MatrixXd& part, MatrixXd& whole, bool back) {
    for (Index j = 0; j < part.cols(); ++j) {
      for (Index i = 0; i < part.rows(); ++i) {
        double& entry = whole(place.rows.global(i), place.columns.global(j));
        (back ? part(i, j) : entry) = back ? entry : part(i, j);
      }
    }
  }

  Ranks& ranks_;
  SharedSquare place_;
};

class SolvingRanks final : public Ranks {
 public:
  explicit SolvingRanks(Ranks& of) : of_(of) {}
  [[nodiscard]] int rank() const override { return of_.rank(); }
  [[nodiscard]] int size() const override { return of_.size(); }
  [[nodiscard]] int on_this_machine() const override { return of_.on_this_machine(); }
  void send(int to, std::string_view bytes) override { of_.send(to, bytes); }
  std::optional<RankMessage> receive() override { return of_.receive(); }
  void send_numbers(int to, std::span<const double> n) override { of_.send_numbers(to, n); }
  void receive_numbers(int from, std::span<double> n) override { of_.receive_numbers(from, n); }
  void abort(int exit_code) override { of_.abort(exit_code); }
  std::unique_ptr<SharedCholesky> shared_cholesky(const SharedSquare& place) override {
    return std::make_unique<CholeskyOfFirst>(of_, place);
  }

 private:
  Ranks& of_;
};

theory::RankExamples part_of(const test::TheoryCase& c, Ranks& ranks) {
  theory::RankExamples part;
  part.place = SharedSquare(c.features.rows(), ranks.size(), ranks.rank());
  const auto rows_of = [&](const BlockCyclic& own) {
    MatrixXd rows(own.count(), c.features.cols());
    for (Index i = 0; i < own.count(); ++i) rows.row(i) = c.features.row(own.global(i));
    return rows;
  };
  part.rows = rows_of(part.place.rows);
  part.columns = rows_of(part.place.columns);
  part.labels = c.labels;
  return part;
}

using Check = std::function<void(const std::shared_ptr<const theory::PathKernels>&)>;

/// `check` with kernels over so many ranks.
void with_ranks(int count, const test::TheoryCase& c, const Check& check) {
  testing::on_ranks(count, [&](Ranks& threads) {
    SolvingRanks ranks(threads);
    const Index paths = c.architecture.paths();
    if (ranks.is_first()) {
      check(theory::lead_distributed_kernels(ranks, part_of(c, ranks), paths, 1));
    } else {
      theory::serve_distributed_kernels(ranks, part_of(c, ranks), paths, 1);
    }
  });
}

MatrixXd random_u(Index order, std::uint64_t seed) {
  Rng rng(seed, StreamPurpose::kTests);
  return test::random_spd(order, rng);
}

/// Stands for one of the other ranks: keeps what agree() sends, and tells it to give up.
class Overheard final : public Ranks {
 public:
  [[nodiscard]] int rank() const override { return 1; }
  [[nodiscard]] int size() const override { return 2; }
  [[nodiscard]] int on_this_machine() const override { return 2; }
  void send(int /*to*/, std::string_view bytes) override { sent = bytes; }
  std::optional<RankMessage> receive() override { return RankMessage{0, "no"}; }
  void send_numbers(int /*to*/, std::span<const double> /*numbers*/) override {}
  void receive_numbers(int /*from*/, std::span<double> /*numbers*/) override {}
  void abort(int /*exit_code*/) override {}
  std::string sent;
};

std::string message_of_failure() {
  Overheard ranks;
  agree(ranks, [] { throw Error(ErrorKind::kUnavailable, "not enough memory"); });
  return ranks.sent;
}

struct SpokeAfterFailure {};

/// One of the other ranks, whose messages are all about whether a step went well. The rank
/// `failing` fails in its step number `step`; after that step no rank may send anything.
class FailingRanks final : public Ranks {
 public:
  FailingRanks(Ranks& of, int failing, int step) : of_(of), failing_(failing), left_(step) {}
  [[nodiscard]] int rank() const override { return of_.rank(); }
  [[nodiscard]] int size() const override { return of_.size(); }
  [[nodiscard]] int on_this_machine() const override { return of_.on_this_machine(); }
  void send(int to, std::string_view bytes) override {
    if (--left_ < 0) throw SpokeAfterFailure();
    const bool fails = left_ == 0 && of_.rank() == failing_;
    of_.send(to, fails ? message_of_failure() : std::string(bytes));
  }
  std::optional<RankMessage> receive() override { return of_.receive(); }
  void send_numbers(int to, std::span<const double> n) override { of_.send_numbers(to, n); }
  void receive_numbers(int from, std::span<double> n) override { of_.receive_numbers(from, n); }
  void abort(int exit_code) override { of_.abort(exit_code); }
  std::unique_ptr<SharedCholesky> shared_cholesky(const SharedSquare& place) override {
    return of_.shared_cholesky(place);
  }

 private:
  Ranks& of_;
  int failing_;
  int left_;
};

/// What `work` throws on the first rank when one rank fails in its step number `step`.
std::string error_of_step(int step, const test::TheoryCase& c, const Check& work) {
  constexpr int kRanks = 3;
  constexpr int kFailing = 2;
  std::string error = "none";
  std::array<bool, kRanks> spoke{};
  testing::on_ranks(kRanks, [&](Ranks& threads) {
    SolvingRanks ranks(threads);
    const Index paths = c.architecture.paths();
    if (!ranks.is_first()) {
      FailingRanks failing(ranks, kFailing, step);
      try {
        theory::serve_distributed_kernels(failing, part_of(c, failing), paths, 1);
      } catch (const SpokeAfterFailure&) {
        spoke.at(static_cast<std::size_t>(ranks.rank())) = true;
      }
      return;
    }
    try {
      work(theory::lead_distributed_kernels(ranks, part_of(c, ranks), paths, 1));
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::kUnavailable);
      error = e.what();
    }
  });
  CHECK(spoke == std::array<bool, kRanks>{});
  return error;
}

}  // namespace

TEST_CASE("a rank that fails in any step ends the work of all, with one error on the first") {
  const test::TheoryCase c = random_case({2, 2}, 1, 20, 5, 1);
  const MatrixXd u = random_u(4, 8);
  Rng rng(9, StreamPurpose::kTests);
  const MatrixXd e = test::random_symmetric(4, rng);
  const MatrixXd tests = test::random_matrix(3, c.features.cols(), rng);
  const auto work = [&](const auto& kernels) {
    const auto state = kernels->evaluate(u, kT);
    static_cast<void>(state->predict(tests));
    static_cast<void>(
        state->curvature(MatrixXd::Identity(4, 4), theory::Precision::kDouble)->apply_twice(e));
  };
  int step = 1;
  for (; step < 100; ++step) {
    CAPTURE(step);
    const std::string error = error_of_step(step, c, work);
    if (error == "none") break;
    CHECK(error == "rank 2: not enough memory");
  }
  CHECK(step > 8);  // steps that can fail
  CHECK(step < 100);
}

TEST_CASE("kernels over ranks have the numbers of those of one process") {
  for (const test::TheoryCase& c :
       {random_case({2, 2}, 1, 41, 5, 1), random_case({3}, 1, 12, 7, 2)}) {
    const Index p = c.architecture.paths();
    const MatrixXd u = random_u(p, 8);
    const auto expected = kernels_of(c, KernelForm::kStreamed)->evaluate(u, kT);
    Rng rng(9, StreamPurpose::kTests);
    const MatrixXd frame = test::random_matrix(p, p, rng);
    const MatrixXd e = test::random_symmetric(p, rng);
    const MatrixXd tests = test::random_matrix(6, c.features.cols(), rng);
    const MatrixXd root = test::random_matrix(p * (p + 1) / 2, 2, rng);
    const MatrixXd sigma = root * root.transpose();
    const auto precision = theory::Precision::kDouble;
    for (const int count : {1, 2, 3, 4, 5, 6}) {  // of 5, one has no place in the grid
      CAPTURE(p, count);
      with_ranks(count, c, [&](const auto& kernels) {
        REQUIRE(kernels->form() == KernelForm::kDistributed);
        REQUIRE(kernels->examples() == c.features.rows());
        REQUIRE_THROWS_WITH(kernels->kernel(u),
                            Catch::Matchers::ContainsSubstring("lies on several ranks"));
        const auto state = kernels->evaluate(u, kT);
        REQUIRE_THAT(state->energy(), Catch::Matchers::WithinRel(expected->energy(), 1e-12));
        REQUIRE_THAT(state->condition, Catch::Matchers::WithinRel(expected->condition, 1e-10));
        REQUIRE(relative_error(state->gradient, expected->gradient) < 1e-11);
        REQUIRE(relative_error(state->projected_dual(), expected->projected_dual()) < 1e-11);
        REQUIRE(relative_error(theory::mean_on_shared_examples(*state),
                               theory::mean_from_dual(c.features, expected->projected_dual(), u)) <
                1e-11);
        const theory::Prediction prediction = state->predict(tests);
        REQUIRE(relative_error(prediction.mean, expected->predict(tests).mean) < 1e-11);
        REQUIRE(relative_error(prediction.variance, expected->predict(tests).variance) < 1e-10);
        REQUIRE(relative_error(kernels->predictive_mean(u, kT, tests), prediction.mean) < 1e-13);
        const auto products = state->curvature(frame, precision);
        const auto others = expected->curvature(frame, precision);
        REQUIRE(relative_error(products->apply(e), others->apply(e)) < 1e-10);
        REQUIRE(relative_error(products->apply_twice(e), others->apply_twice(e)) < 1e-10);
        REQUIRE(relative_error(state->average_information(), expected->average_information()) <
                1e-10);
        REQUIRE(relative_error(state->hessian(), expected->hessian()) < 1e-10);
        REQUIRE(relative_error(state->contract_third_derivative(sigma),
                               expected->contract_third_derivative(sigma)) < 1e-9);
        const auto shift = [&](const theory::EnergyState& at) {
          return at.variance_shift(u, at.second_order_form(root), tests);
        };
        REQUIRE(relative_error(shift(*state), shift(*expected)) < 1e-10);
        REQUIRE(kernels->evaluate(-u, kT) == nullptr);
      });
    }
  }
}

TEST_CASE("ranks that share the work on many paths have the numbers of one process") {
  const test::TheoryCase c = random_case({6, 6}, 1, 50, 2, 4);  // p = 36
  const MatrixXd u = random_u(36, 8);
  const auto expected = kernels_of(c, KernelForm::kStreamed)->evaluate(u, kT);
  const MatrixXd frame = MatrixXd::Identity(36, 36);
  const auto others = expected->curvature(frame, theory::Precision::kDouble);
  for (const int count : {2, 3, 4, 6, 7}) {
    CAPTURE(count);
    with_ranks(count, c, [&](const auto& kernels) {
      const auto state = kernels->evaluate(u, kT);
      REQUIRE_THAT(state->energy(), Catch::Matchers::WithinRel(expected->energy(), 1e-12));
      REQUIRE(relative_error(state->gradient, expected->gradient) < 1e-11);
      const auto products = state->curvature(frame, theory::Precision::kDouble);
      REQUIRE(relative_error(products->apply(u), others->apply(u)) < 1e-10);
      REQUIRE(relative_error(products->apply_twice(u), others->apply_twice(u)) < 1e-10);
    });
  }
}

TEST_CASE("the gradient over ranks is the slope of the energy") {
  const test::TheoryCase c = random_case({2, 2}, 1, 30, 9, 3);
  const MatrixXd u = random_u(4, 5);
  Rng rng(6, StreamPurpose::kTests);
  const MatrixXd d = test::random_symmetric(4, rng);
  with_ranks(4, c, [&](const auto& kernels) {
    const double h = 1e-5;
    const double slope =
        (kernels->evaluate(u + h * d, kT)->energy() - kernels->evaluate(u - h * d, kT)->energy()) /
        (2 * h);
    REQUIRE_THAT(kernels->evaluate(u, kT)->gradient.cwiseProduct(d).sum(),
                 Catch::Matchers::WithinRel(slope, 1e-6));
  });
}

TEST_CASE("every solver finds the same saddle point over ranks") {
  const test::TheoryCase c = random_case({2, 2}, 1, 40, 9, 7);
  const theory::OrderParameters start = theory::gaussian_process_order_parameters(c.architecture);
  Observer observer;
  const theory::Action alone(c.architecture, kT, kernels_of(c, KernelForm::kStreamed));
  const theory::SaddlePoint expected = theory::solve_saddle_point(alone, start, {}, observer);
  REQUIRE(expected.summary.converged);
  with_ranks(3, c, [&](const auto& kernels) {
    const theory::Action action(c.architecture, kT, kernels);
    for (const theory::Optimizer optimizer :
         {theory::Optimizer::kAuto, theory::Optimizer::kNewtonCg,
          theory::Optimizer::kQuasiNewton}) {
      theory::SaddlePointOptions options;
      options.optimizer = optimizer;
      const theory::SaddlePoint found =
          theory::solve_saddle_point(action, start, options, observer);
      REQUIRE(found.summary.converged);
      for (int l = 1; l <= 3; ++l) {
        REQUIRE(relative_error(found.order_parameters.at(l), expected.order_parameters.at(l)) <
                1e-8);
      }
    }
  });
}

TEST_CASE("kernels over ranks are refused for several outputs or without a shared factorisation") {
  const theory::KernelSizes sizes{100, 4, 50, 1};
  theory::PathKernelOptions options;
  options.form = KernelForm::kDistributed;
  REQUIRE_THROWS_WITH(theory::kernel_cost(sizes, options),
                      Catch::Matchers::ContainsSubstring("mpirun -n R headway solve"));
  options.ranks = 4;
  const theory::KernelCost cost = theory::kernel_cost(sizes, options);
  REQUIRE(cost.feature_share == 1.0);  // two halves
  REQUIRE(cost.state_bytes == 8.0 * 100 * 100 / 4);
  REQUIRE_THROWS_WITH(theory::kernel_cost({100, 4, 50, 2}, options),
                      Catch::Matchers::ContainsSubstring("needs one output, but the data have 2"));
  std::array<std::string, 2> messages;
  testing::on_ranks(2, [&](Ranks& ranks) {  // that have no SharedCholesky
    try {
      theory::require_shared_cholesky(ranks, SharedSquare(10, ranks.size(), ranks.rank()));
    } catch (const Error& error) {
      messages[static_cast<std::size_t>(ranks.rank())] = error.what();
    }
  });
  for (const std::string& message : messages)
    REQUIRE_THAT(message, Catch::Matchers::ContainsSubstring("libscalapack-openmpi-dev"));
}
