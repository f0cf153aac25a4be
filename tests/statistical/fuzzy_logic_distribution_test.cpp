// Rejection rate of the splits, uniformity of tasks and inputs, independence of the splits'
// streams. |z| < 5.5 for each check, a chance of 4e-8 each. Each kind of check also notices a
// broken draw.
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "chi_squared.hpp"
#include "headway/core/rng.hpp"
#include "headway/tasks/fuzzy_logic.hpp"

using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using headway::testing::binomial_z;
using headway::testing::uniformity_z;
using namespace headway::tasks;

namespace {

constexpr double kZ = 5.5;
constexpr int kSplits = 20000;

double choose(int n, int k) {
  return n < k ? 0.0 : std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
}

// Probability that 20 of the 66 pairs of 12 terms leave some term out, by inclusion and exclusion.
double uncovered_probability() {
  double covered = 0.0;
  for (int j = 0; j <= 12; ++j) {
    const int pairs = (12 - j) * (11 - j) / 2;
    covered += (j % 2 == 0 ? 1.0 : -1.0) * choose(12, j) * choose(pairs, 20) / choose(66, 20);
  }
  return 1.0 - covered;
}

// Pearson correlation times the root of the number of pairs: standard normal when independent.
double correlation_z(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) ab += (a[i] - 0.5) * (b[i] - 0.5);
  return 12.0 * ab / std::sqrt(static_cast<double>(a.size()));  // variance 1/12
}

// The drawn inputs of the query tokens, whose y is 0.
std::vector<float> queries(const FuzzyLogicGenerator& generator, FuzzyLogicSplit split) {
  FuzzyLogicBatch batch;
  generator.batch(split, 0, 20000, batch);
  const auto variables = static_cast<std::size_t>(generator.options().variables);
  const auto length = static_cast<std::size_t>(generator.options().sequence_length);
  std::vector<float> values;
  for (std::size_t i = 0; i < batch.tasks.size(); ++i) {
    const std::size_t query = ((i + 1) * length - 1) * (variables + 1);
    for (std::size_t v = 0; v < variables; ++v) values.push_back(batch.inputs[query + v]);
  }
  return values;
}

}  // namespace

TEST_CASE("14.4 per cent of the random splits leave a term uncovered") {
  const double expected = uncovered_probability();
  CHECK(std::abs(expected - 0.144) < 0.0005);
  FuzzyLogicOptions options;
  double uncovered = 0.0;
  double redraws = 0.0;
  for (int seed = 0; seed < kSplits; ++seed) {
    options.seed = static_cast<std::uint64_t>(seed);
    options.reject_uncovered = false;
    uncovered += split_fuzzy_logic_tasks(options).uncovered_terms.empty() ? 0.0 : 1.0;
    options.reject_uncovered = true;
    redraws += split_fuzzy_logic_tasks(options).redraws;
  }
  CHECK(std::abs(binomial_z(uncovered, kSplits, expected)) < kZ);
  // Every attempt fails with the same probability: `redraws` of redraws + kSplits attempts did.
  CHECK(std::abs(binomial_z(redraws, redraws + kSplits, expected)) < kZ);
}

TEST_CASE("The rate above rejects splits that are not uniform") {
  // 20 pairs drawn with repetition leave more terms uncovered.
  Rng rng(31, StreamPurpose::kTests);
  double uncovered = 0.0;
  for (int split = 0; split < kSplits; ++split) {
    unsigned seen = 0;
    for (int pair = 0; pair < 20; ++pair) {
      const auto a = static_cast<unsigned>(rng.uniform_index(12));
      const auto b = (a + 1 + static_cast<unsigned>(rng.uniform_index(11))) % 12;
      seen |= (1U << a) | (1U << b);
    }
    uncovered += seen == 0xFFFU ? 0.0 : 1.0;
  }
  CHECK(std::abs(binomial_z(uncovered, kSplits, uncovered_probability())) > kZ);
}

TEST_CASE("Tasks and inputs of every split are uniform") {
  FuzzyLogicOptions options;
  options.sequence_length = 4;
  const FuzzyLogicGenerator generator(options);
  for (const FuzzyLogicSplit split :
       {FuzzyLogicSplit::kTrain, FuzzyLogicSplit::kHeldOut, FuzzyLogicSplit::kUnknownTerms}) {
    FuzzyLogicBatch batch;
    generator.batch(split, 0, 20000, batch);
    std::vector<double> tasks(generator.tasks().of(split).size());
    for (const Index task : batch.tasks) tasks[static_cast<std::size_t>(task)] += 1.0;
    CHECK(uniformity_z(tasks) < kZ);
    tasks[0] *= 1.5;  // a task that comes too often
    CHECK(uniformity_z(tasks) > kZ);
    std::vector<double> bins(64);
    std::vector<double> squares(64);
    for (const float x : queries(generator, split)) {
      bins[static_cast<std::size_t>(64 * x)] += 1.0;
      squares[static_cast<std::size_t>(64 * x * x)] += 1.0;
    }
    CHECK(uniformity_z(bins) < kZ);
    CHECK(uniformity_z(squares) > kZ);
  }
}

TEST_CASE("The splits' examples of equal index are independent") {
  const FuzzyLogicGenerator generator{FuzzyLogicOptions{}};
  const std::vector<float> train = queries(generator, FuzzyLogicSplit::kTrain);
  const std::vector<float> held_out = queries(generator, FuzzyLogicSplit::kHeldOut);
  const std::vector<float> unknown = queries(generator, FuzzyLogicSplit::kUnknownTerms);
  CHECK(std::abs(correlation_z(train, held_out)) < kZ);
  CHECK(std::abs(correlation_z(train, unknown)) < kZ);
  CHECK(std::abs(correlation_z(held_out, unknown)) < kZ);
  // The check notices that one value in twenty is shared.
  std::vector<float> shared = held_out;
  for (std::size_t i = 0; i < shared.size(); i += 20) shared[i] = train[i];
  CHECK(std::abs(correlation_z(train, shared)) > kZ);
}
