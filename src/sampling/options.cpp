#include "headway/sampling/options.hpp"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "adaptation.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/sampling/limits.hpp"

namespace headway::sampling {

Words<SamplerKind> words_of(SamplerKind) {
  static constexpr Word<SamplerKind> kWords[] = {{"nuts", SamplerKind::kNuts},
                                                 {"hmc", SamplerKind::kStaticHmc},
                                                 {"mala", SamplerKind::kMala},
                                                 {"langevin", SamplerKind::kLangevin},
                                                 {"sweep", SamplerKind::kSweep}};
  return kWords;
}

Words<MetricKind> words_of(MetricKind) {
  static constexpr Word<MetricKind> kWords[] = {{"unit", MetricKind::kUnit},
                                                {"diagonal", MetricKind::kDiagonal},
                                                {"dense", MetricKind::kDense},
                                                {"information", MetricKind::kInformation}};
  return kWords;
}

namespace {

constexpr int kMostThreads = 100'000;
constexpr int kMostSteps = 100'000'000;

const OptionTable<SamplerOptions>& table() {
  using S = SamplerOptions;
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  const OptionType<double> positive = real(0.0, kUnbounded, Ends::kOpenBelow);
  static const OptionTable<S> options = {{
      option("sampler", &S::sampler, choice<SamplerKind>(), "transition of the chains"),
      option("metric", &S::metric, choice<MetricKind>(), "mass matrix"),
      option("chains", &S::chains, integer<int>(1, kMostChains), "independent chains"),
      option("warmup", &S::warmup, integer<int>(0, kMostDraws), "transitions that are thrown away"),
      option("draws", &S::draws, integer<int>(1, kMostDraws), "draws kept of a chain"),
      option("thin", &S::thin, integer<int>(1, kMostThinning), "transitions for each kept draw"),
      option("threads", &S::threads, integer<int>(0, kMostThreads),
             "threads to use; 0 = all cores"),
      option("max_tree_depth", &S::max_tree_depth, integer<int>(1, kDeepestTree),
             "NUTS: most doublings of a trajectory"),
      option("max_leapfrog_steps", &S::max_leapfrog_steps, integer<int>(1, kMostSteps),
             "HMC: most steps of a trajectory"),
      option("start_attempts", &S::start_attempts, integer<int>(1, kMostSteps),
             "random starting positions tried for a chain"),
      option("replicas", &S::replicas, integer<int>(1, kMostReplicas),
             "replicas of each chain; 1 = no replica exchange"),
      option("target_accept", &S::target_accept, optional(real(0.0, 1.0, Ends::kOpen)),
             "mean acceptance that the step size is adapted to"),
      option("step_size", &S::step_size, positive, "first step size"),
      option("divergence_threshold", &S::divergence_threshold, positive,
             "error of the energy from which a trajectory is divergent"),
      option("integration_time", &S::integration_time, positive, "HMC: time of a trajectory"),
      option("initial_radius", &S::initial_radius, positive, "size of random starting positions"),
      option("step_size_jitter", &S::step_size_jitter, real(0.0, 1.0, Ends::kOpenAbove),
             "HMC: share by which the step size varies"),
      option("checkpoint_seconds", &S::checkpoint_seconds, real(0.0, kUnbounded),
             "time between checkpoints; 0 = never"),
  }};
  return options;
}

void validate_starts(const SamplerOptions& o, Index dimension) {
  if (o.starts.empty()) return;
  if (o.starts.size() != static_cast<std::size_t>(o.chains)) {
    refuse(fmt::format("{} positions", o.starts.size()), "sampler.starts",
           fmt::format("none, or one for each of the {} chains", o.chains));
  }
  for (std::size_t c = 0; c < o.starts.size(); ++c) {
    if (o.starts[c].size() != dimension || !o.starts[c].allFinite()) {
      refuse(fmt::format("{} numbers", o.starts[c].size()), element("sampler.starts", c),
             fmt::format("{} finite numbers", dimension));
    }
  }
}

void validate_schedule(const SamplerOptions& o) {
  const std::vector<double>& beta = o.inverse_temperatures;
  if (beta.empty()) return;
  bool falls = beta.size() == static_cast<std::size_t>(o.replicas) && beta.size() > 1 &&
               beta.front() == 1.0 && beta.back() == 0.0;
  for (std::size_t k = 1; falls && k < beta.size(); ++k) falls = beta[k] < beta[k - 1];
  if (falls) return;
  refuse(fmt::format("[{}]", join(beta, ", ")), "sampler.inverse_temperatures",
         fmt::format("empty, or {} falling numbers from 1 to 0, one for each replica", o.replicas));
}

}  // namespace

void SamplerOptions::validate(Index dimension) const {
  if (dimension < 1) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("target dimension = {}: must be 1 or more", dimension));
  }
  check_options(table(), *this, "sampler");
  validate_starts(*this, dimension);
  validate_schedule(*this);
}

std::string_view sampler_name(SamplerKind kind) { return word_of(kind); }

std::string_view metric_name(MetricKind kind) { return word_of(kind); }

bool is_full_matrix(MetricKind kind) {
  return kind == MetricKind::kDense || kind == MetricKind::kInformation;
}

int information_evaluations(int warmup) {
  if (warmup == 0) return 0;
  return 1 + static_cast<int>(information_schedule(warmup).probes.size());
}

double resolved_target_accept(const SamplerOptions& options) {
  if (options.target_accept) return *options.target_accept;
  switch (options.sampler) {
    case SamplerKind::kMala:
      return 0.574;  // Roberts and Rosenthal 1998
    case SamplerKind::kLangevin:
      return 0.95;
    default:
      return 0.8;
  }
}

bool uses_gradient(SamplerKind kind) { return kind != SamplerKind::kSweep; }

std::uint64_t stream_of(const SamplerOptions& options, int chain) {
  return options.first_stream + static_cast<std::uint64_t>(chain);
}

}  // namespace headway::sampling
