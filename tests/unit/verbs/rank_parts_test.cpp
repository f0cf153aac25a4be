// The parts of a data set in the order of their worth: what a part brings is known here.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/rank.hpp"

using namespace headway;
using Catch::Matchers::WithinRel;

namespace {

constexpr Index kExamples = 40, kFeatures = 2;
constexpr int kParts = 3;

/// Three parts of two numbers; only the second has to do with the label.
tasks::Dataset second_matters(bool classes) {
  Rng rng(11, StreamPurpose::kTests);
  tasks::Dataset dataset;
  dataset.name = "data.h5";
  dataset.form = AttentionForm::kPathFeatures;
  dataset.heads = {kParts};
  dataset.features = kFeatures;
  dataset.train.path_features.resize(kExamples, kParts * kFeatures);
  for (Index i = 0; i < dataset.train.path_features.size(); ++i) {
    dataset.train.path_features.data()[i] = rng.normal();
  }
  dataset.train.labels.resize(kExamples, 1);
  for (Index i = 0; i < kExamples; ++i) {
    const double label = dataset.train.path_features(i, kFeatures) + 0.3 * rng.normal();
    dataset.train.labels(i, 0) = classes ? (label > 0.0 ? 1.0 : -1.0) : label;
  }
  return dataset;
}

Study small_study() {
  Study study;
  study.name = "parts";
  study.seed = 3;
  study.threads = 1;
  return study;
}

class Share final : public Observer {
 public:
  void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
    if (stage == "rank") told.emplace_back(done, total);
  }
  std::vector<std::pair<double, double>> told;
};

HeadRanking ranked(const tasks::Dataset& dataset, const Study& study = small_study()) {
  Share share;
  const RankResult result = rank_parts(study, dataset, share);
  CHECK(result.planned == 1);
  CHECK(result.threads == study.threads);
  REQUIRE(share.told.size() == kParts + 1);  // the parts, and what follows them
  for (std::size_t i = 0; i <= kParts; ++i) {
    CHECK(share.told[i] == std::pair(static_cast<double>(i + 1), kParts + 1.0));
  }
  REQUIRE(result.runs.size() == 1);
  return result.runs.front();
}

const RankColumn& column_of(const HeadRanking& ranking, const std::string& name) {
  const auto found = std::find_if(ranking.columns.begin(), ranking.columns.end(),
                                  [&](const RankColumn& column) { return column.name == name; });
  REQUIRE(found != ranking.columns.end());
  return *found;
}

std::string fault(const tasks::Dataset& dataset, ErrorKind kind = ErrorKind::kBadData) {
  Observer quiet;
  try {
    rank_parts(small_study(), dataset, quiet);
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "none";
}

class StopsAtOnce final : public Observer {
 public:
  [[nodiscard]] bool interrupted() const override { return true; }
};

}  // namespace

TEST_CASE("the part that the label comes from is the dearest, by every measure") {
  for (const bool classes : {false, true}) {
    const HeadRanking found = ranked(second_matters(classes));
    CHECK(found.label == "parts");
    CHECK(found.split == "train");
    CHECK(found.seed == 3);
    CHECK(found.target == "frozen_cut_fixed");
    CHECK(found.examples == kExamples);
    CHECK(found.names == std::vector<std::string>{"L1H1", "L1H2", "L1H3"});
    CHECK(found.layers == std::vector<int>{1, 1, 1});
    CHECK(found.heads == std::vector<int>{1, 2, 3});
    CHECK(found.ranks[1] > std::max(found.ranks[0], found.ranks[2]));
    std::vector<std::string> names;
    for (const RankColumn& column : found.columns) {
      names.push_back(column.name);
      REQUIRE(column.value.size() == kParts);
      CHECK(column.value[1] > std::max(column.value[0], column.value[2]));
    }
    CHECK(names == std::vector<std::string>{"frozen_cut_fixed", "expected_frozen_cut_fixed",
                                            "frozen_cut_refitted", "expected_frozen_cut_refitted",
                                            "cut_without_theory", "cut_of_theory"});
    for (std::size_t h = 0; h < kParts; ++h) {
      CHECK(found.low[h] <= found.estimate[h]);
      CHECK(found.estimate[h] <= found.high[h]);
      CHECK(found.error[h] > 0.0);
    }
    CHECK(std::abs(found.halves) <= 1.0);
    CHECK(found.halves_sd >= 0.0);
    CHECK(found.halves_sd < 1.0);
    CHECK(found.ceiling >= found.halves);
    CHECK(found.cheapest == 1);  // a quarter of three, at least one
    double chances = 0.0;
    for (const double chance : found.among_cheapest) chances += chance;
    CHECK_THAT(chances, WithinRel(1.0, 1e-9));
    CHECK(std::isnan(found.accuracy) != classes);
    if (classes) CHECK(found.accuracy > 0.7);
    CHECK(found.loss < 0.75);
  }
}

TEST_CASE("parts in another order have the same values in that order") {
  tasks::Dataset dataset = second_matters(false);
  dataset.layers.resize(1);
  dataset.layers.front().names = {"a", "b", "c"};
  tasks::Dataset turned = dataset;
  turned.layers.front().names = {"c", "a", "b"};
  turned.train.path_features.leftCols(kFeatures) = dataset.train.path_features.rightCols(kFeatures);
  turned.train.path_features.rightCols(2 * kFeatures) =
      dataset.train.path_features.leftCols(2 * kFeatures);
  const HeadRanking one = ranked(dataset), other = ranked(turned);
  CHECK(one.names == dataset.layers.front().names);
  CHECK(other.names == turned.layers.front().names);
  for (const std::string name :
       {"frozen_cut_fixed", "frozen_cut_refitted", "cut_without_theory", "cut_of_theory"}) {
    const std::vector<double>& a = column_of(one, name).value;
    const std::vector<double>& b = column_of(other, name).value;
    for (std::size_t h = 0; h < kParts; ++h) CHECK_THAT(b[(h + 1) % 3], WithinRel(a[h], 1e-5));
  }
}

TEST_CASE("of how many the cheapest are is an option, at most all parts") {
  Study study = small_study();
  study.rank.cheapest = 2;
  CHECK(ranked(second_matters(false), study).cheapest == 2);
  study.rank.cheapest = 4;
  Observer quiet;
  CHECK_THROWS_WITH(rank_parts(study, second_matters(false), quiet),
                    "rank.cheapest = 4: must be at most 3, the number of heads");
}

TEST_CASE("data that cannot be ranked are refused with their name and what is allowed") {
  const std::string name = "data.h5: ";
  tasks::Dataset data = second_matters(false);
  data.form = AttentionForm::kWeights;
  CHECK(fault(data) == name +
                           "holds no contributions: must be a data set of headway extract, or of "
                           "from_hugging_face and from_torch with form=\"contributions\"");
  data = second_matters(false);
  data.heads = {3, 1};
  CHECK(fault(data) ==
        name +
            "holds contributions of the layers [3, 1]: must be of one layer, so that "
            "each part is a path of its own");
  data = second_matters(false);
  data.train.labels.conservativeResize(7, 1);
  data.train.path_features.conservativeResize(7, kParts * kFeatures);
  CHECK(fault(data) == name + "labels: 7 examples: must be at least 8");
  data = second_matters(false);
  data.train.labels.setConstant(0.5);
  CHECK(fault(data) ==
        name +
            "labels: are the same for all 40 examples: must be at least two different "
            "labels");
  data.train.labels.setConstant(1.0);
  data.train.labels(39, 0) = -1.0;
  CHECK(fault(data) == name +
                           "labels: class 0 has 1 of 40 examples: must be at least 2 of each class "
                           "that there is");
  data.train.labels = -data.train.labels;
  CHECK(fault(data).starts_with(name + "labels: class 1 has 1 of 40 examples"));
  data.train.labels = MatrixXd::Zero(40, 50);
  for (Index i = 0; i < 40; ++i) data.train.labels(i, i % 20) = 1.0;
  CHECK(fault(data) ==
        name + "labels: 40 examples of 50 classes: must be at least as many examples as classes");
  data = second_matters(false);
  data.train.path_features.setOnes();
  CHECK(fault(data) ==
        name +
            "train: the contributions are the same on all examples: must be some that "
            "differ");
}

TEST_CASE("more examples than the memory holds kernels of are refused at once") {
  constexpr Index kMany = 100000, kClasses = 100;
  tasks::Dataset data = second_matters(false);
  data.train.path_features = RowMatrixXd::Ones(kMany, kParts * kFeatures);
  data.train.labels = MatrixXd::Zero(kMany, kClasses);
  for (Index i = 0; i < kMany; ++i) data.train.labels(i, i % kClasses) = 1.0;
  CHECK_THAT(fault(data),
             Catch::Matchers::StartsWith("data.h5: 100000 examples of 100 outputs: the theory's "
                                         "cuts need 2980232.2 GiB: must be at most "));
}

TEST_CASE("an interrupt ends a ranking of parts") {
  StopsAtOnce stops;
  const tasks::Dataset data = second_matters(false);
  try {
    rank_parts(small_study(), data, stops);
    FAIL("it went on");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kInterrupted);
  }
}
