// Bilinear sequence regression and in-context regression: what the numbers of an example are.
#include <Eigen/SVD>
#include <cmath>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/tasks/bilinear_sequence_regression.hpp"
#include "headway/tasks/in_context_regression.hpp"

using Catch::Matchers::WithinRel;
using headway::Error;
using headway::Index;
using headway::MatrixXd;
using headway::RowMatrixXd;
using headway::VectorXd;
using namespace headway::tasks;

namespace {

RowMatrixXd features_of(const Split& split, Index begin, Index count) {
  const auto& shape = split.feature_source->shape();
  RowMatrixXd out(count, shape[1] * shape[2]);
  split.feature_source->read(begin, count, out.data());
  return out;
}

template <class Make, class Options>
void check_refused(const Make& make, const Options& options, const std::string& words) {
  try {
    static_cast<void>(make(options, 1));
    FAIL("not refused: " << words);
  } catch (const Error& error) {
    CHECK(error.kind() == headway::ErrorKind::kBadStudy);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring(words));
  }
}

BilinearSequenceOptions small_sequences() {
  BilinearSequenceOptions options;
  options.train_examples = 30;
  options.dimension = 3;
  options.tokens = 5;
  options.rank = 2;
  return options;
}

InContextOptions small_prompts() {
  InContextOptions options;
  options.train_examples = 12;
  options.test_examples = 7;
  options.dimension = 3;
  options.context = 4000;
  options.tasks = 5;
  options.noise = 0.0;
  return options;
}

}  // namespace

TEST_CASE("A sequence without noise has the label <X, S> / sqrt(L D), and tests show S") {
  BilinearSequenceOptions options = small_sequences();
  options.noise = 0.0;
  const Dataset data = make_bilinear_sequence_regression(options, 3);
  check_dataset(data);
  CHECK(data.heads == std::vector<int>{5});
  REQUIRE(data.test->labels.rows() == 15);
  const VectorXd teacher = data.test->labels.col(0);
  const RowMatrixXd x = features_of(data.train, 0, 30);
  for (Index i = 0; i < 30; ++i) {
    CHECK_THAT(data.train.labels(i, 0), WithinRel(x.row(i).dot(teacher) / std::sqrt(15.0), 1e-12));
  }
  CHECK(data.test->path_features == std::sqrt(15.0) * RowMatrixXd::Identity(15, 15));
  // S is 5 x 3 of rank 2: its smallest singular value is rounding.
  const MatrixXd s = Eigen::Map<const RowMatrixXd>(teacher.data(), 5, 3);
  const VectorXd values = Eigen::JacobiSVD<MatrixXd>(s).singularValues();
  CHECK(values(2) < 1e-14 * values(0));
  CHECK(values(1) > 1e-3 * values(0));
}

TEST_CASE("The noise of sequences has its variance, and their examples have streams of their own") {
  BilinearSequenceOptions options = small_sequences();
  options.train_examples = 20'000;
  const Dataset noisy = make_bilinear_sequence_regression(options, 3);
  options.noise = 0.0;
  const Dataset plain = make_bilinear_sequence_regression(options, 3);
  const VectorXd z = (noisy.train.labels - plain.train.labels) / std::sqrt(0.5);
  CHECK(std::abs(z.mean()) < 5.5 / std::sqrt(20'000.0));
  CHECK(std::abs(z.squaredNorm() / 20'000.0 - 1.0) < 5.5 * std::sqrt(2.0 / 20'000.0));
  CHECK(features_of(noisy.train, 7, 2) == features_of(noisy.train, 0, 20).middleRows(7, 2));
  CHECK(noisy.content_hash != plain.content_hash);
  CHECK(make_bilinear_sequence_regression(options, 4).test->labels != plain.test->labels);
}

TEST_CASE("A long prompt without noise shows its task: H = x [w, |w|^2 / d]") {
  const InContextOptions options = small_prompts();
  const Dataset data = make_in_context_regression(options, 3);
  check_dataset(data);
  CHECK(data.heads == std::vector<int>{3});
  CHECK(data.features == 4);
  REQUIRE(data.sets.size() == 1);
  CHECK(data.sets[0].name == "seen_tasks");
  const auto task_of = [](const RowMatrixXd& rows, Index i, double label) {
    const RowMatrixXd h = Eigen::Map<const RowMatrixXd>(rows.row(i).data(), 3, 4) / std::sqrt(12.0);
    // The matrix is an outer product: the query times the keys.
    const VectorXd values = Eigen::JacobiSVD<MatrixXd>(h).singularValues();
    CHECK(values(1) < 1e-13 * values(0));
    // The trace of the first three columns is x . w; the last column is x.
    CHECK(std::abs(h.leftCols(3).trace() - label) < 5.5 * std::sqrt(10.0 / 4000.0) * h.norm());
    return VectorXd(h.leftCols(3).transpose() * h.col(3) / h.col(3).squaredNorm());
  };
  const RowMatrixXd train = features_of(data.train, 0, 12);
  const RowMatrixXd seen = features_of(data.sets[0].split, 0, 7);
  const RowMatrixXd fresh = features_of(*data.test, 0, 7);
  for (Index i = 0; i < 7; ++i) {
    const VectorXd w = task_of(train, i, data.train.labels(i, 0));
    // Example i + 5 has the task of example i; so has example i of the seen tasks.
    const double most = 5.5 * std::sqrt(2.0 * 3.0 * 10.0 / 4000.0);
    CHECK((w - task_of(seen, i, data.sets[0].split.labels(i, 0))).norm() < most);
    if (i + 5 < 12) CHECK((w - task_of(train, i + 5, data.train.labels(i + 5, 0))).norm() < most);
    CHECK((w - task_of(fresh, i, data.test->labels(i, 0))).norm() > most);
  }
}

TEST_CASE("Options of these tasks out of range are refused by name") {
  BilinearSequenceOptions sequences = small_sequences();
  sequences.rank = 0;
  check_refused(make_bilinear_sequence_regression, sequences, "task.rank = 0: must be an integer");
  sequences = small_sequences();
  sequences.tokens = sequences.dimension = 200;
  check_refused(make_bilinear_sequence_regression, sequences,
                "task.tokens = 200, task.dimension = 200: their product must be at most 20000");
  InContextOptions prompts = small_prompts();
  prompts.context = 0;
  check_refused(make_in_context_regression, prompts, "task.context = 0: must be an integer from 1");
  prompts = small_prompts();
  prompts.noise = -1.0;
  check_refused(make_in_context_regression, prompts, "task.noise = -1");
  prompts = small_prompts();
  prompts.test_examples = 0;
  const Dataset data = make_in_context_regression(prompts, 1);
  CHECK_FALSE(data.test);
  CHECK(data.sets.empty());
}

TEST_CASE("The noise of prompts is in the label of the query and in those of the context") {
  constexpr Index kPrompts = 20'000;
  InContextOptions options = small_prompts();
  options.context = 8;
  options.train_examples = kPrompts;
  const Dataset plain = make_in_context_regression(options, 3);
  options.noise = 0.3;
  const Dataset noisy = make_in_context_regression(options, 3);
  const VectorXd z = (noisy.train.labels - plain.train.labels) / std::sqrt(0.3);
  constexpr double kCount = kPrompts;
  CHECK(std::abs(z.mean()) < 5.5 / std::sqrt(kCount));
  CHECK(std::abs(z.squaredNorm() / kCount - 1.0) < 5.5 * std::sqrt(2.0 / kCount));
  CHECK(features_of(noisy.train, 0, 20) != features_of(plain.train, 0, 20));
}
