#include "results/progress_text.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace headway {
namespace {

/// The line of the settings that says what is sampled.
std::string target_of(const std::string& settings) {
  constexpr std::string_view kKey = "\ntarget = ";
  const std::size_t begin = settings.find(kKey);
  if (begin == std::string::npos) return "(missing)";
  const std::size_t end = settings.find('\n', begin + 1);
  return settings.substr(begin + kKey.size(), end - begin - kKey.size());
}

}  // namespace

std::string progress_text(const SampleState& state) {
  std::size_t least = state.run.chains.empty() ? 0 : state.run.chains.front().statistics.size();
  std::size_t most = least;
  for (const sampling::ChainState& chain : state.run.chains) {
    least = std::min(least, chain.statistics.size());
    most = std::max(most, chain.statistics.size());
  }
  return fmt::format(
      "  point      {}\n"
      "  state      {} chains, {} to {} draws each after warm-up, {:.3g} s so far\n",
      shown(target_of(state.run.settings)), state.run.chains.size(), least, most, state.seconds);
}

std::string progress_text(const TrainedRun& run) {
  const training::TrainState& state = run.state;
  std::string out = fmt::format(
      "  run        {}, seed {}: {} after {} steps, train loss {:.4g}\n"
      "  state      step {}, {} examples seen, {} parameters in {} arrays",
      shown(run.label), run.seed, word_of(run.summary.outcome), run.summary.steps,
      final_train_loss(run), state.step, state.examples, run.cost.parameters,
      state.parameters.size());
  if (state.best_step >= 0) {
    out += fmt::format("; best at step {}, loss {:.6g}", state.best_step, state.best_loss);
  }
  return out + "\n";
}

}  // namespace headway
