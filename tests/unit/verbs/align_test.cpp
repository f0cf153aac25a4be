// Alignment of the renormalised kernel with the labels: eq. 52 by its definition.
#include "headway/align.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/solve.hpp"
#include "headway/theory/gram.hpp"
#include "random_examples.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;
using testing::random_dataset;
using testing::random_matrix;

namespace {

constexpr Index kExamples = 9;
constexpr Index kN0 = 4;

tasks::Dataset small_dataset(std::vector<int> heads) {
  Rng rng(6, StreamPurpose::kTests, heads.size());
  return random_dataset(std::move(heads), {kExamples, 4, kN0}, rng);
}

Study small_study() {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.model.widths = {{15}, {200}};
  study.model.temperatures = {0.1, 0.5};
  study.threads = 2;
  return study;
}

/// Eigenvalues, largest first, and the overlaps of their vectors with y, of sum U[a, b] X_a X_b^T.
std::pair<VectorXd, VectorXd> aligned(const TheoryProblem& problem, const MatrixXd& u) {
  const MatrixXd& x = problem.kernels->features();
  const Index n = problem.kernels->feature_count();
  MatrixXd k = MatrixXd::Zero(x.rows(), x.rows());
  for (Index a = 0; a < u.rows(); ++a) {
    for (Index b = 0; b < u.cols(); ++b) {
      k += u(a, b) * x.middleCols(a * n, n) * x.middleCols(b * n, n).transpose();
    }
  }
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(k);
  const VectorXd y = problem.train_labels.col(0);
  return {eigen.eigenvalues().reverse(),
          (eigen.eigenvectors().transpose() * y).cwiseAbs().reverse() / y.norm()};
}

/// The first entries of `shown` are those of a kernel.
void check_shown(const std::pair<VectorXd, VectorXd>& wanted, const VectorXd& eigenvalues,
                 const VectorXd& overlaps, const VectorXd& cumulative, Index shown) {
  REQUIRE(eigenvalues.size() == shown);
  REQUIRE(overlaps.size() == shown);
  REQUIRE(cumulative.size() == shown);
  CHECK((eigenvalues - wanted.first.head(shown)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() <
        1e-12 * wanted.first[0]);
  CHECK((overlaps - wanted.second.head(shown)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-7);
  double sum = 0.0;
  for (Index k = 0; k < shown; ++k) {
    sum += wanted.second[k] * wanted.second[k];
    CHECK_THAT(cumulative[k], Catch::Matchers::WithinAbs(sum, 1e-7));
  }
}

class Share final : public Observer {
 public:
  explicit Share(double most = 1e9) : most_(most) {}
  void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
    if (stage != "align") return;
    told.emplace_back(done, total);
    stopped_ = done >= most_;
  }
  [[nodiscard]] bool interrupted() const override { return stopped_; }
  void note(std::string_view text) override { notes.emplace_back(text); }
  std::vector<std::string> notes;
  std::vector<std::pair<double, double>> told;

 private:
  double most_;
  bool stopped_ = false;
};

}  // namespace

TEST_CASE("every point of align has the eigenvectors of its own kernel, by falling eigenvalue") {
  const tasks::Dataset data = small_dataset({2, 2});
  Study study = small_study();
  Observer observer;
  const TheoryProblem problem = make_problem(study, data, observer);
  const MatrixXd same = MatrixXd::Identity(4, 4);  // U_1 of infinite width, all variances 1
  for (const Index components : {0, 3, 9, 10}) {
    study.align.components = components;
    const Index shown = components == 3 ? 3 : kExamples;
    const AlignResult result = align(study, data, observer);
    REQUIRE(result.points.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      const AlignPoint& point = result.points[i];
      const SolvePoint& solved = result.solve.points[i];
      CHECK(point.widths == solved.widths);
      CHECK(point.temperature == study.model.temperatures[i % 2]);
      check_shown(aligned(problem, solved.order_parameters.layers.front()), point.eigenvalues,
                  point.overlaps, point.cumulative, shown);
      check_shown(aligned(problem, same), point.gaussian_process_eigenvalues,
                  point.gaussian_process_overlaps, point.gaussian_process_cumulative, shown);
    }
  }
}

TEST_CASE("with one head the kernel is renormalised by a number, and no overlap changes") {
  const tasks::Dataset data = small_dataset({1});
  Study study = small_study();
  study.model.variances = {1.5, 2.0, 0.5};
  Observer observer;
  const AlignResult result = align(study, data, observer);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const AlignPoint& point = result.points[i];
    const double u = result.solve.points[i].order_parameters.layers.front()(0, 0);
    CHECK(std::abs(u - 1.0) > 1e-3);
    for (Index k = 0; k < kN0; ++k) {  // the rank of the kernel
      CHECK_THAT(point.eigenvalues[k],
                 Catch::Matchers::WithinRel(u * point.gaussian_process_eigenvalues[k], 1e-10));
      CHECK_THAT(point.overlaps[k],
                 Catch::Matchers::WithinAbs(point.gaussian_process_overlaps[k], 1e-8));
    }
    for (Index k = kN0; k < kExamples; ++k) CHECK(std::isnan(point.overlaps[k]));
    CHECK(point.cumulative[kExamples - 1] == point.cumulative[kN0 - 1]);
  }
}

TEST_CASE("align takes the order parameters of an earlier result, and tells its share") {
  const tasks::Dataset data = small_dataset({2});
  const Study study = small_study();
  Observer observer;
  SolveResult known = solve(study, data, observer);
  for (SolvePoint& point : known.points) point.order_parameters.layers.front() *= 3.0;
  const AlignResult own = align(study, data, observer);
  Share share;
  const AlignResult lent = align(study, data, share, &known);
  REQUIRE(lent.points.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK_THAT(lent.points[i].eigenvalues[0],
               Catch::Matchers::WithinRel(3.0 * own.points[i].eigenvalues[0], 1e-10));
    CHECK_THAT(lent.points[i].gaussian_process_eigenvalues[0],
               Catch::Matchers::WithinRel(own.points[i].gaussian_process_eigenvalues[0], 1e-12));
  }
  REQUIRE(share.told.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(share.told[i] == std::pair(static_cast<double>(i), 4.0));
  }
  const auto noted = [](std::size_t points) {
    return "the order parameters of " + std::to_string(points) +
           " of 4 points are those of the given result";
  };
  CHECK(std::count(share.notes.begin(), share.notes.end(), noted(4)) == 1);
  known.points.erase(known.points.begin() + 1);  // that one is solved
  Share other;
  const AlignResult some = align(study, data, other, &known);
  CHECK(std::count(other.notes.begin(), other.notes.end(), noted(3)) == 1);
  REQUIRE(some.points.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(some.points[i].widths == own.points[i].widths);
    CHECK_THAT(
        some.points[i].eigenvalues[0],
        Catch::Matchers::WithinRel((i == 1 ? 1.0 : 3.0) * own.points[i].eigenvalues[0], 1e-8));
  }
  known.interrupted = true;  // may lack what follows a point
  Share none;
  align(study, data, none, &known);
  CHECK(std::count(none.notes.begin(), none.notes.end(), noted(0)) == 1);
}

TEST_CASE("align that is stopped keeps its finished points") {
  const tasks::Dataset data = small_dataset({2});
  Study study = small_study();
  study.threads = 1;
  Share whole, part(1.0);
  const AlignResult all = align(study, data, whole);
  CHECK_FALSE(all.solve.interrupted);
  const AlignResult one = align(study, data, part);
  CHECK(one.solve.interrupted);
  REQUIRE(one.points.size() == 1);
  CHECK(one.points[0].eigenvalues == all.points[0].eigenvalues);
  CHECK(one.solve.points.size() == 4);
}

TEST_CASE("sums over examples have no kernel between them, also where rows take their place") {
  Rng rng(7, StreamPurpose::kTests);
  const MatrixXd features = random_matrix(3, 12, rng);  // fewer examples than directions
  tasks::Dataset data;
  data.name = "sums.h5";
  data.form = AttentionForm::kPathFeatures;
  data.heads = {2, 2};
  data.layers.resize(2);
  data.features = 3;
  data.train.path_features.resize(0, 12);
  data.train.labels.resize(0, 1);
  data.gram = theory::gram_matrices(features, random_matrix(3, 1, rng));
  const Study study = small_study();
  REQUIRE(gram_becomes_rows(study, data));
  Observer observer;
  CHECK_THROWS_WITH(
      align(study, data, observer),
      "sums.h5: holds Gram matrices, which give no kernel between examples: must be the data set "
      "that they were made from");
  CHECK_THROWS_WITH(plan_theory(study, data, TheoryVerb::kAligns),
                    Catch::Matchers::StartsWith("sums.h5: holds Gram matrices"));
}
