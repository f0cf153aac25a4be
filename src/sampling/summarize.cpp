#include "summarize.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/text.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::sampling {
namespace {

// Thresholds of Vehtari et al. 2021 (R-hat, effective sample size) and Betancourt 2016 (E-BFMI).
constexpr double kLargestRhat = 1.01;
constexpr double kSmallestEssPerChain = 100.0;
constexpr double kSmallestBfmi = 0.3;
constexpr Index kFewestChains = 2;

/// E-BFMI compares the energies of successive transitions. Kept draws have them all if none are
/// thinned away. Else they are in the chain's sums.
double bfmi_of(const ChainState& chain, const std::vector<double>& kept,
               const SamplerOptions& options) {
  return options.thin == 1 ? energy_bfmi(kept) : bfmi_of_sums(chain.energies);
}

void count_chains(const Checkpoint& state, const SamplerOptions& options, SamplingSummary& s) {
  for (const ChainState& chain : state.chains) {
    const auto kept = std::min(static_cast<Index>(chain.statistics.size()), Index{options.draws});
    double acceptance = 0.0;
    Index divergences = 0;
    std::vector<double> energies;
    energies.reserve(static_cast<std::size_t>(kept));
    for (Index i = 0; i < kept; ++i) {
      const TransitionStatistics& t = chain.statistics[static_cast<std::size_t>(i)];
      acceptance += t.acceptance / static_cast<double>(kept);
      divergences += t.divergent ? 1 : 0;
      s.saturated += t.saturated ? 1 : 0;
      energies.push_back(t.energy);
    }
    s.draws.push_back(kept);
    s.step_size.push_back(chain.step_size);
    s.mean_acceptance.push_back(kept > 0 ? acceptance : numerics::kUndefined);
    s.divergences.push_back(divergences);
    s.ebfmi.push_back(bfmi_of(chain, energies, options));
    s.warmup_divergences += chain.warmup_divergences;
    s.evaluations += chain.evaluations;
    for (const ChainState& replica : chain.replicas) s.evaluations += replica.evaluations;
  }
}

// Keeps the worst of one diagnostic; `sign` +1 when large is bad. NaN never wins.
void keep_worst(double value, double sign, const std::string& name, double& worst,
                std::string& worst_name) {
  if (std::isnan(value)) return;
  if (std::isnan(worst) || sign * value > sign * worst) {
    worst = value;
    worst_name = name;
  }
}

void find_extremes(const SamplingResult& result, SamplingSummary& s) {
  for (std::size_t i = 0; i < result.coordinates.size(); ++i) {
    const QuantityDiagnostics& q = result.coordinates[i];
    keep_worst(q.rhat, 1.0, result.names[i], s.rhat_max, s.rhat_max_name);
    keep_worst(q.ess_bulk, -1.0, result.names[i], s.ess_bulk_min, s.ess_bulk_min_name);
    keep_worst(q.ess_tail, -1.0, result.names[i], s.ess_tail_min, s.ess_tail_min_name);
  }
}

Index total(const std::vector<Index>& values) {
  Index sum = 0;
  for (const Index v : values) sum += v;
  return sum;
}

void warn_of_trajectories(const SamplerOptions& options, SamplingSummary& s) {
  const Index divergent = total(s.divergences);
  const Index draws = total(s.draws);
  if (divergent > 0) {
    s.warnings.push_back(
        fmt::format("{} of {} draws end a divergent trajectory: the sampler cannot follow the "
                    "density there and may miss a part of it. Raise sample.target_accept (now {}) "
                    "towards 0.99",
                    divergent, draws, resolved_target_accept(options)));
  }
  if (s.saturated > 0) {
    const bool nuts = options.sampler == SamplerKind::kNuts;
    const char* limit = nuts ? "sample.max_tree_depth" : "sample.max_leapfrog_steps";
    s.warnings.push_back(fmt::format(
        "{} of {} draws stopped at {} = {}: the chain is valid but slow. Raise {}, warm up longer, "
        "or choose another sample.metric (now \"{}\")",
        s.saturated, draws, limit, nuts ? options.max_tree_depth : options.max_leapfrog_steps,
        limit, metric_name(options.metric)));
  }
  for (std::size_t c = 0; c < s.ebfmi.size(); ++c) {
    if (!(s.ebfmi[c] < kSmallestBfmi)) continue;
    s.warnings.push_back(
        fmt::format("E-BFMI of chain {} is {:.2f} (below {}): the chain explores energies slowly, "
                    "as with heavy tails or a funnel. Choose other variables, or draw more",
                    c + 1, s.ebfmi[c], kSmallestBfmi));
  }
}

void warn_of_coordinates(const SamplingResult& result, SamplingSummary& s) {
  for (std::size_t i = 0; i < result.coordinates.size(); ++i) {
    if (!result.coordinates[i].not_finite) continue;
    s.warnings.push_back(fmt::format(
        "{} has draws that are NaN or infinite: the target density or the transition is faulty",
        result.names[i]));
    break;
  }
  if (s.rhat_max > kLargestRhat) {
    s.warnings.push_back(
        fmt::format("R-hat of {} is {} (above {}): the chains have not mixed. Raise draws and "
                    "warmup; if R-hat stays high, look for several modes",
                    s.rhat_max_name, short_number_text(s.rhat_max), kLargestRhat));
  }
  const double wanted = kSmallestEssPerChain * s.chains;
  const bool bulk = s.ess_bulk_min <= s.ess_tail_min || std::isnan(s.ess_tail_min);
  const double least = std::fmin(s.ess_bulk_min, s.ess_tail_min);
  if (least < wanted) {
    s.warnings.push_back(
        fmt::format("the {} effective sample size of {} is {:.0f} (below {:.0f}, 100 a chain): "
                    "error bars and R-hat are unreliable. Raise draws about {:.0f} times",
                    bulk ? "bulk" : "tail", bulk ? s.ess_bulk_min_name : s.ess_tail_min_name, least,
                    wanted, std::ceil(wanted / std::max(least, 1.0))));
  }
}

/// "944, 472 of each of 2 chains"
std::string kept_text(const KeptDraws& kept) {
  if (kept.draws == 0) return "none, since no chain had passed its warm-up";
  const auto chains = static_cast<Index>(kept.chains.size());
  if (chains == 1) return fmt::format("{} of one chain", kept.draws);
  return fmt::format("{}, {} of each of {} chains", kept.draws * chains, kept.draws, chains);
}

void warn_of_run(const SamplerOptions& options, const KeptDraws& kept, SamplingSummary& s) {
  if (s.interrupted) {
    s.warnings.push_back(
        fmt::format("interrupted after {} of {} draws: the result is partial and keeps {}",
                    total(s.draws), Index{options.draws} * options.chains, kept_text(kept)));
  }
  if (s.biased) {
    s.warnings.emplace_back(
        "unadjusted Langevin draws are biased, by an unknown amount of order step_size^2. Use mala "
        "for unbiased draws");
  }
  if (options.chains < kFewestChains) {
    s.warnings.emplace_back(
        "one chain cannot show whether another start leads elsewhere. Run 4 chains");
  }
}

std::string describe_message(const SamplingSummary& s, const SamplerOptions& options) {
  if (s.complete) {
    return fmt::format("{} chains of {} draws after {} warm-up transitions", s.chains,
                       options.draws, options.warmup);
  }
  return s.interrupted ? "interrupted: the draws so far are valid" : "not all draws were made";
}

}  // namespace

SamplingSummary::SamplingSummary()
    : rhat_max(numerics::kUndefined),
      ess_bulk_min(numerics::kUndefined),
      ess_tail_min(numerics::kUndefined) {}

SamplingSummary summarize(const SamplingResult& result, const SamplerOptions& options, RunEnd end) {
  SamplingSummary s;
  s.sampler = sampler_name(options.sampler);
  s.complete = end == RunEnd::kComplete;
  s.interrupted = end == RunEnd::kInterrupted;
  s.biased = options.sampler == SamplerKind::kLangevin;
  s.chains = options.chains;
  count_chains(result.state, options, s);
  find_extremes(result, s);
  s.message = describe_message(s, options);
  warn_of_run(options, result.kept, s);
  warn_of_trajectories(options, s);
  warn_of_coordinates(result, s);
  return s;
}

std::string SamplingSummary::brief_report() const {
  if (chains == 0) return message;
  return fmt::format(
      "{}: {}, R-hat <= {:.3f}, ESS >= {:.0f} (bulk) {:.0f} (tail), {} divergences, {}", sampler,
      message, rhat_max, ess_bulk_min, ess_tail_min, total(divergences),
      warnings.empty() ? "no warnings" : fmt::format("{} warnings", warnings.size()));
}

std::string SamplingSummary::full_report() const {
  if (chains == 0) return message + "\n";
  std::string text =
      fmt::format("sampler      {}, dimension {}\nrun          {}\n", sampler, dimension, message);
  text += fmt::format("cost         {} evaluations, {:.2f} s on {} threads\n", evaluations, seconds,
                      threads);
  text += fmt::format("R-hat        {:.4f} at worst ({})\n", rhat_max, rhat_max_name);
  text += fmt::format("ESS          {:.0f} bulk ({}), {:.0f} tail ({}) at worst\n", ess_bulk_min,
                      ess_bulk_min_name, ess_tail_min, ess_tail_min_name);
  text += "chain   draws  step size  acceptance  divergent  E-BFMI\n";
  for (std::size_t c = 0; c < draws.size(); ++c) {
    text += fmt::format("{:5}  {:6}  {:9.3g}  {:10.3f}  {:9}  {:6.2f}\n", c + 1, draws[c],
                        step_size[c], mean_acceptance[c], divergences[c], ebfmi[c]);
  }
  text += fmt::format("warm-up      {} divergent\n", warmup_divergences);
  for (const std::string& warning : warnings) text += "warning      " + warning + "\n";
  return text;
}

}  // namespace headway::sampling
