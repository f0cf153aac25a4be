#include "headway/tasks/sraven_bayes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "sraven_brute_force.hpp"
#include "tasks/sraven_ambiguity.hpp"

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using headway::Index;
using headway::testing::SravenBruteForce;
using namespace headway::tasks;

namespace {

struct SmallCase {
  int features;
  int values;
  bool permuted;
  Index instances;
};

std::vector<int> as_ints(const std::vector<std::uint8_t>& symbols) {
  return {symbols.begin(), symbols.end()};
}

SravenOptions options_of(const SmallCase& small) {
  SravenOptions options;
  options.features = small.features;
  options.values = small.values;
  options.permuted = small.permuted;
  return options;
}

void check_against_brute_force(const SmallCase& small, const SravenGenerator& generator,
                               const std::vector<SravenRuleSet>& sets) {
  const SravenBayes bayes(generator.options(), sets);
  const SravenBruteForce reference(generator.options(), sets);
  for (Index index = 0; index < small.instances; ++index) {
    SravenInstance instance;
    generator.example(SravenSplit::kTrain, index, instance);
    const SravenPosterior posterior = bayes.posterior(instance.symbols);
    const auto joint = reference.joint(instance.symbols);
    CAPTURE(small.features, small.values, small.permuted, index);
    REQUIRE(posterior.answers.size() == joint.size());
    double evidence = 0.0;
    for (const auto& [answer, probability] : joint) evidence += probability;
    CHECK_THAT(posterior.evidence, WithinRel(evidence, 1e-12));
    for (std::size_t i = 0; i < joint.size(); ++i) {
      CHECK_THAT(posterior.probabilities[i],
                 WithinRel(joint.at(as_ints(posterior.answers[i])) / evidence, 1e-12));
      if (i > 0) CHECK(posterior.probabilities[i] <= posterior.probabilities[i - 1]);
    }
    for (std::size_t k = 0; k < instance.answers.size(); ++k) {
      std::vector<double> marginal(static_cast<std::size_t>(small.values));
      for (const auto& [answer, probability] : joint)
        marginal[static_cast<std::size_t>(answer[k])] += probability / evidence;
      CHECK_THAT(posterior.best_at(k),
                 WithinRel(*std::max_element(marginal.begin(), marginal.end()), 1e-12));
    }
  }
}

}  // namespace

TEST_CASE("On small cases the posterior is the sum over rule sets and permutations") {
  for (const SmallCase& small : {SmallCase{2, 3, true, 60}, SmallCase{2, 3, false, 60},
                                 SmallCase{2, 4, true, 20}, SmallCase{3, 3, true, 4}}) {
    const SravenGenerator generator(options_of(small));
    check_against_brute_force(small, generator, all_sraven_rule_sets(small.features));
    check_against_brute_force(small, generator, generator.rule_sets().train);
  }
}

TEST_CASE("Instances that the prior cannot produce have no posterior") {
  SravenOptions options;
  options.features = 2;
  const std::vector<SravenRuleSet> constant = {{SravenRule::kConstant, SravenRule::kConstant}};
  const std::vector<SravenRuleSet> plus_one = {{SravenRule::kPlusOne, SravenRule::kPlusOne}};
  headway::Rng rng(3, headway::StreamPurpose::kTests);
  SravenInstance instance;
  draw_sraven_instance(options, plus_one, rng, instance);
  const SravenPosterior none = SravenBayes(options, constant).posterior(instance.symbols);
  CHECK(none.answers.empty());
  CHECK(none.evidence == 0.0);
  CHECK(none.best() == 0.0);
  const SravenPosterior some = SravenBayes(options, plus_one).posterior(instance.symbols);
  REQUIRE(some.answers.size() == 1);
  CHECK(some.answers[0] == instance.answers);
  CHECK(some.best() == 1.0);
}

TEST_CASE("A hand-made instance with two answers has both, by their probabilities") {
  // One feature, rows (0 0 0), (0 0 0), (1 0 ?): sum and difference answer 1, nothing else fits.
  // Rows (1 2 3), (2 3 1), (2 1 ?): distribute-three answers 3; sum fails in the second row.
  // Rows (0 1 2), (1 2 0), (0 1 ?) of three symbols: plus one, minus two, distribute-three say 2.
  SravenOptions options;
  options.features = 1;
  options.reject_uncovered = false;
  const SravenBayes bayes(options, all_sraven_rule_sets(1));
  const SravenPosterior one = bayes.posterior(std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 1, 0});
  REQUIRE(one.answers.size() == 1);
  CHECK(one.answers[0][0] == 1);
  CHECK_THAT(one.evidence, WithinRel(2.0 / 8.0 / std::pow(8.0, 6), 1e-12));
  // Rows (1 0 1), (3 0 3), (2 4 ?): the sum 6 or the difference 6. With 4 -> 5: 7 or 5.
  const SravenPosterior two = bayes.posterior(std::vector<std::uint8_t>{1, 0, 1, 3, 0, 3, 2, 5});
  REQUIRE(two.answers.size() == 2);
  CHECK(two.answers[0][0] == 5);  // equal probabilities: lexicographic order
  CHECK(two.answers[1][0] == 7);
  CHECK_THAT(two.best(), WithinAbs(0.5, 1e-14));
  // Rows (0 1 1), (1 0 1): no distribute-three; (1 2 3), (2 1 3), (3 4 ?): only the sum, 7.
  const SravenPosterior sum = bayes.posterior(std::vector<std::uint8_t>{1, 2, 3, 2, 1, 3, 3, 4});
  REQUIRE(sum.answers.size() == 1);
  CHECK(sum.answers[0][0] == 7);
  // With (1 2 ?) in the last row both distribute-three and the sum say 3.
  const SravenPosterior both = bayes.posterior(std::vector<std::uint8_t>{1, 2, 3, 2, 1, 3, 1, 2});
  REQUIRE(both.answers.size() == 1);
  CHECK_THAT(both.evidence, WithinRel((std::pow(8.0, -6) + 1.0 / (56.0 * 216.0)) / 8.0, 1e-12));
}

TEST_CASE("Ambiguity of hand-made instances, in both meanings and by both explanations") {
  SravenOptions options;
  options.features = 1;
  options.reject_uncovered = false;
  const auto judge = [&options](std::vector<std::uint8_t> symbols, SravenExplanations kind) {
    SravenInstance instance;
    instance.answers = {symbols.back()};
    symbols.back() = kSravenBlank;
    instance.symbols = symbols;
    return check_sraven_ambiguity(options, instance, kind);
  };
  for (const auto kind : {SravenExplanations::kPossible, SravenExplanations::kPublished}) {
    const SravenAmbiguity open = judge({1, 0, 1, 3, 0, 3, 2, 5, 7}, kind);  // 5 by the difference
    CHECK(open.every_feature_wrong);
    CHECK(open.some_feature_wrong);
    const SravenAmbiguity closed = judge({1, 2, 3, 2, 1, 3, 1, 2, 3}, kind);
    CHECK_FALSE(closed.every_feature_wrong);
    CHECK_FALSE(closed.some_feature_wrong);
  }
  // Rows (0 0 0), (0 0 0), (0 0 ?): constant, sum and difference say 0, and so do the published
  // checker's three equal symbols. Rows (1 0 1), (0 1 1), (1 1 2): the sum says 2, the published
  // distribute-three says 0.
  CHECK_FALSE(
      judge({0, 0, 0, 0, 0, 0, 0, 0, 0}, SravenExplanations::kPublished).some_feature_wrong);
  CHECK(judge({1, 0, 1, 0, 1, 1, 1, 1, 2}, SravenExplanations::kPublished).some_feature_wrong);
  CHECK_FALSE(judge({1, 0, 1, 0, 1, 1, 1, 1, 2}, SravenExplanations::kPossible).some_feature_wrong);
}

TEST_CASE("An instance is ambiguous exactly when its posterior has another answer") {
  for (const bool permuted : {true, false}) {
    SravenOptions options;
    options.permuted = permuted;
    const SravenGenerator generator(options);
    const SravenBayes bayes(options, all_sraven_rule_sets(4));
    int several = 0;
    for (Index index = 0; index < 300; ++index) {
      SravenInstance instance;
      generator.example(SravenSplit::kHeldOut, index, instance);
      const SravenPosterior posterior = bayes.posterior(instance.symbols);
      const SravenAmbiguity ambiguity =
          check_sraven_ambiguity(options, instance, SravenExplanations::kPossible);
      CHECK(ambiguity.some_feature_wrong == (posterior.answers.size() > 1));
      bool all_wrong = false;
      for (const auto& answer : posterior.answers) {
        bool right = false;
        for (std::size_t k = 0; k < 4; ++k) right |= answer[k] == instance.answers[k];
        all_wrong |= !right;
      }
      CHECK(ambiguity.every_feature_wrong == all_wrong);
      CHECK(std::count(posterior.answers.begin(), posterior.answers.end(), instance.answers) == 1);
      several += posterior.answers.size() > 1 ? 1 : 0;
    }
    CHECK(several > 0);
  }
}

TEST_CASE("The ceiling does not depend on the threads") {
  const SravenGenerator generator{SravenOptions{}};
  const SravenCeiling one = sraven_ceiling(generator, SravenPrior::kHeldOutRuleSets, 1000, 1);
  const SravenCeiling two = sraven_ceiling(generator, SravenPrior::kHeldOutRuleSets, 1000, 2);
  CHECK(one.accuracy == two.accuracy);
  CHECK(one.accuracy_per_feature == two.accuracy_per_feature);
  CHECK(one.accuracy_error == two.accuracy_error);
  CHECK(one.instances == 1000);
}

TEST_CASE("Bad input of the Bayesian solver is an error") {
  const SravenOptions options;
  CHECK_THROWS_WITH(SravenBayes(options, std::vector<SravenRuleSet>{}),
                    "SravenBayes: no rule sets: must be at least one");
  CHECK_THROWS_WITH(SravenBayes(options, all_sraven_rule_sets(3)),
                    "SravenBayes: a rule set of 3 rules: must be 4 rules in order");
  const std::vector<SravenRuleSet> unsorted = {
      {SravenRule::kSum, SravenRule::kConstant, SravenRule::kSum, SravenRule::kSum}};
  CHECK_THROWS_WITH(SravenBayes(options, unsorted),
                    "SravenBayes: a rule set of 4 rules: must be 4 rules in order");
  const SravenBayes bayes(options, all_sraven_rule_sets(4));
  CHECK_THROWS_WITH(bayes.posterior(std::vector<std::uint8_t>(31)),
                    "sraven: 31 symbols: must be the 32 of eight panels of 4 features");
  std::vector<std::uint8_t> symbols(32, 7);
  CHECK_NOTHROW(bayes.posterior(symbols));
  symbols[31] = 8;
  CHECK_THROWS_WITH(bayes.posterior(symbols), "sraven: symbol 8 at 31: must be from 0 to 7");
  CHECK_THROWS_WITH(sraven_ceiling(SravenGenerator(options), SravenPrior::kAllRuleSets, 1),
                    "sraven_ceiling: instances = 1: must be at least 2");
}
