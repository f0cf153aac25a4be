#pragma once

#include <memory>
#include <vector>

#include "chain.hpp"
#include "headway/sampling/checkpoint.hpp"

namespace headway::sampling {

/// Replica exchange for one chain. Hotter replicas of it run beside it at inverse temperatures
///   1 = beta_0 > beta_1 > ... > beta_{R-1} = 0
/// of the likelihood; the last draws from the prior. Before each transition neighbours k and k + 1
/// may exchange their positions, with probability
///   min(1, exp((beta_k - beta_{k+1}) (l_{k+1} - l_k))),   l: log likelihood (eq. 75),
/// in even rounds for even k, in odd rounds for odd k. So a chain reaches modes that it would not
/// find by itself. In the warm-up the beta_k are moved until all neighbours reject equally often.
/// For that the sum of rejections up to a beta, a smooth function of beta, is interpolated (Syed,
/// Bouchard-Cote, Deligiannidis and Doucet, J. R. Stat. Soc. B 84 (2022) 321).
class Ladder {
 public:
  /// `main`: the chain of `state`, at beta = 1. Error{kBadStudy} when the target has no
  /// temperature.
  Ladder(Chain& main, const Target& target, const SamplerOptions& options, ChainState& state,
         StopSignal* stop);

  /// Starts all hotter replicas.
  void start();
  /// Exchanges, then makes a transition of every hotter replica. False when stopped: the next call
  /// then continues where this one ended.
  bool advance();
  /// After the transition of the chain itself.
  void end_round(bool kept);
  void save();

 private:
  struct Replica {
    SamplerOptions options;
    std::unique_ptr<Chain> chain;
  };
  Chain& at(std::size_t replica);
  void tell(std::size_t replica);
  void exchange();
  void choose_temperatures();
  void set_temperatures();

  Chain& main_;
  const SamplerOptions& options_;
  ChainState& state_;
  StopSignal* stop_;
  Rng rng_;
  std::vector<std::unique_ptr<Replica>> replicas_;  // of replica 1, 2, ...
};

}  // namespace headway::sampling
