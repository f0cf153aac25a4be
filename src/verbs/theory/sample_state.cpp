#include "verbs/theory/sample_state.hpp"

#include <algorithm>

#include "headway/error.hpp"
#include "headway/study.hpp"

namespace headway {
namespace {

/// Takes from `more` the chains that have come further.
void overtake(SampleState& state, SampleState more) {
  bool further = false;
  const std::size_t chains = std::min(state.run.chains.size(), more.run.chains.size());
  for (std::size_t c = 0; c < chains; ++c) {
    if (more.run.chains[c].iteration <= state.run.chains[c].iteration) continue;
    further = true;
    state.run.chains[c] = std::move(more.run.chains[c]);
    state.records.at(c) = std::move(more.records.at(c));
  }
  if (further) state.seconds += more.seconds;
}

}  // namespace

std::optional<sampling::Checkpoint> resume(const SampleHooks& hooks, std::size_t point,
                                           std::pair<int, int> chains, SampleState& state) {
  std::optional<SampleState> earlier = hooks.load ? hooks.load(point) : std::nullopt;
  for (int c = chains.first; hooks.load_chains && c < chains.second; ++c) {
    std::optional<SampleState> apart = hooks.load_chains(point, static_cast<std::size_t>(c));
    if (apart && earlier) {
      overtake(*earlier, *std::move(apart));
    } else if (apart) {
      earlier = std::move(apart);
    }
  }
  if (!earlier) return std::nullopt;
  state = *std::move(earlier);
  bool fits = state.records.size() == state.run.chains.size();
  for (std::size_t c = 0; fits && c < state.records.size(); ++c) {
    const auto kept = static_cast<Index>(state.run.chains[c].statistics.size());
    fits = state.records[c].draws == kept;
  }
  if (!fits) {
    throw Error(ErrorKind::kBadData,
                "checkpoint: the records of the draws do not belong to its chains");
  }
  return std::move(state.run);
}

void leave_kept_chains(const std::vector<int>& chains, sampling::Checkpoint& run,
                       std::vector<ChainRecord>& records) {
  std::size_t count = 0;
  for (const int chain : chains) {
    const auto from = static_cast<std::size_t>(chain);
    if (from != count) {
      run.chains[count] = std::move(run.chains[from]);
      records[count] = std::move(records[from]);
    }
    ++count;
  }
  run.chains.resize(count);
  records.resize(count);
}

void keep_alone(std::pair<int, int> chains, sampling::Checkpoint& run, SampleState& state) {
  for (int c = 0; c < static_cast<int>(run.chains.size()); ++c) {
    if (c >= chains.first && c < chains.second) continue;
    run.chains[static_cast<std::size_t>(c)] = {};
    run.chains[static_cast<std::size_t>(c)].chain = c;
    state.records[static_cast<std::size_t>(c)] = {};
  }
}

}  // namespace headway
