#include "headway/sampling/options.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>

#include "adaptation.hpp"
#include "headway/core/error.hpp"

namespace headway::sampling {
namespace {

constexpr int kMaxChains = 100000;
constexpr int kMaxTransitions = 100000000;
constexpr int kMaxTreeDepth = 24;

[[noreturn]] void refuse(std::string_view field, const std::string& value,
                         std::string_view allowed) {
  throw Error(ErrorKind::kBadStudy,
              fmt::format("sampler option {} = {}: allowed is {}", field, value, allowed));
}

void require_range(std::string_view field, int value, int low, int high) {
  if (value < low || value > high) {
    refuse(field, std::to_string(value), fmt::format("{} to {}", low, high));
  }
}

// low < value < high, both ends left out; NaN fails.
void require_between(std::string_view field, double value, double low, double high) {
  if (!(value > low && value < high)) {
    refuse(field, fmt::format("{}", value), fmt::format("above {} and below {}", low, high));
  }
}

void validate_counts(const SamplerOptions& o) {
  require_range("chains", o.chains, 1, kMaxChains);
  require_range("warmup", o.warmup, 0, kMaxTransitions);
  require_range("draws", o.draws, 1, kMaxTransitions);
  require_range("thin", o.thin, 1, kMaxTransitions / o.draws);
  require_range("threads", o.threads, 0, kMaxChains);
  require_range("max_tree_depth", o.max_tree_depth, 1, kMaxTreeDepth);
  require_range("max_leapfrog_steps", o.max_leapfrog_steps, 1, kMaxTransitions);
  require_range("start_attempts", o.start_attempts, 1, kMaxTransitions);
}

void validate_reals(const SamplerOptions& o) {
  const double infinity = std::numeric_limits<double>::infinity();
  require_between("target_accept", resolved_target_accept(o), 0.0, 1.0);
  require_between("step_size", o.step_size, 0.0, infinity);
  require_between("divergence_threshold", o.divergence_threshold, 0.0, infinity);
  require_between("integration_time", o.integration_time, 0.0, infinity);
  require_between("initial_radius", o.initial_radius, 0.0, infinity);
  if (!(o.step_size_jitter >= 0.0 && o.step_size_jitter < 1.0)) {
    refuse("step_size_jitter", fmt::format("{}", o.step_size_jitter), "0 to below 1");
  }
  if (!(o.checkpoint_seconds >= 0.0 && std::isfinite(o.checkpoint_seconds))) {
    refuse("checkpoint_seconds", fmt::format("{}", o.checkpoint_seconds), "0 (never) or more");
  }
}

void validate_starts(const SamplerOptions& o, Index dimension) {
  if (o.starts.empty()) return;
  if (o.starts.size() != static_cast<std::size_t>(o.chains)) {
    refuse("starts", fmt::format("{} positions", o.starts.size()),
           fmt::format("none, or one for each of the {} chains", o.chains));
  }
  for (std::size_t c = 0; c < o.starts.size(); ++c) {
    if (o.starts[c].size() != dimension || !o.starts[c].allFinite()) {
      refuse(fmt::format("starts[{}]", c), fmt::format("{} numbers", o.starts[c].size()),
             fmt::format("{} finite numbers", dimension));
    }
  }
}

}  // namespace

void SamplerOptions::validate(Index dimension) const {
  if (dimension < 1) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("target dimension = {}: allowed is 1 or more", dimension));
  }
  (void)sampler_name(sampler);  // throws for a value outside the enumeration
  (void)metric_name(metric);
  validate_counts(*this);
  validate_reals(*this);
  validate_starts(*this, dimension);
}

std::string_view sampler_name(SamplerKind kind) {
  switch (kind) {
    case SamplerKind::kNuts:
      return "nuts";
    case SamplerKind::kStaticHmc:
      return "hmc";
    case SamplerKind::kMala:
      return "mala";
    case SamplerKind::kLangevin:
      return "langevin";
    case SamplerKind::kSweep:
      return "sweep";
  }
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("sampler option sampler = {}: allowed is a SamplerKind", static_cast<int>(kind)));
}

std::string_view metric_name(MetricKind kind) {
  switch (kind) {
    case MetricKind::kUnit:
      return "unit";
    case MetricKind::kDiagonal:
      return "diagonal";
    case MetricKind::kDense:
      return "dense";
    case MetricKind::kInformation:
      return "information";
  }
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("sampler option metric = {}: allowed is a MetricKind", static_cast<int>(kind)));
}

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
