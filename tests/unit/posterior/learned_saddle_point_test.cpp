#include "headway/posterior/learned_saddle_point.hpp"

#include <fmt/format.h>

#include <cmath>

#include "catch.hpp"
#include "learned_problems.hpp"

using namespace headway;
using posterior::LearnedMinimum;
using testing::learned_data;
using testing::learned_problems;
using testing::LearnedData;
using testing::LearnedProblem;

namespace {

LearnedMinimum minimum(const LearnedProblem& problem, const LearnedData& data,
                       const VectorXd& start) {
  Observer quiet;
  return posterior::learned_saddle_point(
      {testing::learned_architecture(problem, 10), 0.2, *data.attention, *data.labels}, start, {},
      quiet);
}

VectorXd start_of(const LearnedData& data, std::uint64_t stream) {
  Rng rng(90, StreamPurpose::kTests, stream);
  VectorXd z(data.attention->dimension());
  rng.fill_normal({z.data(), static_cast<std::size_t>(z.size())});
  return z;
}

// S(U, z) at the minimum over U.
double action_at(const LearnedProblem& problem, const LearnedData& data, const VectorXd& z) {
  const model::Architecture a = testing::learned_architecture(problem, 10);
  model::LearnedAttention::Workspace workspace;
  MatrixXd x;
  const double scale = std::sqrt(1.0 / static_cast<double>(data.attention->features() * a.paths()));
  REQUIRE(data.attention->path_features(z, scale, workspace, x));
  const theory::Action action(a, 0.2, theory::make_path_kernels(x, *data.labels, a.paths()));
  Observer quiet;
  return theory::solve_saddle_point(action, theory::gaussian_process_order_parameters(a), {}, quiet)
             .evaluation.value +
         z.squaredNorm();
}

}  // namespace

TEST_CASE("at the joint minimum no step over attention or order parameters leads lower") {
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}, std::size_t{3}, std::size_t{4},
                              std::size_t{6}, std::size_t{7}}) {
    const LearnedProblem problem = learned_problems()[i];
    INFO(problem.name);
    const LearnedData data = learned_data(problem);
    const LearnedMinimum found = minimum(problem, data, start_of(data, 1));
    INFO(found.message);
    REQUIRE(found.converged);
    REQUIRE(found.of.summary.converged);
    CHECK_THAT(action_at(problem, data, found.z), Catch::Matchers::WithinRel(found.action, 1e-10));
    for (std::uint64_t k = 0; k < 5; ++k) {
      const VectorXd step = 1e-3 * start_of(data, 10 + k);
      const double up = action_at(problem, data, found.z + step);
      const double down = action_at(problem, data, found.z - step);
      CHECK(up + down > 2.0 * found.action);
      CHECK(std::abs(up - down) < 1e-5);  // no slope
    }
  }
}

TEST_CASE("a search that is interrupted, or has too few iterations, says so and where it was") {
  class StopWhenTold final : public Observer {
   public:
    [[nodiscard]] bool interrupted() const override { return stop; }
    bool stop = false;
  };
  const LearnedProblem problem = learned_problems()[2];
  const LearnedData data = learned_data(problem);
  const posterior::LearnedSetting setting{testing::learned_architecture(problem, 10), 0.2,
                                          *data.attention, *data.labels};
  const VectorXd start = start_of(data, 1);
  StopWhenTold observer;
  observer.stop = true;
  const LearnedMinimum none = posterior::learned_saddle_point(setting, start, {}, observer);
  CHECK(none.message == "interrupted");
  CHECK_FALSE(none.converged);
  CHECK(none.iterations == 0);
  CHECK(none.z == start);
  CHECK(std::isfinite(none.action));
  observer.stop = false;
  posterior::LearnedSaddleOptions few;
  double before = HUGE_VAL;
  for (const int most : {1, 2, 3}) {
    few.max_iterations = most;
    const LearnedMinimum part = posterior::learned_saddle_point(setting, start, few, observer);
    CHECK(part.message == fmt::format("not converged after {} iterations", most));
    CHECK_FALSE(part.converged);
    CHECK(part.iterations == most);
    CHECK(part.gradient_norm > few.gradient_tolerance);
    CHECK_THAT(action_at(problem, data, part.z), Catch::Matchers::WithinRel(part.action, 1e-9));
    CHECK(part.action < before);
    before = part.action;
  }
  const LearnedMinimum whole = minimum(problem, data, start);
  CHECK(whole.message == "converged");
  CHECK(whole.iterations > 3);
  CHECK(whole.action < before);
}

TEST_CASE("the search remembers the slopes that it met, without which it takes many more steps") {
  const LearnedProblem problem = learned_problems()[3];  // "linear", of 36 unknowns
  const LearnedData data = learned_data(problem);
  for (const std::uint64_t stream : {1U, 2U, 3U}) {
    const LearnedMinimum found = minimum(problem, data, start_of(data, stream));
    CHECK(found.converged);
    CHECK(found.iterations < 300);  // about 70; along gradients alone above 1600
  }
}

TEST_CASE("minima that differ by an exchange of heads count as one") {
  const LearnedProblem problem = learned_problems()[1];  // heads [2]
  const LearnedData data = learned_data(problem);
  const VectorXd start = start_of(data, 2);
  const LearnedMinimum one = minimum(problem, data, start);
  const LearnedMinimum other =
      minimum(problem, data, data.attention->coordinates().permuted(start, 0, {1, 0}));
  REQUIRE(one.converged);
  REQUIRE(other.converged);
  CHECK((one.z - other.z).norm() > 0.1);  // not the same z
  std::vector<LearnedMinimum> both;
  both.push_back(minimum(problem, data, start));
  both.push_back(minimum(problem, data, data.attention->coordinates().permuted(start, 0, {1, 0})));
  const std::vector<LearnedMinimum> distinct =
      posterior::distinct_minima(std::move(both), data.attention->coordinates());
  REQUIRE(distinct.size() == 1);
  CHECK(distinct.front().starts == 2);
}

TEST_CASE("a prior of nearly no variance leaves uniform attention") {
  LearnedProblem problem = learned_problems()[1];
  problem.prior.variance = 1e-12;
  const LearnedData data = learned_data(problem);
  const LearnedMinimum found = minimum(problem, data, start_of(data, 3));
  REQUIRE(found.converged);
  CHECK_THAT(found.attention.largest, Catch::Matchers::WithinAbs(0.25, 1e-5));
  CHECK_THAT(found.attention.entropy, Catch::Matchers::WithinAbs(std::log(4.0), 1e-5));
}
