#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headway/posterior/posterior_target.hpp"
#include "headway/sampling/target.hpp"
#include "headway/studies/sample_results.hpp"
#include "problem.hpp"

/// Private to studies: what `sample` keeps of every draw.
namespace headway::studies {

/// Order parameters of every kept draw and running sums of the predictor, chain by chain. Plain
/// data, so that a checkpoint can hold it.
struct ChainRecord {
  std::vector<double>
      entries;  // lower triangles of U_1, ..., U_L, U_a of each draw, one draw after another
  std::vector<double> positions;   // unconstrained states, where kept
  std::vector<double> accuracies;  // of each draw's mean predictor, where it was computed
  Index draws = 0;
  Index predictions = 0;
  MatrixXd mean_sum, mean_square_sum, variance_sum;  // examples of the Evaluation x C
};

class PosteriorRecorder final : public sampling::DrawRecorder {
 public:
  /// Keeps positions when `keep_positions`; computes the predictor for `predictor_draws` of each
  /// chain's `draws` (all where that is more), evenly spaced.
  PosteriorRecorder(int chains, bool keep_positions, Index draws, Index predictor_draws,
                    const Evaluation& evaluation);

  void record(const sampling::Draw& draw, sampling::Target& target) override;

  [[nodiscard]] const std::vector<ChainRecord>& chains() const { return chains_; }
  /// Byte form for a checkpoint, which is taken between transitions, where record and run agree.
  [[nodiscard]] std::vector<std::uint8_t> to_bytes() const;
  void from_bytes(std::span<const std::uint8_t> bytes);

 private:
  /// Whether the predictor is wanted at draw number `draw`, from 0.
  [[nodiscard]] bool predicts(Index draw) const;

  bool keep_positions_;
  Index draws_;
  Index predictor_draws_;
  const Evaluation& evaluation_;
  std::vector<ChainRecord> chains_;
};

}  // namespace headway::studies
