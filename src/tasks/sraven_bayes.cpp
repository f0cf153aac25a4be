#include "headway/tasks/sraven_bayes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"
#include "tasks/sraven_ambiguity.hpp"
#include "tasks/sraven_explanations.hpp"

namespace headway::tasks {
namespace {

constexpr Index kInstancesPerBlock = 256;

double factorial(std::size_t n) {
  double product = 1.0;
  for (std::size_t i = 2; i <= n; ++i) product *= static_cast<double>(i);
  return product;
}

// sum_w rho_w 8^w
std::size_t code_of(std::span<const SravenRule> rules) {
  std::size_t code = 0;
  for (std::size_t w = rules.size(); w > 0; --w) {
    code = code * kSravenRules + static_cast<std::size_t>(rules[w - 1]);
  }
  return code;
}

// m(rho)
double multiplicity(const SravenRuleSet& rules) {
  double product = 1.0;
  for (auto run = rules.begin(); run != rules.end();) {
    const auto end = std::upper_bound(run, rules.end(), *run);
    product *= factorial(static_cast<std::size_t>(end - run));
    run = end;
  }
  return product;
}

void require_rule_set(const SravenRuleSet& set, int features) {
  if (static_cast<int>(set.size()) != features || !std::is_sorted(set.begin(), set.end())) {
    throw Error(ErrorKind::kInternal,
                fmt::format("SravenBayes: a rule set of {} rules: must be {} rules in order",
                            set.size(), features));
  }
}

// Joint answers met so far and their P(x, y); few, so a linear search finds them.
class AnswerSums {
 public:
  void add(std::span<const detail::Fit> explanation, double probability) {
    for (Entry& entry : entries_) {
      if (std::equal(explanation.begin(), explanation.end(), entry.answers.begin(),
                     [](const detail::Fit& fit, std::uint8_t y) { return fit.answer == y; })) {
        entry.probability += probability;
        return;
      }
    }
    Entry& entry = entries_.emplace_back();
    entry.probability = probability;
    for (const detail::Fit& fit : explanation) entry.answers.push_back(fit.answer);
  }

  [[nodiscard]] SravenPosterior posterior() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.probability != b.probability ? a.probability > b.probability : a.answers < b.answers;
    });
    SravenPosterior result;
    for (const Entry& entry : entries_) result.evidence += entry.probability;
    for (Entry& entry : entries_) {
      result.probabilities.push_back(entry.probability / result.evidence);
      result.answers.push_back(std::move(entry.answers));
    }
    return result;
  }

 private:
  struct Entry {
    std::vector<std::uint8_t> answers;
    double probability = 0.0;
  };
  std::vector<Entry> entries_;
};

std::vector<SravenRuleSet> sets_of(const SravenGenerator& generator, SravenPrior prior) {
  switch (prior) {
    case SravenPrior::kAllRuleSets:
      return all_sraven_rule_sets(generator.options().features);
    case SravenPrior::kTrainRuleSets:
      return generator.rule_sets().train;
    case SravenPrior::kHeldOutRuleSets:
      return generator.rule_sets().held_out;
  }
  throw Error(ErrorKind::kInternal, "sraven: unknown prior");
}

}  // namespace

double SravenPosterior::best_at(std::size_t position) const {
  std::array<double, kSravenBlank> sums{};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    sums.at(answers[i].at(position)) += probabilities[i];
  }
  return *std::max_element(sums.begin(), sums.end());
}

SravenBayes::SravenBayes(const SravenOptions& options, std::span<const SravenRuleSet> rule_sets)
    : options_(options) {
  options_.validate();
  if (rule_sets.empty()) {
    throw Error(ErrorKind::kInternal, "SravenBayes: no rule sets: must be at least one");
  }
  const auto features = static_cast<std::size_t>(options_.features);
  weights_.assign(std::size_t{1} << (3 * features), 0.0);
  const double each = 1.0 / static_cast<double>(rule_sets.size());
  for (const SravenRuleSet& set : rule_sets) {
    require_rule_set(set, options_.features);
    if (!options_.permuted) {
      weights_[code_of(set)] += each;
      continue;
    }
    const double weight = each * multiplicity(set) / std::pow(factorial(features), kSravenSide);
    SravenRuleSet rho = set;
    do {
      weights_[code_of(rho)] += weight;
    } while (std::next_permutation(rho.begin(), rho.end()));
  }
}

SravenPosterior SravenBayes::posterior(std::span<const std::uint8_t> symbols) const {
  AnswerSums sums;
  detail::for_each_explanation(
      options_, symbols, ninth_symbol, [&](std::span<const detail::Fit> explanation) {
        std::size_t code = 0;
        double probability = 1.0;
        for (std::size_t w = explanation.size(); w > 0; --w) {
          code = code * kSravenRules + static_cast<std::size_t>(explanation[w - 1].rule);
          probability *= explanation[w - 1].probability;
        }
        if (weights_[code] > 0.0) sums.add(explanation, weights_[code] * probability);
      });
  return sums.posterior();
}

SravenCeiling sraven_ceiling(const SravenGenerator& generator, SravenPrior prior, Index instances,
                             int threads) {
  if (instances < 2) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("sraven_ceiling: instances = {}: must be at least 2", instances));
  }
  const SravenOptions& options = generator.options();
  const std::vector<SravenRuleSet> sets = sets_of(generator, prior);
  const SravenBayes bayes(options, sets);
  VectorXd all_right(instances);
  VectorXd one_right(instances);
  VectorXd several(instances);
  VectorXd all_wrong(instances);
  const auto judge = [&](Index i, SravenInstance& instance) {
    Rng rng(options.seed, StreamPurpose::kCeilingExamples, static_cast<std::uint64_t>(i));
    draw_sraven_instance(options, sets, rng, instance);
    const SravenPosterior posterior = bayes.posterior(instance.symbols);
    all_right(i) = posterior.best();
    several(i) = posterior.answers.size() > 1 ? 1.0 : 0.0;
    all_wrong(i) = check_sraven_ambiguity(options, instance).every_feature_wrong ? 1.0 : 0.0;
    double sum = 0.0;
    for (std::size_t k = 0; k < instance.answers.size(); ++k) sum += posterior.best_at(k);
    one_right(i) = sum / options.features;
  };
  const Index blocks = (instances + kInstancesPerBlock - 1) / kInstancesPerBlock;
  parallel_for(blocks, threads, [&](Index block) {
    SravenInstance instance;
    const Index end = std::min(instances, (block + 1) * kInstancesPerBlock);
    for (Index i = block * kInstancesPerBlock; i < end; ++i) judge(i, instance);
  });
  const numerics::Moments accuracy = numerics::moments(all_right);
  const numerics::Moments per_feature = numerics::moments(one_right);
  const numerics::Moments share = numerics::moments(several);
  const numerics::Moments wrong = numerics::moments(all_wrong);
  return {instances,
          accuracy.mean,
          accuracy.standard_error(),
          per_feature.mean,
          per_feature.standard_error(),
          share.mean,
          share.standard_error(),
          wrong.mean,
          wrong.standard_error()};
}

}  // namespace headway::tasks
