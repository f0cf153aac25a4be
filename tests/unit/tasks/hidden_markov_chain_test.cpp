#include "headway/tasks/hidden_markov_chain.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using headway::Error;
using headway::ErrorKind;
using headway::Index;
using headway::MatrixXd;
using headway::RowMatrixXd;
using headway::VectorXd;
using namespace headway::tasks;

namespace {

HeadOptions head(HeadKind kind, double beta = 10.0, int shift = -1, double perturbation = 0.0) {
  HeadOptions options;
  options.kind = kind;
  options.beta = beta;
  options.shift = shift;
  options.perturbation = perturbation;
  return options;
}

HiddenMarkovChainOptions small_task() {
  HiddenMarkovChainOptions options;
  options.train_examples = 5;
  options.test_examples = 4;
  options.tokens = 6;
  options.features = 10;
  options.layers = {{head(HeadKind::kSameToken), head(HeadKind::kRandom)},
                    {head(HeadKind::kUniform)}};
  return options;
}

// The W of one head of a task with 4 tokens and 8 features.
MatrixXd weights(const HeadOptions& options, std::uint64_t seed = 1) {
  HiddenMarkovChainOptions task;
  task.tokens = 4;
  task.features = 8;
  task.layers = {{options}};
  return make_hidden_markov_chain(task, seed).layers[0].weights[0];
}

RowMatrixXd all_inputs(const headway::ExampleSource& source) {
  RowMatrixXd inputs(source.size() * source.tokens(), source.features());
  source.read_inputs(0, source.size(), inputs.data());
  return inputs;
}

}  // namespace

TEST_CASE("The same-token head is the paper's matrix") {
  // Features: beta q q^T with q = +-sqrt(2) / 8. Positions [query, key]: beta where key = query - 1
  // >= 1, 1.5 beta for the beginning-of-sequence key from every later query.
  const MatrixXd w = weights(head(HeadKind::kSameToken));
  REQUIRE(w.rows() == 13);
  REQUIRE(w.cols() == 13);
  VectorXd q = VectorXd::Constant(8, std::sqrt(2.0) / 8.0);
  q.tail(4) *= -1.0;
  CHECK((w.topLeftCorner(8, 8) - 10.0 * q * q.transpose())
            .cwiseAbs()
            .maxCoeff<Eigen::PropagateNaN>() < 1e-15);
  MatrixXd positions(5, 5);
  positions << 0, 0, 0, 0, 0,  //
      15, 0, 0, 0, 0,          //
      15, 10, 0, 0, 0,         //
      15, 0, 10, 0, 0,         //
      15, 0, 0, 10, 0;
  CHECK(w.bottomRightCorner(5, 5) == positions);
  CHECK(w.topRightCorner(8, 5).isZero(0.0));
  CHECK(w.bottomLeftCorner(5, 8).isZero(0.0));
}

TEST_CASE("The different-token head changes the sign of the features alone") {
  MatrixXd w = weights(head(HeadKind::kDifferentToken));
  w.topLeftCorner(8, 8) *= -1.0;
  CHECK(w == weights(head(HeadKind::kSameToken)));
}

TEST_CASE("The shift moves the positional diagonal and nothing else") {
  MatrixXd positions(5, 5);
  positions << 0, 0, 0, 0, 0,  //
      15, 0, 0, 10, 0,         //
      15, 0, 0, 0, 10,         //
      15, 0, 0, 0, 0,          //
      15, 0, 0, 0, 0;
  const MatrixXd shifted = weights(head(HeadKind::kSameToken, 10.0, 2));
  CHECK(shifted.bottomRightCorner(5, 5) == positions);
  CHECK(shifted.topLeftCorner(8, 8) == weights(head(HeadKind::kSameToken)).topLeftCorner(8, 8));
  const MatrixXd outside = weights(head(HeadKind::kSameToken, 10.0, -4));
  CHECK(outside.bottomRightCorner(5, 5).sum() == 4 * 15.0);
}

TEST_CASE("The uniform head is beta on positions; with beta 0 all logits are 0") {
  const MatrixXd w = weights(head(HeadKind::kUniform, 3.0));
  CHECK(w.bottomRightCorner(5, 5) == MatrixXd::Constant(5, 5, 3.0));
  CHECK(w.sum() == 75.0);
  CHECK(weights(head(HeadKind::kUniform, 0.0)).isZero(0.0));
  CHECK(weights(head(HeadKind::kRandom, 0.0)).isZero(0.0));
  CHECK(weights(head(HeadKind::kSameToken, 0.0, -1, 2.0)).isZero(0.0));
}

TEST_CASE("Random heads have the paper's scale in each block") {
  HiddenMarkovChainOptions task;  // 200 features, 31 positions
  task.layers = {{head(HeadKind::kRandom, 10.0)}};
  const MatrixXd w = make_hidden_markov_chain(task, 5).layers[0].weights[0];
  const auto check_block = [](const MatrixXd& block, double sd) {
    const auto n = static_cast<double>(block.size());
    // Standard errors of mean and variance of n normals; z = 5.5.
    CHECK(std::abs(block.mean()) < 5.5 * sd / std::sqrt(n));
    CHECK(std::abs(block.squaredNorm() / n / (sd * sd) - 1.0) < 5.5 * std::sqrt(2.0 / n));
  };
  check_block(w.topLeftCorner(200, 200), 10.0 / 200.0);
  check_block(w.bottomRightCorner(31, 31), 10.0);
  check_block(w.topRightCorner(200, 31), 10.0 / std::sqrt(200.0));
  check_block(w.bottomLeftCorner(31, 200), 10.0 / std::sqrt(200.0));
}

TEST_CASE("A perturbation adds the random head's matrix of the same stream") {
  const MatrixXd base = weights(head(HeadKind::kSameToken));
  const MatrixXd random = weights(head(HeadKind::kRandom));
  const MatrixXd perturbed = weights(head(HeadKind::kSameToken, 10.0, -1, 0.25));
  CHECK((perturbed - base - 0.25 * random).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
  // In a random head the perturbation is the strength of R, and 0 stands for 1. Beta multiplies
  // all.
  CHECK(weights(head(HeadKind::kRandom, 10.0, -1, 1.0)) == random);
  CHECK((weights(head(HeadKind::kRandom, 10.0, -1, 3.0)) - 3.0 * random)
            .cwiseAbs()
            .maxCoeff<Eigen::PropagateNaN>() < 1e-13);
  CHECK((weights(head(HeadKind::kSameToken, 5.0, -1, 0.25)) - 0.5 * perturbed)
            .cwiseAbs()
            .maxCoeff<Eigen::PropagateNaN>() < 1e-13);
}

TEST_CASE(
    "Random heads of different layers, heads and seeds differ; others do not depend on them") {
  HiddenMarkovChainOptions task = small_task();
  const auto random = head(HeadKind::kRandom);
  task.layers = {{random, random}, {random}};
  const Dataset data = make_hidden_markov_chain(task, 1);
  CHECK(data.layers[0].weights[0] != data.layers[0].weights[1]);
  CHECK(data.layers[0].weights[0] != data.layers[1].weights[0]);
  CHECK(data.layers[0].weights[0] != make_hidden_markov_chain(task, 2).layers[0].weights[0]);
  task.layers[0][0] = head(HeadKind::kUniform);
  const Dataset changed = make_hidden_markov_chain(task, 1);
  CHECK(data.layers[0].weights[1] == changed.layers[0].weights[1]);
  CHECK(data.layers[1].weights[0] == changed.layers[1].weights[0]);
  CHECK(all_inputs(*data.train.examples) == all_inputs(*changed.train.examples));
}

TEST_CASE("A data set has the shape, labels and names of its options") {
  const Dataset data = make_hidden_markov_chain(small_task(), 3);
  CHECK(data.form == headway::AttentionForm::kWeights);
  CHECK(data.heads == std::vector<int>{2, 1});
  CHECK(data.features == 17);
  CHECK(data.layers[0].names == std::vector<std::string>{"same token", "random"});
  REQUIRE(data.test.has_value());
  CHECK(data.train.labels == (VectorXd(5) << 1, 1, 1, -1, -1).finished());
  CHECK(data.test->labels == (VectorXd(4) << 1, 1, -1, -1).finished());
  CHECK(data.train.examples->tokens() == 7);
  CHECK(data.train.examples->features() == 17);
  CHECK_FALSE(data.train.examples->has_mask());

  const RowMatrixXd inputs = all_inputs(*data.train.examples);
  for (Index row = 0; row < inputs.rows(); ++row) {
    const Index position = row % 7;
    CHECK(inputs.row(row).tail(7) == VectorXd::Unit(7, position).transpose());
    CHECK(inputs.row(row).head(10).isZero(0.0) == (position == 0));
  }
  HiddenMarkovChainOptions without_test = small_task();
  without_test.test_examples = 0;
  without_test.layers[1][0].name = "mine";
  const Dataset train_only = make_hidden_markov_chain(without_test, 3);
  CHECK_FALSE(train_only.test.has_value());
  CHECK(train_only.layers[1].names[0] == "mine");
}

TEST_CASE("Each example has its own stream: any block reads the same") {
  HiddenMarkovChainOptions task = small_task();
  task.train_examples = 8;
  const Dataset data = make_hidden_markov_chain(task, 3);
  const RowMatrixXd inputs = all_inputs(*data.train.examples);
  RowMatrixXd middle(3 * 7, 17);
  data.train.examples->read_inputs(2, 3, middle.data());
  CHECK(middle == inputs.middleRows(14, 21));
  // The first half of a larger split starts with the same examples; other splits and seeds differ.
  task.train_examples = 40;
  const Dataset larger = make_hidden_markov_chain(task, 3);
  CHECK(all_inputs(*larger.train.examples).topRows(4 * 7) == inputs.topRows(4 * 7));
  CHECK(all_inputs(*data.test->examples).topRows(7) != inputs.topRows(7));
  const Dataset other = make_hidden_markov_chain(small_task(), 4);
  CHECK(all_inputs(*other.train.examples).topRows(7) != inputs.topRows(7));
}

TEST_CASE("Without noise the tokens are v_+ and v_- and follow the chain") {
  HiddenMarkovChainOptions task = small_task();
  task.noise = {0.0, 0.0, 0.0};
  task.stay_probability = {1.0, 0.0};  // class +1 never changes, class -1 always does
  const Dataset data = make_hidden_markov_chain(task, 6);
  const RowMatrixXd inputs = all_inputs(*data.train.examples);
  const double root2 = std::sqrt(2.0);
  for (Index example = 0; example < 5; ++example) {
    bool plus_before = false;
    for (Index t = 1; t <= 6; ++t) {
      const auto token = inputs.row(example * 7 + t);
      const bool plus = token(0) != 0.0;
      CHECK(token.head(5) == VectorXd::Constant(5, plus ? root2 : 0.0).transpose());
      CHECK(token.segment(5, 5) == VectorXd::Constant(5, plus ? 0.0 : root2).transpose());
      if (t > 1) CHECK((plus == plus_before) == (data.train.labels(example, 0) > 0.0));
      plus_before = plus;
    }
  }
}

TEST_CASE("Chain and noise have the probabilities and strengths asked for") {
  HiddenMarkovChainOptions task;
  task.train_examples = 400;
  task.stay_probability = {0.8, 0.4};
  task.noise = {0.5, 2.0, 3.0};
  task.features = 20;
  task.layers = {{head(HeadKind::kUniform)}};
  const Dataset data = make_hidden_markov_chain(task, 8);
  const RowMatrixXd inputs = all_inputs(*data.train.examples);
  const Index half = 10;
  const double root2 = std::sqrt(2.0);
  // Projections on the unit vectors along v_+ - v_- and v_+ + v_-; |v_+ -+ v_-| / sqrt(F) =
  // sqrt(2).
  double squares[3] = {0.0, 0.0, 0.0};
  double stays[2] = {0.0, 0.0};
  double first_plus = 0.0;
  for (Index example = 0; example < 400; ++example) {
    bool before = false;
    for (Index t = 1; t <= 30; ++t) {
      const VectorXd x = inputs.row(example * 31 + t).head(20).transpose();
      const double scale = 1.0 / std::sqrt(20.0);
      const double difference = scale * (x.head(half).sum() - x.tail(half).sum());
      const double sum = scale * x.sum();
      const bool plus = difference > 0.0;  // the centres are 6.3 sd away
      const double centre = std::sqrt(20.0) / root2;
      squares[0] += std::pow(difference - (plus ? centre : -centre), 2);
      squares[1] += std::pow(sum - centre, 2);
      squares[2] += x.squaredNorm() - difference * difference - sum * sum;
      if (t == 1) first_plus += plus ? 1.0 : 0.0;
      if (t > 1) stays[example < 200 ? 0 : 1] += plus == before ? 1.0 : 0.0;
      before = plus;
    }
  }
  const double tokens = 400.0 * 30.0;
  const auto check_variance = [](double square_sum, double sd, double n) {
    CHECK(std::abs(square_sum / n / (sd * sd) - 1.0) < 5.5 * std::sqrt(2.0 / n));
  };
  check_variance(squares[0], 0.5, tokens);
  check_variance(squares[1], 2.0, tokens);
  check_variance(squares[2], 3.0, tokens * 18.0);
  const double steps = 200.0 * 29.0;
  CHECK(std::abs(stays[0] / steps - 0.8) < 5.5 * std::sqrt(0.8 * 0.2 / steps));
  CHECK(std::abs(stays[1] / steps - 0.4) < 5.5 * std::sqrt(0.4 * 0.6 / steps));
  CHECK(std::abs(first_plus / 400.0 - 0.5) < 5.5 * std::sqrt(0.25 / 400.0));
}

TEST_CASE("The content hash names the parameters and the seed") {
  using Change = std::function<void(HiddenMarkovChainOptions*)>;
  const std::vector<Change> changes = {
      [](auto* o) { o->train_examples = 6; },
      [](auto* o) { o->test_examples = 5; },
      [](auto* o) { o->tokens = 7; },
      [](auto* o) { o->features = 12; },
      [](auto* o) { o->stay_probability[0] = 0.6; },
      [](auto* o) { o->stay_probability[1] = 0.6; },
      [](auto* o) { o->noise[0] = 2.0; },
      [](auto* o) { o->noise[1] = 2.0; },
      [](auto* o) { o->noise[2] = std::nextafter(1.0, 2.0); },
      [](auto* o) { o->layers[0][0].kind = HeadKind::kDifferentToken; },
      [](auto* o) { o->layers[0][0].shift = 1; },
      [](auto* o) { o->layers[0][0].beta = 11.0; },
      [](auto* o) { o->layers[0][0].perturbation = 0.5; },
      [](auto* o) { std::swap(o->layers[0], o->layers[1]); },
  };
  std::set<std::string> hashes = {make_hidden_markov_chain(small_task(), 1).content_hash,
                                  make_hidden_markov_chain(small_task(), 2).content_hash};
  for (const Change& change : changes) {
    HiddenMarkovChainOptions options = small_task();
    change(&options);
    hashes.insert(make_hidden_markov_chain(options, 1).content_hash);
  }
  CHECK(hashes.size() == changes.size() + 2);
  CHECK(hashes.begin()->size() == 64);
  HiddenMarkovChainOptions renamed = small_task();
  renamed.layers[0][0].name = "another name, the same data";
  CHECK(hashes.count(make_hidden_markov_chain(renamed, 1).content_hash) == 1);
}

TEST_CASE("Every bad option is an error that names it") {
  struct Fault {
    std::string field;
    std::function<void(HiddenMarkovChainOptions*)> change;
  };
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Fault> faults = {
      {"task.train_examples = 0", [](auto* o) { o->train_examples = 0; }},
      {"task.test_examples = -1", [](auto* o) { o->test_examples = -1; }},
      {"task.tokens = 0", [](auto* o) { o->tokens = 0; }},
      {"task.tokens = 1000000000", [](auto* o) { o->tokens = 1000000000; }},
      {"task.features = 0", [](auto* o) { o->features = 0; }},
      {"task.features = 7", [](auto* o) { o->features = 7; }},
      {"task.stay_probability[1] = 1.5", [](auto* o) { o->stay_probability[0] = 1.5; }},
      {"task.stay_probability[2] = nan", [nan](auto* o) { o->stay_probability[1] = nan; }},
      {"task.noise[3] = -1", [](auto* o) { o->noise[2] = -1.0; }},
      {"task.noise[1] = inf", [infinity](auto* o) { o->noise[0] = infinity; }},
      {"task.layers is missing", [](auto* o) { o->layers.clear(); }},
      {"task.layers[2].heads is empty", [](auto* o) { o->layers[1].clear(); }},
      {"task.layers[1].heads[2].beta = -1", [](auto* o) { o->layers[0][1].beta = -1.0; }},
      {"task.layers[1].heads[1].beta = nan", [nan](auto* o) { o->layers[0][0].beta = nan; }},
      {"task.layers[1].heads[1].shift = 7", [](auto* o) { o->layers[0][0].shift = 7; }},
      {"task.layers[2].heads[1].perturbation = -2",
       [](auto* o) { o->layers[1][0].perturbation = -2.0; }},
      {"task.features = 7: must be even: half of the features for each hidden state",
       [](auto* o) { o->features = 7; }},
      {"task.layers[1].heads[1].shift = -7: must be from -6 to 6, the number of tokens",
       [](auto* o) { o->layers[0][0].shift = -7; }},
      {"task.layers[1].heads[2].name = \"one\": must be different from the name of "
       "task.layers[1].heads[1]",
       [](auto* o) { o->layers[0][0].name = o->layers[0][1].name = "one"; }},
      {"task.layers[2].heads is empty: must have at least one head",
       [](auto* o) { o->layers[1].clear(); }},
      {"task.layers: 1000 head matrices of 10007 x 10007 numbers take 746.1 GiB: must be at most ",
       [](auto* o) {
         o->features = 10000;
         o->layers[0].resize(999);
       }},
  };
  for (const Fault& fault : faults) {
    HiddenMarkovChainOptions options = small_task();
    fault.change(&options);
    CAPTURE(fault.field);
    try {
      make_hidden_markov_chain(options, 1);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      CHECK(std::string(error.what()).find(fault.field) == 0);
    }
  }
}

TEST_CASE("Options at the ends of their ranges make a chain") {
  HiddenMarkovChainOptions options = small_task();
  options.train_examples = 1;
  options.test_examples = 1;
  options.tokens = 1;
  options.features = 2;
  options.layers[0][0].shift = 1;
  options.layers[0][1].shift = -1;
  options.layers[0][0].beta = 0.0;
  options.noise = {0.0, 0.0, 0.0};
  options.stay_probability = {0.0, 1.0};
  options.layers[1][0].name = options.layers[0][0].name = "one";  // of different layers
  const Dataset data = make_hidden_markov_chain(options, 1);
  CHECK(data.train.size() == 1);
  CHECK(data.train.examples->tokens() == 2);
  CHECK(data.train.examples->features() == 4);
}
