// Heads of trained networks, ranked: removals against the training engine and fits that really
// leave examples out.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/rank.hpp"
#include "mask_slopes.hpp"
#include "training_tasks.hpp"

using namespace headway;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using training::NamedTensor;

namespace {

constexpr Index kExamples = 24;
constexpr double kPenalty = 2.0;
constexpr double kEngine = 2e-5;  // its arithmetic is in single precision

class Share final : public Observer {
 public:
  void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
    if (stage == "rank") told.emplace_back(done, total);
  }
  std::vector<std::pair<double, double>> told;
};

/// A pattern task that asks for two answers, of which the first is always the same. `unused` more
/// classes never occur.
class OneRealAnswer final : public training::TrainingTask {
 public:
  explicit OneRealAnswer(Index unused) : format_(pattern_.format()) { format_.outputs += unused; }
  const training::TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return pattern_.splits(); }
  Index size(std::string_view split) const override { return pattern_.size(split); }
  std::string_view selection_split() const override { return pattern_.selection_split(); }
  void batch(std::string_view split, Index first, Index count,
             training::TaskBatch& out) const override {
    pattern_.batch(split, first, count, out);
    for (std::size_t i = 0; i < out.classes.size(); i += 2) out.classes[i] = 0;
  }

 private:
  testing::PatternTask pattern_{5, 2};
  training::TaskFormat format_;
};

TaskMaker one_real_answer(Index unused) {
  return [unused](const Study&) {
    return TrainTask{std::make_unique<OneRealAnswer>(unused), "", {}, ""};
  };
}

/// A network of random weights, two layers of three heads; on fuzzy logic unless told.
struct Problem {
  explicit Problem(const std::string& variant, TaskMaker maker = &make_generated_task)
      : make(std::move(maker)) {
    network.study.task.set_kind(TaskKind::kFuzzyLogic);
    network.study.task.as<tasks::FuzzyLogicOptions>().sequence_length = 7;
    network.study.train.model = testing::small_model();
    network.study.train.model.attention = variant;
    network.study.train.run.device = training::Device::kCpu;
    network.study.threads = 2;
    network.label = network.variant = variant;
    task = make(network.study);
    network.parameters = testing::shaken_parameters(network.study.train.model, task.task->format());
    study = network.study;
    study.rank.examples = kExamples;
    study.rank.penalty = kPenalty;
  }
  [[nodiscard]] HeadRanking rank() const {
    Share share;
    const RankResult result = rank_networks(study, {&network, 1}, make, share);
    CHECK(result.threads == study.threads);
    REQUIRE(share.told.size() == 6);  // heads
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(share.told[i] == std::pair(static_cast<double>(i + 1), 6.0));
    }
    return result.runs.at(0);
  }
  [[nodiscard]] training::TaskBatch examples() const {
    training::TaskBatch out;
    task.task->batch(task.task->selection_split(), 0, kExamples, out);
    return out;
  }

  TaskMaker make;
  TrainedNetwork network;
  TrainTask task;
  Study study;
};

NamedTensor& named(std::vector<NamedTensor>* tensors, const std::string& name) {
  return *std::find_if(tensors->begin(), tensors->end(),
                       [&](const NamedTensor& t) { return t.name == name; });
}

/// What the last linear layer reads, by the engine: its outputs with each unit vector as weights.
MatrixXd engine_embeddings(const Problem& p, std::vector<NamedTensor> parameters) {
  const Index features = p.network.study.train.model.model_dim;
  const Index outputs = p.task.task->format().outputs, scored = p.task.task->format().scored;
  MatrixXd out(kExamples, features);
  auto ready = ready_network(p.network, p.network.study, p.make);
  for (Index d = 0; d < features; ++d) {
    NamedTensor& weights = named(&parameters, "logits.weight");
    std::fill(weights.values.begin(), weights.values.end(), 0.0F);
    weights.values[static_cast<std::size_t>(d)] = 1.0F;
    std::fill_n(named(&parameters, "logits.bias").values.begin(), outputs, 0.0F);
    ready.trainer->set_parameters(parameters);
    const std::vector<float> answers =
        ready.trainer->outputs(p.task.task->selection_split(), 0, kExamples);
    for (Index i = 0; i < kExamples; ++i) {
      out(i, d) = answers.at(static_cast<std::size_t>(((i + 1) * scored - 1) * outputs));
    }
  }
  return out;
}

/// Head 2 of layer 2 at zero, tensor by tensor.
std::vector<NamedTensor> without_by_hand(const Problem& p) {
  std::vector<NamedTensor> out = p.network.parameters;
  NamedTensor& output = named(&out, "layers.2.output.weight");
  for (std::size_t row = 0; row < 12; ++row) {
    std::fill_n(output.values.begin() + static_cast<std::ptrdiff_t>(row * 9 + 3), 3, 0.0F);
  }
  if (p.network.variant != "hyla") return out;
  for (const char* name : {"layers.2.value.weight", "layers.2.value.bias"}) {
    std::vector<float>& values = named(&out, name).values;
    const auto third = static_cast<std::ptrdiff_t>(values.size() / 3);
    std::fill_n(values.begin() + third, third, 0.0F);
  }
  return out;
}

struct Scales {
  explicit Scales(const MatrixXd& x)
      : mean(x.colwise().mean()),
        scale((x.rowwise() - mean).array().square().colwise().mean().sqrt()) {}
  [[nodiscard]] MatrixXd of(const MatrixXd& x) const {
    return (x.rowwise() - mean).array().rowwise() / scale;
  }
  Eigen::RowVectorXd mean;
  Eigen::Array<double, 1, Eigen::Dynamic> scale;
};

/// Squared error on example i of `at`, by a ridge regression on all other examples of `x`; both
/// in the scales of `x`.
double error_left_out(const MatrixXd& x, const MatrixXd& y, const MatrixXd& at, Index i) {
  std::vector<Index> kept;
  for (Index k = 0; k < x.rows(); ++k) {
    if (k != i) kept.push_back(k);
  }
  const Scales scales(x);
  const MatrixXd a = scales.of(x)(kept, Eigen::all), b = y(kept, Eigen::all);
  const Eigen::RowVectorXd of_a = a.colwise().mean(), of_b = b.colwise().mean();
  const MatrixXd centred = a.rowwise() - of_a;
  const MatrixXd weights =
      (centred.transpose() * centred + kPenalty * MatrixXd::Identity(a.cols(), a.cols()))
          .ldlt()
          .solve(centred.transpose() * (b.rowwise() - of_b));
  const Eigen::RowVectorXd answer = (scales.of(at).row(i) - of_a) * weights + of_b;
  return (y.row(i) - answer).squaredNorm() / static_cast<double>(y.cols());
}

struct Rises {
  double whole = 0.0, fixed = 0.0, refitted = 0.0;
};

Rises rises_by_hand(const Problem& p, const std::vector<NamedTensor>& pruned) {
  const training::TaskBatch batch = p.examples();
  const Index outputs = p.task.task->format().outputs, scored = p.task.task->format().scored;
  MatrixXd y = MatrixXd::Zero(kExamples, outputs);
  for (Index i = 0; i < kExamples; ++i) {
    const auto last = static_cast<std::size_t>((i + 1) * scored - 1);
    if (!batch.classes.empty()) y(i, batch.classes.at(last)) = 1.0;
    for (Index o = 0; o < outputs && batch.classes.empty(); ++o) {
      y(i, o) =
          batch.targets.at(last * static_cast<std::size_t>(outputs) + static_cast<std::size_t>(o));
    }
  }
  const MatrixXd x = engine_embeddings(p, p.network.parameters), z = engine_embeddings(p, pruned);
  Rises out;
  for (Index i = 0; i < kExamples; ++i) {
    const double before = error_left_out(x, y, x, i);
    out.whole += before / kExamples;
    out.fixed += (error_left_out(x, y, z, i) - before) / kExamples;
    out.refitted += (error_left_out(z, y, z, i) - before) / kExamples;
  }
  return out;
}

const RankColumn& column_of(const HeadRanking& ranking, const std::string& name) {
  const auto at = std::find_if(ranking.columns.begin(), ranking.columns.end(),
                               [&](const RankColumn& one) { return one.name == name; });
  REQUIRE(at != ranking.columns.end());
  return *at;
}

double value_of(const HeadRanking& ranking, const std::string& column, std::size_t head) {
  return column_of(ranking, column).value.at(head);
}

}  // namespace

TEST_CASE("removals are those of a network whose head was taken out by hand", "[torch]") {
  constexpr std::size_t kRow = 4;  // head 2 of layer 2
  for (const std::string variant : {"softmax", "hyla"}) {
    INFO(variant);
    const Problem p(variant);
    const HeadRanking ranking = p.rank();
    REQUIRE(ranking.names.size() == 6);
    CHECK(ranking.names ==
          std::vector<std::string>{"L1H1", "L1H2", "L1H3", "L2H1", "L2H2", "L2H3"});
    CHECK(ranking.layers == std::vector<int>{1, 1, 1, 2, 2, 2});
    CHECK(ranking.heads == std::vector<int>{1, 2, 3, 1, 2, 3});
    CHECK(ranking.split == "validation");
    const Rises at_zero = rises_by_hand(p, without_by_hand(p));
    CHECK_THAT(ranking.loss, WithinAbs(at_zero.whole, kEngine));
    CHECK_THAT(value_of(ranking, "removal_zero_fixed", kRow), WithinAbs(at_zero.fixed, kEngine));
    CHECK_THAT(value_of(ranking, "removal_zero_refitted", kRow),
               WithinAbs(at_zero.refitted, kEngine));
    CHECK(std::abs(at_zero.fixed) > 10.0 * kEngine);
    CHECK(std::abs(at_zero.fixed - value_of(ranking, "removal_zero_fixed", kRow - 1)) >
          10.0 * kEngine);
    // The mean is that over the ranked examples.
    const training::MeanHeads means(p.network.study.train.model, p.task.task->format(),
                                    p.network.parameters, p.examples(), 1, Observer{});
    const Rises at_mean = rises_by_hand(p, means.without({static_cast<int>(kRow)}));
    CHECK_THAT(value_of(ranking, "removal_mean_fixed", kRow), WithinAbs(at_mean.fixed, kEngine));
    CHECK_THAT(value_of(ranking, "removal_mean_refitted", kRow),
               WithinAbs(at_mean.refitted, kEngine));
  }
}

TEST_CASE("of several answers heads are ranked by the last, which the embedding is of", "[torch]") {
  constexpr std::size_t kRow = 4;  // head 2 of layer 2
  const Problem p("softmax", one_real_answer(0));
  const HeadRanking ranking = p.rank();
  const Rises wanted = rises_by_hand(p, without_by_hand(p));
  CHECK_THAT(ranking.loss, WithinAbs(wanted.whole, kEngine));
  CHECK_THAT(value_of(ranking, "removal_zero_fixed", kRow), WithinAbs(wanted.fixed, kEngine));
  CHECK(std::abs(wanted.fixed) > 10.0 * kEngine);
}

TEST_CASE("classes that no example has change no loss and no cost of a head", "[torch]") {
  constexpr Index kUnused = 5;
  const Problem plain("softmax", one_real_answer(0));
  Problem more("softmax", one_real_answer(kUnused));
  more.network.parameters = plain.network.parameters;
  for (const char* name : {"logits.weight", "logits.bias"}) {
    NamedTensor& tensor = named(&more.network.parameters, name);
    const std::size_t row = tensor.values.size() / static_cast<std::size_t>(tensor.shape.front());
    tensor.shape.front() += kUnused;
    tensor.values.resize(tensor.values.size() + row * kUnused, 0.0F);
  }
  const HeadRanking without = plain.rank(), with = more.rank();
  CHECK_THAT(with.loss, WithinAbs(without.loss, 1e-14));
  CHECK(with.accuracy == without.accuracy);
  CHECK(with.estimate == without.estimate);
  for (const RankColumn& column : without.columns) {
    if (column.name == "gradient") continue;  // is of the network's own loss, which has all logits
    INFO(column.name);
    CHECK(column_of(with, column.name).value == column.value);
    CHECK(column_of(with, column.name).error == column.error);
  }
}

TEST_CASE("a head's gradient is the mean size of the slopes of its mask", "[torch]") {
  const Problem p("softmax");
  const RankColumn gradient = column_of(p.rank(), "gradient");
  REQUIRE(gradient.value.size() == 6);
  testing::check_mean_slopes(gradient.value, p.network, p.make, "validation", kExamples);
}

TEST_CASE("networks whose heads cannot be ranked are refused", "[torch]") {
  Problem deaf("softmax");  // without any of its heads
  for (const char* name : {"layers.1.output.weight", "layers.2.output.weight"}) {
    std::vector<float>& values = named(&deaf.network.parameters, name).values;
    std::fill(values.begin(), values.end(), 0.0F);
  }
  CHECK_THROWS_WITH(deaf.rank(),
                    ContainsSubstring("so they have no order; were they removed already?"));
  Problem many("softmax");
  many.study.rank.cheapest = 7;
  CHECK_THROWS_WITH(many.rank(), ContainsSubstring("rank.cheapest = 7: must be at most 6"));
  Problem encoder("softmax");
  encoder.network.study.train.model.encoder_layers = 1;
  CHECK_THROWS_WITH(encoder.rank(), ContainsSubstring("train.encoder_layers = 1: must be 0"));
  Problem linear("softmax");
  linear.network.study.train.model.network = training::NetworkKind::kLinearValue;
  CHECK_THROWS_WITH(linear.rank(),
                    "train.network = \"linear_value\": must be \"transformer\": prune-network "
                    "removes the heads of these networks");
}

TEST_CASE("a network whose heads have no mean is named by its run", "[torch]") {
  Problem dead("softmax");
  dead.network.run = 3;
  dead.network.study.seed = 41;
  std::vector<float>& values = named(&dead.network.parameters, "layers.1.output.weight").values;
  std::fill(values.begin(), values.end(), 3e38F);  // the mean of a head overflows
  CHECK_THROWS_WITH(dead.rank(), ContainsSubstring("run 3 (softmax, seed 41): weights: "));
}
