#pragma once

#include <vector>

#include "headway/posterior/posterior_target.hpp"
#include "headway/results/sample_state.hpp"
#include "headway/sample_results.hpp"
#include "headway/sampling/target.hpp"
#include "verbs/theory/problem.hpp"

/// Private to verbs: what `sample` keeps of every draw.
namespace headway {

/// Fills the records of a sampling run.
class PosteriorRecorder final : public sampling::DrawRecorder {
 public:
  /// Adds to `records`, one for each chain, which must outlive the recorder. Keeps positions when
  /// `keep_positions`; computes the predictor for `predictor_draws` of each chain's `draws` (all
  /// where that is more), evenly spaced.
  PosteriorRecorder(std::vector<ChainRecord>& records, bool keep_positions, Index draws,
                    Index predictor_draws, const Evaluation& evaluation);

  void record(const sampling::Draw& draw, sampling::Target& target) override;

  /// Whether draw number `draw`, from 0, is one of the `wanted` of `draws` that predict: evenly
  /// spaced.
  static bool predicts(Index draw, Index wanted, Index draws) {
    return (draw + 1) * wanted / draws > draw * wanted / draws;
  }

 private:
  std::vector<ChainRecord>& records_;
  bool keep_positions_;
  Index draws_;
  Index predictor_draws_;
  const Evaluation& evaluation_;
};

}  // namespace headway
