#include "headway/sampling/checkpoint.hpp"

#include <fmt/format.h>

#include <bit>
#include <sstream>

#include "headway/error.hpp"

namespace headway::sampling {
namespace {

std::uint64_t hash_of(const std::vector<VectorXd>& starts) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a over the words
  for (const VectorXd& start : starts) {
    for (const double x : start) hash = (hash ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001b3ULL;
  }
  return hash;
}

[[noreturn]] void does_not_fit(int chain, std::string_view field, std::int64_t has,
                               std::int64_t needs) {
  throw Error(ErrorKind::kBadData, fmt::format("checkpoint, chain {}: {} has size {}, expected {}",
                                               chain + 1, field, has, needs));
}

void require_size(int chain, std::string_view field, std::int64_t has, std::int64_t needs) {
  if (has != needs) does_not_fit(chain, field, has, needs);
}

Index metric_columns(const SamplerOptions& options, Index dimension) {
  if (!uses_gradient(options.sampler) || options.metric == MetricKind::kUnit) return 0;
  return is_full_matrix(options.metric) ? dimension : 1;
}

// Checks the hotter replicas of a chain. Within a round they may be one kept draw ahead of it.
void require_ladder(const ChainState& state, const SamplerOptions& options, Index d,
                    std::int64_t kept) {
  const auto replicas = static_cast<std::int64_t>(options.replicas);
  const LadderState& ladder = state.ladder;
  const auto size_of = [](const auto& list) { return static_cast<std::int64_t>(list.size()); };
  require_size(state.chain, "ladder.inverse_temperatures", size_of(ladder.inverse_temperatures),
               replicas);
  require_size(state.chain, "ladder.log_likelihood", size_of(ladder.log_likelihood), replicas);
  require_size(state.chain, "ladder.rejected", size_of(ladder.rejected), replicas - 1);
  require_size(state.chain, "ladder.attempts", size_of(ladder.attempts), replicas - 1);
  require_size(state.chain, "log_likelihoods", size_of(state.log_likelihoods), kept);
  for (std::size_t k = 0; k < state.replicas.size(); ++k) {
    const ChainState& replica = state.replicas[k];
    require_size(state.chain, "replica's position", replica.position.size(), d);
    const std::int64_t ahead = size_of(replica.log_likelihoods) - kept;
    if (ahead < 0 || ahead > 1) {
      does_not_fit(state.chain, "replica's log_likelihoods", kept + ahead, kept);
    }
  }
}

void require_consistent(const ChainState& state, const SamplerOptions& options, Index d) {
  const int chain = state.chain;
  const Index columns = metric_columns(options, d);
  require_size(chain, "position", state.position.size(), d);
  require_size(chain, "gradient", state.gradient.size(), uses_gradient(options.sampler) ? d : 0);
  require_size(chain, "inverse_metric", state.inverse_metric.size(), d * columns);
  const auto kept = static_cast<std::int64_t>(state.statistics.size());
  require_size(chain, "draws", static_cast<std::int64_t>(state.draws.size()),
               options.keep_draws ? kept * d : 0);
  if (state.window.squares.size() > 0) {
    require_size(chain, "window.mean", state.window.mean.size(), d);
    require_size(chain, "window.squares", state.window.squares.size(), d * columns);
  }
  if (state.iteration < 0) does_not_fit(chain, "iteration", state.iteration, 0);
  const std::int64_t after_warmup = std::max<std::int64_t>(0, state.iteration - options.warmup);
  require_size(chain, "statistics", kept, after_warmup / options.thin);
  const std::int64_t hot = options.replicas - 1;
  require_size(chain, "replicas", static_cast<std::int64_t>(state.replicas.size()), hot);
  if (hot > 0) require_ladder(state, options, d, kept);
  if (kept > options.draws) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("sampler option draws = {}: chain {} of the checkpoint already has {}",
                            options.draws, chain + 1, kept));
  }
}

}  // namespace

Eigen::Map<const MatrixXd> ChainState::draw_matrix() const {
  const Index d = position.size();
  const Index count = d > 0 ? static_cast<Index>(draws.size()) / d : 0;
  return {draws.data(), d, count};
}

std::string describe_settings(const SamplerOptions& options, Index dimension,
                              std::string_view target_fingerprint) {
  std::string text;
  const auto add = [&text](std::string_view key, const auto& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  add("sampler", sampler_name(options.sampler));
  add("dimension", dimension);
  add("target", target_fingerprint);
  add("chains", options.chains);
  add("warmup", options.warmup);
  add("thin", options.thin);
  add("seed", options.seed);
  add("first_stream", options.first_stream);
  add("metric", metric_name(options.metric));
  add("target_accept", resolved_target_accept(options));
  add("step_size", options.step_size);
  add("max_tree_depth", options.max_tree_depth);
  add("divergence_threshold", options.divergence_threshold);
  add("integration_time", options.integration_time);
  add("step_size_jitter", options.step_size_jitter);
  add("max_leapfrog_steps", options.max_leapfrog_steps);
  add("initial_radius", options.initial_radius);
  add("start_attempts", options.start_attempts);
  add("starts", fmt::format("{:016x}", hash_of(options.starts)));
  add("keep_draws", options.keep_draws);
  if (options.replicas > 1) {  // checkpoints of single chains do not have the lines
    add("replicas", options.replicas);
    std::string schedule;
    for (const double beta : options.inverse_temperatures) {
      schedule += fmt::format("{}{:.17g}", schedule.empty() ? "" : " ", beta);
    }
    add("inverse_temperatures", schedule.empty() ? "adapted" : schedule);
  }
  return text;
}

void require_matching(const Checkpoint& checkpoint, const SamplerOptions& options, Index dimension,
                      std::string_view target_fingerprint) {
  std::istringstream has(checkpoint.settings);
  std::istringstream wanted(describe_settings(options, dimension, target_fingerprint));
  std::string has_line;
  std::string wanted_line;
  while (std::getline(wanted, wanted_line)) {
    if (!std::getline(has, has_line)) has_line = "(nothing)";
    if (has_line != wanted_line) {
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("the checkpoint belongs to another run: it has \"{}\", this run has "
                              "\"{}\"",
                              has_line, wanted_line));
    }
  }
  require_size(-1, "chains", static_cast<std::int64_t>(checkpoint.chains.size()), options.chains);
  for (std::size_t c = 0; c < checkpoint.chains.size(); ++c) {
    const ChainState& state = checkpoint.chains[c];
    if (state.chain != static_cast<int>(c)) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("checkpoint: chain {} stands in the place of chain {}",
                              state.chain + 1, c + 1));
    }
    if (state.started) require_consistent(state, options, dimension);
  }
}

}  // namespace headway::sampling
