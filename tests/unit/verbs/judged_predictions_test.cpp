// What predictors are judged on, and who hears of the progress of a point.
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "catch.hpp"
#include "headway/core/quiet_observer.hpp"
#include "random_examples.hpp"
#include "verbs/named_splits.hpp"
#include "verbs/networks/scored_labels.hpp"
#include "verbs/theory/point_observer.hpp"
#include "verbs/theory/point_observers.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::WithinAbs;

namespace {

/// Keeps what it is told.
class Recorder final : public Observer {
 public:
  using Call = std::tuple<std::string, double, double, double>;
  void progress(std::string_view stage, double done, double total) override {
    stages.emplace_back(stage, done, total, -1.0);
  }
  void whole(std::string_view stage, double done, double total, double earlier) override {
    wholes.emplace_back(stage, done, total, earlier);
  }
  void warning(std::string_view text) override { warnings.emplace_back(text); }
  void note(std::string_view text) override { notes.emplace_back(text); }
  [[nodiscard]] bool interrupted() const override { return stop; }
  std::vector<Call> stages, wholes;
  std::vector<std::string> warnings, notes;
  bool stop = false;
};

}  // namespace

TEST_CASE("a prediction is cut into the test set and the further sets, in their order") {
  Evaluation evaluation;
  evaluation.test_labels = MatrixXd{{1.0}, {-1.0}};
  evaluation.set_names = {"a", "b"};
  evaluation.set_labels = {MatrixXd{{1.0}}, MatrixXd{{-1.0}, {-1.0}, {1.0}}};
  CHECK(evaluation.examples() == 6);
  const theory::Prediction prediction = {MatrixXd{{0.5}, {0.25}, {2.0}, {-1.0}, {3.0}, {1.0}},
                                         MatrixXd{{0.1}, {0.2}, {0.3}, {0.4}, {0.5}, {0.6}}};
  const PredictorReport report = report_evaluation(evaluation, prediction);
  CHECK(report.mean == MatrixXd{{0.5}, {0.25}});
  CHECK(report.variance == MatrixXd{{0.1}, {0.2}});
  CHECK_THAT(report.accuracy, WithinAbs(0.5, 1e-15));
  CHECK_THAT(report.mean_squared_error, WithinAbs((0.25 + 1.5625) / 2.0, 1e-15));
  CHECK(std::isnan(report.train_accuracy));
  REQUIRE(report.sets.size() == 2);
  CHECK(report.sets[0].name == "a");
  CHECK(report.sets[0].accuracy == 1.0);
  CHECK_THAT(report.sets[0].mean_squared_error, WithinAbs(1.0, 1e-15));
  CHECK(report.sets[1].name == "b");
  CHECK_THAT(report.sets[1].accuracy, WithinAbs(2.0 / 3.0, 1e-15));
  CHECK_THAT(report.sets[1].mean_squared_error, WithinAbs(16.0 / 3.0, 1e-14));
  CHECK_THAT(test_statistics(evaluation, prediction.mean).accuracy, WithinAbs(0.5, 1e-15));
  evaluation.told = false;  // the means are rounding
  const PredictorReport untold = report_evaluation(evaluation, prediction);
  CHECK(untold.mean == MatrixXd::Zero(2, 1));
  CHECK_THAT(untold.mean_squared_error, WithinAbs(1.0, 1e-15));
  CHECK(untold.variance == report.variance);
  const PredictorReport none = report_evaluation(evaluation, {});
  CHECK(std::isnan(none.accuracy));
  CHECK(none.mean.rows() == 0);
  CHECK(none.sets.size() == 2);
  CHECK(std::isnan(none.sets[1].mean_squared_error));
}

TEST_CASE("an outline of a problem has labels and heads, and no features") {
  Rng rng(20, StreamPurpose::kTests);
  tasks::Dataset data = random_dataset({2, 1}, {6, 4, 3}, rng, 2);
  data.sets = {{"more", random_split({5, 4, 3}, rng, 2)}};
  const TheoryProblem outline = outline_problem(data);
  CHECK(outline.heads == data.heads);
  CHECK(outline.outputs == 2);
  CHECK(outline.train_labels == data.train.labels);
  CHECK(outline.evaluation.test_labels.rows() == 0);
  CHECK(outline.evaluation.test_labels.cols() == 2);
  CHECK(outline.evaluation.set_names == std::vector<std::string>{"more"});
  CHECK(outline.evaluation.set_labels.at(0) == data.sets[0].split.labels);
  CHECK(outline.kernels == nullptr);
  CHECK_FALSE(outline.network);
}

TEST_CASE("all splits of a data set are train, test and the further ones, if they are there") {
  Rng rng(21, StreamPurpose::kTests);
  tasks::Dataset data;
  CHECK(named_splits(data).empty());
  data.sets = {{"more", random_split({2, 4, 3}, rng)}};
  data.test = random_split({3, 4, 3}, rng);
  data.train = random_split({4, 4, 3}, rng);
  const std::vector<tasks::NamedSplit> splits = named_splits(data);
  REQUIRE(splits.size() == 3);
  const std::vector<std::string> names = {"train", "test", "more"};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(splits[i].name == names[i]);
    CHECK(splits[i].split.size() == 4 - static_cast<Index>(i));
  }
}

TEST_CASE("labels of a scored token are its targets, or one-hot") {
  training::TaskFormat format;
  format.scored = 2;
  format.outputs = 3;
  format.loss = training::LossKind::kSquaredError;
  training::TaskBatch batch;
  for (int i = 0; i < 12; ++i) batch.targets.push_back(static_cast<float>(i));
  Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(3);
  add_label(format, batch, 1, 0, row);
  CHECK(row == Eigen::RowVector3d(6.0, 7.0, 8.0));
  format.loss = training::LossKind::kCrossEntropy;
  batch.classes = {0, 1, 2, 0};
  row.setZero();
  add_label(format, batch, 1, 0, row);
  CHECK(row == Eigen::RowVector3d(0.0, 0.0, 1.0));
}

TEST_CASE("a point of a sweep has its number in its stages, and its transitions in the whole") {
  Recorder heard;
  PointObserver alone(heard, 1, 3);
  alone.progress("sampling", 2.0, 8.0);
  alone.note("a note");
  alone.warning("not told");
  CHECK(heard.stages == std::vector<Recorder::Call>{{"sampling, point 2 of 3", 2.0, 8.0, -1.0}});
  CHECK(heard.notes == std::vector<std::string>{"a note"});
  CHECK(heard.warnings.empty());
  CHECK_FALSE(alone.interrupted());
  heard.stop = true;
  CHECK(alone.interrupted());
  heard.stages.clear();
  SweepShare share{2.0, 5.0, 7.0};
  PointObserver one_of_five(heard, 2, 5, &share);
  one_of_five.progress("sampling", 3.0, 10.0);
  one_of_five.progress("solving", 1.0, 2.0);
  CHECK(heard.wholes == std::vector<Recorder::Call>{{"sampling", 23.0, 50.0, 7.0}});
  CHECK(heard.stages == std::vector<Recorder::Call>{{"solving, point 3 of 5", 1.0, 2.0, -1.0}});
  share.points = 1.0;  // the only one: its own stages say all
  one_of_five.progress("sampling", 3.0, 10.0);
  CHECK(heard.wholes.size() == 1);
  CHECK(std::get<0>(heard.stages.back()) == "sampling, point 3 of 5");
}

TEST_CASE("points solved side by side tell nothing, and a witness remembers a stop") {
  Recorder heard;
  QuietObserver quiet(heard);
  quiet.progress("a", 1.0, 2.0);
  quiet.warning("b");
  quiet.note("c");
  CHECK(heard.stages.empty());
  CHECK(heard.warnings.empty());
  CHECK(heard.notes.empty());
  CHECK_FALSE(quiet.interrupted());
  StopWitness witness(heard);
  witness.progress("a", 1.0, 2.0);
  witness.warning("b");
  witness.note("c");
  CHECK(heard.stages == std::vector<Recorder::Call>{{"a", 1.0, 2.0, -1.0}});
  CHECK(heard.warnings == std::vector<std::string>{"b"});
  CHECK(heard.notes == std::vector<std::string>{"c"});
  heard.stop = true;
  CHECK_FALSE(witness.told());  // nobody asked
  CHECK(quiet.interrupted());
  CHECK(witness.interrupted());
  heard.stop = false;
  CHECK(witness.told());
  CHECK(witness.interrupted());  // once told, always
  CHECK_FALSE(quiet.interrupted());
}
