#include "headway/tasks/copy.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"

using Catch::Matchers::WithinRel;
using headway::Error;
using headway::ErrorKind;
using headway::Index;
using headway::MatrixXd;
using headway::RowMatrixXd;
using namespace headway::tasks;

namespace {

CopyOptions small_task() {
  CopyOptions options;
  options.train_examples = 20;
  options.test_examples = 15;
  options.tokens = 5;
  return options;
}

RowMatrixXd inputs_of(const headway::ExampleSource& source, Index begin, Index count) {
  RowMatrixXd inputs(count * source.tokens(), source.features());
  source.read_inputs(begin, count, inputs.data());
  return inputs;
}

/// The column of the largest entry of a row.
Index place(const Eigen::Ref<const headway::VectorXd>& row) {
  Index at = 0;
  row.maxCoeff(&at);
  return at;
}

}  // namespace

TEST_CASE("The label is the value where the last token points") {
  CopyOptions options = small_task();
  options.norm = 2.5;
  const Dataset data = make_copy(options, 3);
  REQUIRE(data.features == 11);
  const double scale = std::sqrt(2.5 * 11.0 / 3.0);
  for (const Split* split : {&data.train, &*data.test}) {
    const RowMatrixXd x = inputs_of(*split->examples, 0, split->size());
    REQUIRE(split->labels.rows() == split->size());
    for (Index i = 0; i < split->size(); ++i) {
      const RowMatrixXd tokens = x.middleRows(5 * i, 5);
      const Index pointer = place(tokens.row(4).tail(5).transpose());
      CHECK_THAT(tokens(pointer, 0), WithinRel(scale * split->labels(i, 0), 1e-14));
      for (Index t = 0; t < 5; ++t) {
        CHECK_THAT(tokens.row(t).squaredNorm(), WithinRel(2.5 * 11.0, 1e-14));
        CHECK_THAT(std::abs(tokens(t, 0)), WithinRel(scale, 1e-14));
        CHECK(place(tokens.row(t).segment(1, 5).transpose()) == t);
        CHECK_THAT(tokens.row(t).segment(1, 5).sum(), WithinRel(scale, 1e-14));
        CHECK_THAT(tokens.row(t).tail(5).sum(), WithinRel(scale, 1e-14));
      }
    }
  }
}

TEST_CASE("The head of the copy task gives logit beta to the token pointed at, 0 to the others") {
  CopyOptions options = small_task();
  options.norm = 0.3;
  options.beta = 7.0;
  const Dataset data = make_copy(options, 3);
  CHECK(data.heads == std::vector<int>{1});
  const MatrixXd& w = data.layers.at(0).weights.at(0);
  const RowMatrixXd x = inputs_of(*data.train.examples, 0, 20);
  for (Index i = 0; i < 20; ++i) {
    const RowMatrixXd tokens = x.middleRows(5 * i, 5);
    const MatrixXd logits = tokens * w * tokens.transpose();
    for (Index s = 0; s < 5; ++s) {
      for (Index t = 0; t < 5; ++t) {
        const double expected = place(tokens.row(s).tail(5).transpose()) == t ? 7.0 : 0.0;
        CHECK(std::abs(logits(s, t) - expected) < 1e-12);
      }
    }
  }
}

TEST_CASE("Copy examples have streams of their own") {
  const Dataset data = make_copy(small_task(), 3);
  const headway::ExampleSource& train = *data.train.examples;
  CHECK(inputs_of(train, 7, 1) == RowMatrixXd(inputs_of(train, 0, 20).middleRows(35, 5)));
  CHECK(inputs_of(train, 0, 15) != inputs_of(*data.test->examples, 0, 15));
  CopyOptions longer = small_task();
  longer.train_examples = 40;
  const Dataset more = make_copy(longer, 3);
  CHECK(inputs_of(*more.train.examples, 0, 20) == inputs_of(train, 0, 20));
  CHECK(more.train.labels.topRows(20) == data.train.labels);
  CHECK(more.content_hash != data.content_hash);
  CHECK(inputs_of(*make_copy(small_task(), 4).train.examples, 0, 20) != inputs_of(train, 0, 20));
  longer.test_examples = 0;
  CHECK_FALSE(make_copy(longer, 3).test);
}

TEST_CASE("Values are fair coins, and pointers are spread evenly") {
  CopyOptions options = small_task();
  options.train_examples = 20'000;
  const Dataset data = make_copy(options, 3);
  const RowMatrixXd x = inputs_of(*data.train.examples, 0, 20'000);
  const double scale = std::sqrt(11.0 / 3.0);
  // Standard errors of the means of n coins; z = 5.5.
  CHECK(std::abs(x.col(0).mean() / scale) < 5.5 / std::sqrt(100'000.0));
  CHECK(std::abs(data.train.labels.mean()) < 5.5 / std::sqrt(20'000.0));
  for (Index k = 0; k < 5; ++k) {
    CHECK(std::abs(x.col(6 + k).mean() / scale - 0.2) < 5.5 * std::sqrt(0.16 / 100'000.0));
  }
}

TEST_CASE("Copy options out of range are refused by name") {
  const auto refused = [](auto change, const std::string& word) {
    CopyOptions options = small_task();
    change(options);
    try {
      static_cast<void>(make_copy(options, 1));
      FAIL("not refused: " << word);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      CHECK(std::string(error.what()).find(word) != std::string::npos);
    }
  };
  refused([](CopyOptions& o) { o.tokens = 1; }, "task.tokens = 1: must be an integer from 2 to");
  refused([](CopyOptions& o) { o.train_examples = 0; }, "task.train_examples = 0");
  refused([](CopyOptions& o) { o.test_examples = -1; }, "task.test_examples = -1");
  refused([](CopyOptions& o) { o.norm = 0.0; }, "task.norm = 0");
  refused([](CopyOptions& o) { o.beta = -1.0; }, "task.beta = -1");
  refused([](CopyOptions& o) { o.norm = std::numeric_limits<double>::quiet_NaN(); }, "task.norm");
}
