// Ambiguity and Bayes-optimal accuracy of SRAVEN against known values (src/tasks/README.md,
// "Symbolic Raven matrices": 0.26 %, 25.2 %, 92.9 %) and against the share of right guesses. |z| <
// 5.5 for each check. Each kind of check also notices a broken variant.
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "chi_squared.hpp"
#include "headway/core/rng.hpp"
#include "headway/tasks/sraven_bayes.hpp"
#include "tasks/sraven_ambiguity.hpp"

using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using namespace headway::tasks;

namespace {

constexpr double kZ = 5.5;
constexpr int kInstances = 400000;

struct Counts {
  double every = 0.0;
  double some = 0.0;
};

Counts count_ambiguous(SravenExplanations explanations) {
  const SravenOptions options;
  const std::vector<SravenRuleSet> sets = all_sraven_rule_sets(options.features);
  Counts counts;
  SravenInstance instance;
  for (int i = 0; i < kInstances; ++i) {
    Rng rng(90, StreamPurpose::kTests, static_cast<std::uint64_t>(i));
    draw_sraven_instance(options, sets, rng, instance);
    const SravenAmbiguity ambiguity = check_sraven_ambiguity(options, instance, explanations);
    counts.every += ambiguity.every_feature_wrong ? 1.0 : 0.0;
    counts.some += ambiguity.some_feature_wrong ? 1.0 : 0.0;
  }
  return counts;
}

// Deviate of the difference of two counted shares.
double two_shares_z(double hits, double trials, double other_hits, double other_trials) {
  const double p = (hits + other_hits) / (trials + other_trials);
  return (hits / trials - other_hits / other_trials) /
         std::sqrt(p * (1.0 - p) * (1.0 / trials + 1.0 / other_trials));
}

// Deviate of (best guess is right) - (its posterior probability) over instances drawn from `drawn`
// while the solver believes in `believed`.
double calibration_z(const SravenOptions& options, const std::vector<SravenRuleSet>& drawn,
                     const std::vector<SravenRuleSet>& believed, int instances) {
  const SravenBayes bayes(options, believed);
  SravenInstance instance;
  double surplus = 0.0;
  double variance = 0.0;
  for (int i = 0; i < instances; ++i) {
    Rng rng(91, StreamPurpose::kTests, static_cast<std::uint64_t>(i));
    draw_sraven_instance(options, drawn, rng, instance);
    const SravenPosterior posterior = bayes.posterior(instance.symbols);
    const bool right = !posterior.answers.empty() && posterior.answers[0] == instance.answers;
    surplus += (right ? 1.0 : 0.0) - posterior.best();
    variance += posterior.best() * (1.0 - posterior.best());
  }
  return surplus / std::sqrt(variance);
}

}  // namespace

TEST_CASE("As many instances are ambiguous as an independent count says, in both meanings") {
  // Counts of an independent NumPy program, from the definitions and over its own instances:
  // 0.244 % and 25.21 % of 1.5 million by the published explanations, 0.215 % and 24.39 % of
  // 1.2 million by the possible ones.
  const Counts published = count_ambiguous(SravenExplanations::kPublished);
  CHECK(std::abs(two_shares_z(published.every, kInstances, 3659, 1.5e6)) < kZ);
  CHECK(std::abs(two_shares_z(published.some, kInstances, 378207, 1.5e6)) < kZ);
  const Counts possible = count_ambiguous(SravenExplanations::kPossible);
  CHECK(std::abs(two_shares_z(possible.every, kInstances, 2579, 1.2e6)) < kZ);
  CHECK(std::abs(two_shares_z(possible.some, kInstances, 292663, 1.2e6)) < kZ);
  // The values of [S25], whose own count is of 4096 instances.
  CHECK(std::abs(two_shares_z(published.every, kInstances, 0.0026 * 4096, 4096)) < kZ);
  CHECK(std::abs(published.some / kInstances - 0.252) <
        0.0005 + kZ * std::sqrt(0.252 * 0.748 / kInstances));
  // The two kinds of explanation are told apart.
  CHECK(std::abs(two_shares_z(possible.some, kInstances, 378207, 1.5e6)) > kZ);
}

TEST_CASE("The Bayes-optimal accuracy under all rule sets is 92.9 per cent") {
  const SravenGenerator generator{SravenOptions{}};
  const SravenCeiling ceiling = sraven_ceiling(generator, SravenPrior::kAllRuleSets, 200000, 2);
  CHECK(ceiling.accuracy_error < 0.0005);
  CHECK(std::abs(ceiling.accuracy - 0.929) < 0.0005 + kZ * ceiling.accuracy_error);
  CHECK(ceiling.accuracy_per_feature > ceiling.accuracy);
  CHECK(std::abs(ceiling.several_answers - 292663 / 1.2e6) <
        kZ * std::hypot(ceiling.several_answers_error, std::sqrt(0.2439 * 0.7561 / 1.2e6)));
  // Fewer possible rule sets leave fewer possible answers.
  const SravenCeiling held_out =
      sraven_ceiling(generator, SravenPrior::kHeldOutRuleSets, 200000, 2);
  const double error = std::hypot(held_out.accuracy_error, ceiling.accuracy_error);
  CHECK(held_out.accuracy - ceiling.accuracy > kZ * error);
}

TEST_CASE("Best guesses are right as often as the posterior says, under all three priors") {
  const SravenGenerator generator{SravenOptions{}};
  const SravenOptions& options = generator.options();
  const std::vector<SravenRuleSet> all = all_sraven_rule_sets(options.features);
  const std::vector<SravenRuleSet>& train = generator.rule_sets().train;
  const std::vector<SravenRuleSet>& held_out = generator.rule_sets().held_out;
  CHECK(std::abs(calibration_z(options, all, all, 60000)) < kZ);
  CHECK(std::abs(calibration_z(options, train, train, 60000)) < kZ);
  CHECK(std::abs(calibration_z(options, held_out, held_out, 60000)) < kZ);
  // A solver that knows of training sets alone is too sure when others occur.
  CHECK(std::abs(calibration_z(options, all, train, 60000)) > kZ);
  SravenOptions unpermuted = options;
  unpermuted.permuted = false;
  CHECK(std::abs(calibration_z(unpermuted, all, all, 60000)) < kZ);
}

TEST_CASE("The standard error of the ceiling is that of repeated estimates") {
  SravenOptions options;
  double sum = 0.0;
  double square = 0.0;
  double claimed = 0.0;
  constexpr int kRepeats = 600;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    options.seed = static_cast<std::uint64_t>(repeat);
    const SravenCeiling ceiling =
        sraven_ceiling(SravenGenerator(options), SravenPrior::kAllRuleSets, 100);
    sum += ceiling.accuracy;
    square += ceiling.accuracy * ceiling.accuracy;
    claimed += ceiling.accuracy_error * ceiling.accuracy_error / kRepeats;
  }
  const double variance = (square - sum * sum / kRepeats) / (kRepeats - 1);
  // A sample variance of normals has the relative standard error sqrt(2 / (n - 1)).
  const double error = std::sqrt(2.0 / (kRepeats - 1));
  CHECK(std::abs(variance / claimed - 1.0) < kZ * error);
  for (const double wrong : {0.75, 1.33}) {  // a claimed error that is too small, or too large
    CHECK(std::abs(variance / (claimed * wrong * wrong) - 1.0) > kZ * error);
  }
}
