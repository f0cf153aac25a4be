// Symmetries of the posterior and of the ambiguity of an SRAVEN instance.
#include <algorithm>
#include <array>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/tasks/sraven_bayes.hpp"
#include "tasks/sraven_ambiguity.hpp"

using Catch::Matchers::WithinRel;
using headway::Index;
using headway::Rng;
using headway::StreamPurpose;
using namespace headway::tasks;

namespace {

constexpr std::size_t kGridFeatures = 4;
constexpr Index kInstances = 200;

using Order = std::array<std::size_t, kGridFeatures>;

Order random_order(Rng& rng) {
  Order order = {0, 1, 2, 3};
  headway::numerics::shuffle(order, rng);
  return order;
}

// The instance with position orders[c][k] of column c moved to position k.
SravenInstance reordered(const SravenInstance& instance, const std::array<Order, 3>& orders) {
  SravenInstance result = instance;
  for (std::size_t panel = 0; panel < kSravenPanels; ++panel) {
    for (std::size_t k = 0; k < kGridFeatures; ++k) {
      result.symbols[panel * kGridFeatures + k] =
          instance.symbols[panel * kGridFeatures + orders[panel % 3][k]];
    }
  }
  for (std::size_t k = 0; k < kGridFeatures; ++k)
    result.answers[k] = instance.answers[orders[2][k]];
  return result;
}

template <typename Check>
void for_instances(Check check) {
  const SravenGenerator generator{SravenOptions{}};
  Rng rng(41, StreamPurpose::kTests);
  for (Index index = 0; index < kInstances; ++index) {
    SravenInstance instance;
    generator.example(SravenSplit::kTrain, index, instance);
    check(generator, instance, rng);
  }
}

double probability_of(const SravenPosterior& posterior, const std::vector<std::uint8_t>& answer) {
  const auto found = std::find(posterior.answers.begin(), posterior.answers.end(), answer);
  return posterior.probabilities.at(static_cast<std::size_t>(found - posterior.answers.begin()));
}

}  // namespace

TEST_CASE("Reordering the positions of the columns reorders the answers and nothing else") {
  for_instances([](const SravenGenerator& generator, const SravenInstance& instance, Rng& rng) {
    const SravenBayes bayes(generator.options(), generator.rule_sets().train);
    const std::array<Order, 3> orders = {random_order(rng), random_order(rng), random_order(rng)};
    const SravenInstance other = reordered(instance, orders);
    const SravenPosterior here = bayes.posterior(instance.symbols);
    const SravenPosterior there = bayes.posterior(other.symbols);
    CHECK_THAT(there.evidence, WithinRel(here.evidence, 1e-12));
    REQUIRE(there.answers.size() == here.answers.size());
    for (std::size_t i = 0; i < here.answers.size(); ++i) {
      std::vector<std::uint8_t> moved(kGridFeatures);
      for (std::size_t k = 0; k < kGridFeatures; ++k) moved[k] = here.answers[i][orders[2][k]];
      CHECK_THAT(probability_of(there, moved), WithinRel(here.probabilities[i], 1e-12));
    }
    for (const auto kind : {SravenExplanations::kPossible, SravenExplanations::kPublished}) {
      const auto before = check_sraven_ambiguity(generator.options(), instance, kind);
      const auto after = check_sraven_ambiguity(generator.options(), other, kind);
      CHECK(before.every_feature_wrong == after.every_feature_wrong);
      CHECK(before.some_feature_wrong == after.some_feature_wrong);
    }
  });
}

TEST_CASE("Exchanging the two complete rows changes no posterior") {
  for_instances([](const SravenGenerator& generator, const SravenInstance& instance, Rng&) {
    const SravenBayes bayes(generator.options(), generator.rule_sets().train);
    SravenInstance other = instance;
    const auto row = static_cast<Index>(kSravenSide * kGridFeatures);
    std::swap_ranges(other.symbols.begin(), other.symbols.begin() + row,
                     other.symbols.begin() + row);
    const SravenPosterior here = bayes.posterior(instance.symbols);
    const SravenPosterior there = bayes.posterior(other.symbols);
    CHECK_THAT(there.evidence, WithinRel(here.evidence, 1e-12));
    CHECK_THAT(there.best(), WithinRel(here.best(), 1e-12));
    CHECK(there.answers.size() == here.answers.size());
  });
}

TEST_CASE("Negating all symbols exchanges the steps up and down and nothing else") {
  const std::vector<SravenRuleSet> all = all_sraven_rule_sets(kGridFeatures);
  for_instances([&all](const SravenGenerator& generator, const SravenInstance& instance, Rng&) {
    const SravenBayes bayes(generator.options(), all);
    SravenInstance other = instance;
    for (std::uint8_t& symbol : other.symbols) {
      if (symbol != kSravenBlank) symbol = static_cast<std::uint8_t>((8 - symbol) % 8);
    }
    const SravenPosterior here = bayes.posterior(instance.symbols);
    const SravenPosterior there = bayes.posterior(other.symbols);
    CHECK_THAT(there.evidence, WithinRel(here.evidence, 1e-12));
    CHECK_THAT(there.best(), WithinRel(here.best(), 1e-12));
  });
}
