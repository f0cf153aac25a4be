#include "headway/analysis/decoding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "analysis/decoding_score.hpp"
#include "analysis/linear_decoder.hpp"
#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

using namespace headway;
using analysis::DecoderKind;
using analysis::DecoderMetric;
using analysis::DecodingData;
using analysis::DecodingOptions;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

constexpr int kClasses = 4;

/// Tasks of one class each, `each` examples of every task; codes are a class's own point, times
/// `signal`, plus noise. Tasks from `first` on.
DecodingData class_data(Index tasks, Index each, double signal, Index first) {
  DecodingData out;
  out.codes.resize(tasks * each, 5);
  out.classes.resize(1);
  Rng points(3, StreamPurpose::kTests, 0);
  MatrixXd centre(kClasses, 5);
  for (double& x : centre.reshaped()) x = points.normal();
  Rng rng(3, StreamPurpose::kTests, static_cast<std::uint64_t>(first) + 1);
  for (Index i = 0; i < tasks * each; ++i) {
    const Index task = first + i / each;
    const int label = static_cast<int>(task % kClasses);
    out.tasks.push_back(task);
    out.classes[0].push_back(label);
    for (Index j = 0; j < 5; ++j) out.codes(i, j) = signal * centre(label, j) + rng.normal();
  }
  return out;
}

DecodingOptions class_options() {
  DecodingOptions options;
  options.metric = DecoderMetric::kBalancedAccuracy;
  options.class_count = kClasses;
  options.seed = 9;
  return options;
}

std::string message_of(const DecodingData& train, const DecodingData& held_out,
                       const DecodingOptions& options) {
  try {
    analysis::decode(train, held_out, options);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    return error.what();
  }
  FAIL("no error");
  return "";
}

}  // namespace

TEST_CASE("scores of decoders agree with those computed by hand") {
  const std::vector<Index> tasks = {5, 5, 9, 9, 9, 7};
  CHECK(analysis::task_count(tasks) == 3);
  CHECK(analysis::task_numbers(tasks) == std::vector<Index>{0, 0, 2, 2, 2, 1});
  const std::vector<int> truth = {1, 0, 1, 1, 0, 0}, answer = {1, 1, 0, 1, 0, 0};
  // TP 2, FP 1, FN 1.
  const auto f1 = analysis::class_sums({answer}, {truth}, 2, DecoderMetric::kF1, tasks);
  CHECK_THAT(f1.score(), WithinRel(4.0 / 6.0, 1e-15));
  CHECK(f1.by_task.row(2) == Eigen::RowVector3d(1.0, 0.0, 1.0));
  const auto balanced =
      analysis::class_sums({answer}, {truth}, 3, DecoderMetric::kBalancedAccuracy, tasks);
  CHECK_THAT(balanced.score(), WithinRel(0.5 * (2.0 / 3.0 + 2.0 / 3.0), 1e-15));
  // A question without class 1 counts in no mean.
  const std::vector<int> none(6, 0);
  CHECK_THAT(
      analysis::class_sums({answer, none}, {truth, none}, 2, DecoderMetric::kF1, tasks).score(),
      WithinRel(4.0 / 6.0, 1e-15));

  const MatrixXd y{{1.0}, {2.0}, {6.0}}, p{{1.0}, {3.0}, {5.0}};
  const auto r2 = analysis::regression_sums(p, y, {0, 1, 2});
  CHECK_THAT(r2.score(), WithinRel(1.0 - 2.0 / 14.0, 1e-13));
}

TEST_CASE("chance is the best score of answers without the codes") {
  DecodingData data;
  data.tasks = {0, 0, 0, 0, 1, 1, 1, 1};
  data.classes = {{1, 0, 0, 0, 1, 0, 0, 0}};
  DecodingOptions options;
  // Always yes: precision 1/4, recall 1.
  CHECK_THAT(analysis::chance_of(data, data, options), WithinRel(0.4, 1e-15));
  data.classes = {{0, 3, 3, 2, 0, 3, 3, 2}};
  options.metric = DecoderMetric::kBalancedAccuracy;
  options.class_count = 5;
  CHECK(analysis::chance_of(data, data, options) == 1.0 / 3.0);
  // Class 0 is always at place 7, class 2 at place 1, and class 3 at either. So places give two of
  // three classes right. Nothing is known of a place that training does not have.
  data.places = {7, 7, 1, 1, 7, 7, 1, 1};
  CHECK_THAT(analysis::chance_of(data, data, options), WithinRel(2.0 / 3.0, 1e-15));
  DecodingData elsewhere = data;
  elsewhere.places.assign(8, 4);
  CHECK_THAT(analysis::chance_of(data, elsewhere, options), WithinRel(1.0 / 3.0, 1e-15));
}

TEST_CASE("no answer counts as a random guess") {
  const std::vector<int> truth = {1, 0, 0, 0}, none(4, analysis::kNoAnswer);
  const std::vector<Index> tasks = {0, 0, 1, 1};
  // p / (p + 1/2) with p = 1/4.
  CHECK_THAT(analysis::class_sums({none}, {truth}, 2, DecoderMetric::kF1, tasks).score(),
             WithinRel(1.0 / 3.0, 1e-15));
  CHECK_THAT(
      analysis::class_sums({none}, {truth}, 5, DecoderMetric::kBalancedAccuracy, tasks).score(),
      WithinRel(0.2, 1e-15));
}

TEST_CASE("the jackknife of a mean is its standard error over tasks") {
  // The recall of one class with one example a task is a mean of zeros and ones over tasks.
  const std::vector<int> truth(10, 0);
  const std::vector<int> answer = {0, 1, 0, 0, 1, 0, 0, 0, 1, 0};
  std::vector<Index> tasks(10);
  for (Index t = 0; t < 10; ++t) tasks[static_cast<std::size_t>(t)] = t;
  const auto sums =
      analysis::class_sums({answer}, {truth}, 2, DecoderMetric::kBalancedAccuracy, tasks);
  CHECK_THAT(sums.score(), WithinRel(0.7, 1e-15));
  CHECK_THAT(sums.jackknife_error(), WithinRel(std::sqrt(0.7 * 0.3 / 9.0), 1e-12));
  // The same examples twice in each task: no more information, the same error.
  std::vector<int> truth_twice, answer_twice;
  std::vector<Index> tasks_twice;
  for (std::size_t i = 0; i < 10; ++i) {
    for (int twice = 0; twice < 2; ++twice) {
      truth_twice.push_back(truth[i]);
      answer_twice.push_back(answer[i]);
      tasks_twice.push_back(tasks[i]);
    }
  }
  CHECK_THAT(analysis::class_sums({answer_twice}, {truth_twice}, 2,
                                  DecoderMetric::kBalancedAccuracy, tasks_twice)
                 .jackknife_error(),
             WithinRel(std::sqrt(0.7 * 0.3 / 9.0), 1e-12));
}

TEST_CASE("folds deal out whole tasks evenly") {
  std::vector<Index> tasks;
  for (Index i = 0; i < 230; ++i) tasks.push_back(i % 23);
  const std::vector<int> folds = analysis::task_folds(tasks, 5, 3);
  REQUIRE(folds.size() == 23);
  std::vector<int> size(5, 0);
  for (const int fold : folds) ++size[static_cast<std::size_t>(fold)];
  CHECK(std::multiset<int>(size.begin(), size.end()) == std::multiset<int>{4, 4, 5, 5, 5});
  CHECK(analysis::task_folds(tasks, 5, 3) == folds);
  CHECK(analysis::task_folds(tasks, 5, 4) != folds);
}

TEST_CASE("classes that codes show are decoded on tasks never seen") {
  const DecodingData train = class_data(24, 30, 2.0, 0), held_out = class_data(12, 30, 2.0, 100);
  const analysis::Decoding d = analysis::decode(train, held_out, class_options());
  CHECK(d.converged);
  CHECK(d.held_out > 0.85);
  CHECK(d.train > 0.85);
  CHECK(d.chance == 0.25);
  CHECK(d.standard_error > 0.0);
  CHECK(d.standard_error < 0.05);
  // Labels exchanged between tasks give chance.
  CHECK(std::abs(d.shuffled - 0.25) < 0.15);
  CHECK(d.held_out - d.shuffled > 4.0 * d.shuffled_deviation);
}

TEST_CASE("codes that say nothing give chance, however the labels are") {
  const DecodingData train = class_data(40, 20, 0.0, 0), held_out = class_data(40, 20, 0.0, 100);
  DecodingOptions options = class_options();
  options.shuffles = 0;
  const analysis::Decoding d = analysis::decode(train, held_out, options);
  CHECK(std::abs(d.held_out - d.chance) < 5.0 * d.standard_error);
  CHECK(std::isnan(d.shuffled));
}

TEST_CASE("codes that show only their place decode no better than the place itself") {
  // Each task has four classes, one at each place in rising order. So the place tells much.
  const auto data = [](Index tasks, Index first) {
    DecodingData out;
    out.codes = MatrixXd::Zero(tasks * 12, 4);
    out.classes.resize(1);
    Rng rng(6, StreamPurpose::kTests, static_cast<std::uint64_t>(first));
    for (Index t = 0; t < tasks; ++t) {
      std::vector<int> labels;
      for (int place = 0; place < 4; ++place)
        labels.push_back(static_cast<int>(rng.uniform_index(8)));
      std::sort(labels.begin(), labels.end());
      for (Index i = 0; i < 12; ++i) {
        const auto place = static_cast<int>(rng.uniform_index(4));
        out.tasks.push_back(first + t);
        out.places.push_back(place);
        out.classes[0].push_back(labels[static_cast<std::size_t>(place)]);
        out.codes(12 * t + i, place) = 1.0;
      }
    }
    return out;
  };
  DecodingOptions options = class_options();
  options.class_count = 8;
  const DecodingData train = data(150, 0), held_out = data(150, 1000);
  const analysis::Decoding d = analysis::decode(train, held_out, options);
  CHECK(d.chance > 0.25);
  CHECK(std::abs(d.held_out - d.chance) < 0.03);
  CHECK(std::abs(d.shuffled - d.chance) < 0.06);
  // Without the places it looks as if the codes had told the classes.
  DecodingData blind = train;
  blind.places.clear();
  const analysis::Decoding fooled = analysis::decode(blind, held_out, options);
  CHECK(fooled.chance == 0.125);
  CHECK(fooled.shuffled < 0.2);
}

TEST_CASE("random labels give F1 what saying yes half of the time gives") {
  const auto data = [](Index tasks, Index first, double signal) {
    DecodingData out;
    out.codes.resize(tasks * 10, 4);
    out.classes.resize(2);
    Rng rng(7, StreamPurpose::kTests, static_cast<std::uint64_t>(first));
    for (Index i = 0; i < tasks * 10; ++i) {
      out.tasks.push_back(first + i / 10);
      for (auto& question : out.classes) question.push_back(rng.uniform() < 0.2 ? 1 : 0);
      for (Index j = 0; j < 4; ++j) out.codes(i, j) = signal * rng.normal();
    }
    return out;
  };
  for (const double signal : {1.0, 0.0}) {  // codes that vary, and constant ones
    const analysis::Decoding d =
        analysis::decode(data(200, 0, signal), data(200, 1000, signal), DecodingOptions{});
    CHECK_THAT(d.chance, WithinAbs(2.0 * 0.2 / 1.2, 0.02));  // always yes
    CHECK_THAT(d.held_out, WithinAbs(0.2 / 0.7, 0.03));
    CHECK_THAT(d.shuffled, WithinAbs(0.2 / 0.7, 0.03));
  }
}

TEST_CASE("fits that do not converge are reported, but not those of penalties that lose") {
  const DecodingData train = class_data(24, 30, 1.0, 0), held_out = class_data(12, 30, 1.0, 100);
  DecodingOptions options = class_options();
  options.shuffles = 0;
  const double none = std::numeric_limits<double>::quiet_NaN();  // no fit with it can end
  options.penalties = {0.1, none};
  const analysis::Decoding d = analysis::decode(train, held_out, options);
  CHECK(d.penalty == 0.1);
  CHECK(d.converged);
  options.penalties = {none};
  CHECK_FALSE(analysis::decode(train, held_out, options).converged);
}

TEST_CASE("codes that tell tasks apart, but not labels, are not decoded") {
  // Every task has a point of its own, and each task draws its label. Within training tasks a
  // decoder of many dims can tell the task, and so the label. On other tasks it cannot.
  const auto data = [](Index tasks, Index first) {
    DecodingData out;
    out.codes.resize(tasks * 20, 30);
    out.classes.resize(1);
    Rng rng(4, StreamPurpose::kTests, static_cast<std::uint64_t>(first));
    for (Index t = 0; t < tasks; ++t) {
      VectorXd point(30);
      for (double& x : point) x = 3.0 * rng.normal();
      const auto label = static_cast<int>(rng.uniform_index(2));
      for (Index j = 0; j < 20; ++j) {
        out.tasks.push_back(first + t);
        out.classes[0].push_back(label);
        for (Index k = 0; k < 30; ++k) out.codes(20 * t + j, k) = point(k) + 0.1 * rng.normal();
      }
    }
    return out;
  };
  DecodingOptions options;
  options.metric = DecoderMetric::kBalancedAccuracy;
  options.shuffles = 0;
  const analysis::Decoding d = analysis::decode(data(30, 0), data(40, 100), options);
  CHECK(d.train > 0.8);
  CHECK(std::abs(d.held_out - 0.5) < 4.0 * d.standard_error + 0.05);
  CHECK(d.penalty >= 0.01);  // left-out tasks ask for a strong one, left-out examples would not
}

TEST_CASE(
    "ridge decoding finds a target that is linear in the codes, and nothing of a random one") {
  const auto data = [](Index first) {
    DecodingData out;
    out.codes.resize(400, 6);
    out.targets.resize(400, 2);
    Rng rng(5, StreamPurpose::kTests, static_cast<std::uint64_t>(first));
    for (double& x : out.codes.reshaped()) x = rng.normal();
    for (Index i = 0; i < 400; ++i) {
      out.tasks.push_back(first + i / 20);
      out.targets(i, 0) = 2.0 * out.codes(i, 1) - out.codes(i, 4) + 1.0;
      out.targets(i, 1) = rng.normal();
    }
    return out;
  };
  DecodingOptions options;
  options.kind = DecoderKind::kRidge;
  options.metric = DecoderMetric::kR2;
  const analysis::Decoding d = analysis::decode(data(0), data(100), options);
  CHECK(d.chance == 0.0);
  CHECK_THAT(d.held_out, WithinAbs(0.5, 0.03));  // the mean of 1 and 0
  CHECK(d.shuffled < 0.05);
}

TEST_CASE("one code far from those of training does not spoil ridge decoding") {
  const auto data = [](Index first, bool far) {
    DecodingData out;
    out.codes.resize(400, 1);
    out.targets.resize(400, 1);
    Rng rng(6, StreamPurpose::kTests, static_cast<std::uint64_t>(first));
    for (Index i = 0; i < 400; ++i) {
      out.tasks.push_back(first + i / 20);
      out.targets(i, 0) = rng.normal();
      out.codes(i, 0) = 1.0 + 1e-6 * (out.targets(i, 0) + 0.1 * rng.normal());
    }
    if (far) out.codes(7, 0) = -1.0;
    return out;
  };
  DecodingOptions options;
  options.kind = DecoderKind::kRidge;
  options.metric = DecoderMetric::kR2;
  options.shuffles = 2;
  const analysis::Decoding d = analysis::decode(data(0, false), data(100, true), options);
  CHECK(d.held_out > 0.8);  // of 400 examples one is wrong, by the range of the targets at most
  CHECK(d.shuffled > -1.0);
}

TEST_CASE("too few tasks, and labels that do not vary, are errors") {
  using Catch::Matchers::ContainsSubstring;
  const DecodingData train = class_data(24, 5, 1.0, 0), held_out = class_data(12, 5, 1.0, 100);
  CHECK_THAT(message_of(class_data(4, 30, 1.0, 0), held_out, class_options()),
             ContainsSubstring("4 training tasks: must be at least 5"));
  CHECK_THAT(message_of(train, class_data(1, 30, 1.0, 100), class_options()),
             ContainsSubstring("1 held-out tasks: must be at least 2"));
  DecodingData same = train;
  same.classes.emplace_back(train.tasks.size(), 3);
  DecodingData others = held_out;
  others.classes.emplace_back(held_out.tasks.size(), 3);
  CHECK(message_of(same, others, class_options()) ==
        "label 1 is the same in all 120 training examples: must vary; take more examples or "
        "tasks");
}

TEST_CASE("as many training tasks as folds and two held-out tasks are enough") {
  DecodingOptions options = class_options();
  options.class_count = kClasses;
  options.shuffles = 1;
  const analysis::Decoding d =
      analysis::decode(class_data(5, 8, 1.0, 0), class_data(2, 8, 1.0, 100), options);
  CHECK(std::isfinite(d.held_out));
  CHECK(std::isfinite(d.standard_error));
  CHECK(message_of(class_data(4, 8, 1.0, 0), class_data(2, 8, 1.0, 100), options) ==
        "4 training tasks: must be at least 5, one for each fold of cross-validation");
  CHECK(message_of(class_data(5, 8, 1.0, 0), class_data(1, 8, 1.0, 100), options) ==
        "1 held-out tasks: must be at least 2, to give an error bar");
}

TEST_CASE("the penalty is the one with the lowest loss on tasks left out, for either decoder") {
  // Cross-validation by the definition: each fit anew, each loss from its answers.
  const auto rows = [](const DecodingData& data, const std::vector<int>& folds, int fold,
                       bool left_out) {
    std::vector<Index> taken;
    const std::vector<Index> numbers = analysis::task_numbers(data.tasks);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if ((folds[static_cast<std::size_t>(numbers[i])] == fold) == left_out) {
        taken.push_back(static_cast<Index>(i));
      }
    }
    return taken;
  };
  for (const std::uint64_t seed : {1, 2, 3}) {
    DecodingData train = class_data(15, 6, 0.7, 0), held_out = class_data(4, 6, 0.7, 100);
    for (DecodingData* data : {&train, &held_out}) {  // a target that codes tell in part
      data->targets = data->codes.col(1) - 2.0 * data->codes.col(3);
      Rng noise(seed, StreamPurpose::kTests, static_cast<std::uint64_t>(data->codes.rows()));
      for (double& y : data->targets.reshaped()) y += 3.0 * noise.normal();
    }
    for (const DecoderKind kind : {DecoderKind::kLogistic, DecoderKind::kRidge}) {
      DecodingOptions options = class_options();
      options.kind = kind;
      if (kind == DecoderKind::kRidge) options.metric = DecoderMetric::kR2;
      options.folds = 4;
      options.shuffles = 0;
      options.seed = seed;
      const std::vector<int> folds = analysis::task_folds(train.tasks, 4, seed);
      const VectorXd weights = analysis::balanced_class_weights(train.classes[0], kClasses);
      const auto loss_of = [&](double penalty) {
        double loss = 0.0;
        for (int fold = 0; fold < 4; ++fold) {
          const std::vector<Index> kept = rows(train, folds, fold, false),
                                   out = rows(train, folds, fold, true);
          const MatrixXd seen = train.codes(kept, Eigen::all),
                         unseen = train.codes(out, Eigen::all);
          if (kind == DecoderKind::kRidge) {
            const auto fit = analysis::fit_ridge(seen, train.targets(kept, Eigen::all), penalty);
            loss += (fit.values(unseen) - train.targets(out, Eigen::all)).squaredNorm();
            continue;
          }
          std::vector<int> classes;
          for (const Index i : kept) {
            classes.push_back(train.classes[0][static_cast<std::size_t>(i)]);
          }
          const auto fit = analysis::fit_logistic(seen, classes, kClasses, penalty);
          const MatrixXd scores = fit.scores(unseen);
          for (std::size_t i = 0; i < out.size(); ++i) {
            const int own = train.classes[0][static_cast<std::size_t>(out[i])];
            const Eigen::RowVectorXd s = scores.row(static_cast<Index>(i));
            loss += weights(own) * (std::log(s.array().exp().sum()) - s(own));
          }
        }
        return loss;
      };
      const std::vector<double> all = {10.0, 1.0, 0.1, 1e-2, 1e-3};
      std::vector<double> losses;
      for (const double penalty : all) losses.push_back(loss_of(penalty));
      const auto best =
          static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
      CAPTURE(seed, static_cast<int>(kind), losses);
      REQUIRE(best > 0);  // neither end, so that every mistake shows
      REQUIRE(best < 4);
      options.penalties = all;
      CHECK(analysis::decode(train, held_out, options).penalty == all[best]);
      std::reverse(options.penalties.begin(), options.penalties.end());
      CHECK(analysis::decode(train, held_out, options).penalty == all[best]);
    }
  }
}

TEST_CASE("cosines of mean codes agree with those computed by hand") {
  const MatrixXd held_out{{1.0, 0.0}, {3.0, 0.0}, {0.0, 2.0}};
  const MatrixXd train{{2.0, 0.0}, {1.0, 1.0}};
  const auto s = analysis::code_similarity(train, {{0}, {1}}, held_out, {{0}, {0}, {1}}, 3);
  CHECK(s.mean.row(0) == Eigen::RowVector2d(2.0, 0.0));
  CHECK(s.cosine(0, 0) == 1.0);
  CHECK(s.cosine(0, 1) == 0.0);
  CHECK(std::isnan(s.cosine(2, 0)));                    // a label that does not occur
  CHECK_THAT(s.centred(0, 1), WithinRel(-1.0, 1e-15));  // of two labels about their middle
  const MatrixXd equal = MatrixXd::Constant(3, 2, 0.3);
  const auto same = analysis::code_similarity(equal, {{0}, {0}, {1}}, equal, {{0}, {0}, {1}}, 2);
  CHECK_THAT(same.cosine(0, 1), WithinRel(1.0, 1e-15));
  CHECK(std::isnan(same.centred(0, 1)));
  const double diagonal = 1.0 / std::sqrt(2.0);
  CHECK_THAT(s.same, WithinRel(0.5 * (1.0 + diagonal), 1e-15));
  CHECK_THAT(s.different, WithinRel(0.5 * (0.0 + diagonal), 1e-15));
}

TEST_CASE("codes that share a label are no pair of different labels") {
  const MatrixXd train = MatrixXd::Identity(3, 3);
  const MatrixXd held_out = (MatrixXd(2, 3) << 1.0, 0.0, 0.0, 3.0, 4.0, 0.0).finished();
  const auto s =
      analysis::code_similarity(train, {{0, 1}, {1, 2}, {0, 2}}, held_out, {{0, 1}, {2, 3}}, 4);
  // Labels 0 and 1 are those of two training codes and one held-out code each, 2 of two and one.
  CHECK_THAT(s.same, WithinRel((0.5 * 1.0 + 0.5 * 1.0 + 0.5 * 0.8) / 3.0, 1e-15));
  // Only the first training code and the second held-out one share nothing: (0, 1) with (2, 3).
  CHECK_THAT(s.different, WithinRel(0.6, 1e-15));
}
