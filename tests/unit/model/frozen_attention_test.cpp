// Learned attention beside heads whose attention is given, and what it does where the attention of
// all examples is too large to keep.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/model/learned_attention.hpp"
#include "learned_problems.hpp"
#include "reference_path_features.hpp"

using namespace headway;
using Catch::Matchers::WithinAbs;
using model::AttentionPriorForm;
using model::LearnedAttention;
using model::LearnedKind;
using testing::learned_data;
using testing::learned_problems;
using testing::LearnedData;
using testing::LearnedProblem;

namespace {

VectorXd random_weights(Index size, std::uint64_t stream = 1) {
  Rng rng(82, StreamPurpose::kTests, stream);
  VectorXd z(size);
  rng.fill_normal({z.data(), static_cast<std::size_t>(size)});
  return z;
}

MatrixXd features_at(const LearnedAttention& attention, const VectorXd& z) {
  LearnedAttention::Workspace workspace;
  MatrixXd x;
  REQUIRE(attention.path_features(z, 1.0, workspace, x));
  return x;
}

struct Example {
  RowMatrixXd inputs;
  std::vector<std::uint8_t> mask;
};

std::vector<Example> examples_of(const ExampleSource& source) {
  std::vector<Example> all;
  for (Index i = 0; i < source.size(); ++i) {
    Example one{RowMatrixXd(source.tokens(), source.features()),
                std::vector<std::uint8_t>(static_cast<std::size_t>(source.tokens()), 1)};
    source.read_inputs(i, 1, one.inputs.data());
    if (source.has_mask()) source.read_mask(i, 1, one.mask.data());
    all.push_back(std::move(one));
  }
  return all;
}

/// The attention of given layers on every example, [P, H, S, S], as a data set may supply it.
std::vector<Tensor> supplied_by(const ExampleSource& source, const std::vector<LayerHeads>& given) {
  const Index s = source.tokens();
  std::vector<Tensor> all;
  for (const LayerHeads& layer : given) {
    const auto heads = static_cast<Index>(layer.weights.size());
    Tensor tensor({source.size(), heads, s, s});
    double* at = tensor.values.data();
    for (const Example& one : examples_of(source)) {
      for (const MatrixXd& omega : reference::softmax_attention(one.inputs, layer, one.mask)) {
        Eigen::Map<RowMatrixXd>(at, s, s) = omega;
        at += s * s;
      }
    }
    all.push_back(std::move(tensor));
  }
  return all;
}

/// Heads [2, 2], one frozen in each layer, with padded tokens.
LearnedProblem frozen_problem(Readout readout) {
  LearnedProblem problem = learned_problems()[6];
  REQUIRE(problem.prior.frozen.size() == 2);
  problem.readout = readout;
  return problem;
}

/// The same examples, which supply the attention of all heads.
std::shared_ptr<tasks::MemoryExamples> supplying(const LearnedData& data,
                                                 std::vector<Tensor> attention) {
  Tensor inputs({data.examples->size(), data.examples->tokens(), data.examples->features()});
  data.examples->read_inputs(0, data.examples->size(), inputs.values.data());
  std::vector<std::uint8_t> mask(
      static_cast<std::size_t>(data.examples->size() * data.examples->tokens()));
  data.examples->read_mask(0, data.examples->size(), mask.data());
  return std::make_shared<tasks::MemoryExamples>(std::move(inputs), std::move(mask),
                                                 std::move(attention));
}

template <class Work>
std::string fault(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("frozen heads attend as the examples supply it, wherever the readout looks") {
  for (const Readout readout : {Readout::kLastToken, Readout::kFirstToken, Readout::kMean}) {
    const LearnedProblem problem = frozen_problem(readout);
    const LearnedData data = learned_data(problem);
    const auto examples = supplying(data, supplied_by(*data.examples, data.given));
    const LearnedAttention supplied(*examples, problem.prior, std::vector<LayerHeads>(2), readout);
    const VectorXd z = random_weights(data.attention->dimension());
    REQUIRE(supplied.dimension() == z.size());
    CHECK((features_at(supplied, z) - features_at(*data.attention, z))
              .cwiseAbs()
              .maxCoeff<Eigen::PropagateNaN>() < 1e-13);
    LearnedAttention::Workspace one, other;
    MatrixXd x;
    REQUIRE(supplied.path_features(z, 1.0, one, x));
    REQUIRE(data.attention->path_features(z, 1.0, other, x));
    const MatrixXd slope = x.array().sin();
    VectorXd a = VectorXd::Zero(z.size()), b = VectorXd::Zero(z.size());
    supplied.pull_back(z, 1.0, slope, one, a);
    data.attention->pull_back(z, 1.0, slope, other, b);
    CHECK((a - b).norm() < 1e-12 * b.norm());
  }
}

TEST_CASE("supplied attention that no data may have is named by example and query") {
  const LearnedProblem problem = frozen_problem(Readout::kMean);
  const LearnedData data = learned_data(problem);
  const std::vector<Tensor> good = supplied_by(*data.examples, data.given);
  const std::vector<Example> all = examples_of(*data.examples);
  Index example = 0, padded = -1, real = -1;  // of an example with both
  for (; padded < 0 || real < 0; ++example) {
    padded = real = -1;
    for (Index t = 0; t < 4; ++t) {
      (all.at(static_cast<std::size_t>(example)).mask[static_cast<std::size_t>(t)] != 0 ? real
                                                                                        : padded) =
          t;
    }
  }
  --example;
  const auto refusal = [&](Index head, Index key, double value) {
    std::vector<Tensor> bad = good;
    bad[0].values[static_cast<std::size_t>(((example * 2 + head) * 4 + real) * 4 + key)] = value;
    const auto examples = supplying(data, bad);
    return fault([&] {
      LearnedAttention(*examples, problem.prior, std::vector<LayerHeads>(2), problem.readout);
    });
  };
  const std::string where = "attention of example " + std::to_string(example) +
                            " (from 0), query " + std::to_string(real) + " (from 0): ";
  CHECK(refusal(1, padded, 0.5) == where + "attends to a padded token, must have 0 there");
  CHECK(refusal(1, real, std::nan("")) == where + "must be finite numbers");
  CHECK(refusal(0, padded, 0.5) == "none");  // a learned head
}

TEST_CASE("frozen heads without attention, and inputs or logits that are no numbers, are refused") {
  const LearnedProblem problem = frozen_problem(Readout::kMean);
  const LearnedData data = learned_data(problem);
  CHECK(fault([&] {
          LearnedAttention(*data.examples, problem.prior, {data.given[0]}, problem.readout);
        }) == "model.attention_prior.frozen: the data set must give the attention of frozen heads");
  Tensor inputs({2, 2, 3});
  inputs.values[7] = std::numeric_limits<double>::infinity();
  const tasks::MemoryExamples lost(std::move(inputs));
  model::AttentionPrior prior;
  prior.heads = {1};
  CHECK(fault([&] { LearnedAttention(lost, prior, {}, Readout::kMean); }) ==
        "inputs: must be finite numbers");
  std::vector<LayerHeads> huge = data.given;
  huge[0].weights[1].setConstant(1e308);
  const LearnedAttention frozen(*data.examples, problem.prior, huge, problem.readout);
  LearnedAttention::Workspace workspace;
  MatrixXd x;
  CHECK(fault([&] {
          static_cast<void>(
              frozen.path_features(random_weights(frozen.dimension()), 1.0, workspace, x));
        }) == "attention of a frozen head: a logit is not finite");
  VectorXd infinite = random_weights(data.attention->dimension());
  infinite[3] = std::numeric_limits<double>::infinity();
  CHECK_FALSE(data.attention->path_features(infinite, 1.0, workspace, x));
}

TEST_CASE("attention that is too large to keep is computed again, to the same numbers") {
  // One matrix a learned and a frozen head and example: 68 MB, and 34 MB for half of the examples.
  constexpr Index kExamples = 260, kTokens = 128;
  static_assert(kExamples * kTokens * kTokens * 2 * 8 > LearnedAttention::kLargestKeptAttention);
  static_assert(130 * kTokens * kTokens * 2 * 8 <= LearnedAttention::kLargestKeptAttention);
  model::AttentionPrior prior;
  prior.heads = {2, 1};
  prior.variance = 3.0;
  prior.kind = LearnedKind::kLinear;
  prior.frozen = {{0, 1}};
  Rng rng(83, StreamPurpose::kTests);
  const Tensor inputs = testing::random_tensor({kExamples, kTokens, 1}, rng);
  const std::vector<LayerHeads> given = testing::random_weight_layers({2, 1}, 1, rng);
  const auto part = [&](Index begin, Index end) {
    Tensor some({end - begin, kTokens, 1});
    std::copy(inputs.values.begin() + begin * kTokens, inputs.values.begin() + end * kTokens,
              some.values.begin());
    return LearnedAttention(tasks::MemoryExamples(std::move(some)), prior, given,
                            Readout::kLastToken);
  };
  const VectorXd z = random_weights(2);
  struct Seen {
    MatrixXd x;
    VectorXd gradient = VectorXd::Zero(2);
    model::AttentionStatistics statistics{};
  };
  const auto see = [&](const LearnedAttention& attention) {
    Seen seen;
    LearnedAttention::Workspace workspace;
    REQUIRE(attention.path_features(z, 0.5, workspace, seen.x));
    attention.pull_back(z, 0.5, seen.x.array().cos(), workspace, seen.gradient);
    seen.statistics = attention.statistics(z, workspace);
    return seen;
  };
  const Seen whole = see(part(0, kExamples));
  const Seen first = see(part(0, 130)), second = see(part(130, kExamples));
  CHECK(whole.x.topRows(130) == first.x);
  CHECK(whole.x.bottomRows(130) == second.x);
  CHECK((whole.gradient - first.gradient - second.gradient).norm() < 1e-11 * whole.gradient.norm());
  CHECK_THAT(whole.statistics.largest,
             Catch::Matchers::WithinRel(
                 0.5 * (first.statistics.largest + second.statistics.largest), 1e-12));
  CHECK(std::isnan(whole.statistics.entropy));  // linear attention may be negative
}

TEST_CASE("entropy and largest weight are means over heads and over the tokens that are read") {
  const std::vector<LearnedProblem> problems = learned_problems();
  for (const std::size_t which : {0, 1, 4}) {  // the last token, all, all real ones
    const LearnedProblem& problem = problems[which];
    INFO(problem.name);
    const LearnedData data = learned_data(problem);
    const VectorXd z = random_weights(data.attention->dimension());
    const std::size_t top = problem.prior.heads.size() - 1;
    LayerHeads layer;
    for (int h = 0; h < problem.prior.heads[top]; ++h) {
      layer.weights.push_back(data.attention->coordinates().weights(z, top, h) / 3.0);
    }
    double entropy = 0.0, largest = 0.0, rows = 0.0;
    for (const Example& one : examples_of(*data.examples)) {
      const std::vector<MatrixXd> omega = reference::softmax_attention(one.inputs, layer, one.mask);
      for (Index q = problem.readout == Readout::kMean ? 0 : 3; q < 4; ++q) {
        if (one.mask[static_cast<std::size_t>(q)] == 0) continue;
        Eigen::RowVectorXd mean = Eigen::RowVectorXd::Zero(4);
        for (const MatrixXd& head : omega) {
          mean += head.row(q) / static_cast<double>(omega.size());
          for (const double a : head.row(q)) {
            if (a > 0.0) entropy -= a * std::log(a) / static_cast<double>(omega.size());
          }
        }
        largest += mean.maxCoeff();
        rows += 1.0;
      }
    }
    LearnedAttention::Workspace workspace;
    MatrixXd x;
    REQUIRE(data.attention->path_features(z, 1.0, workspace, x));
    const model::AttentionStatistics seen = data.attention->statistics(z, workspace);
    CHECK_THAT(seen.entropy, WithinAbs(entropy / rows, 1e-13));
    CHECK_THAT(seen.largest, WithinAbs(largest / rows, 1e-13));
  }
}
