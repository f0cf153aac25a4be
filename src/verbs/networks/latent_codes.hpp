// Latent codes of a network and what is asked of them, for one kind of task.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headway/analysis/decoding.hpp"
#include "headway/latents.hpp"

namespace headway {

/// A decoder's question: its name, and labels of both splits without codes.
struct LatentQuestion {
  std::string name;
  analysis::DecodingOptions options;
  analysis::DecodingData train, held_out;
};

/// The examples of a task that codes are taken of.
struct LatentExamples {
  LatentLabels train, held_out;
  std::vector<std::string> label_names;
  /// Pairs of tokens that any example needs; example i takes `pairs_per_code` of them from
  /// features[i] * pairs_per_code on (0 where there are no features).
  std::vector<training::TokenPair> pairs;
  Index pairs_per_code = 1;
  std::vector<LatentQuestion> questions;
};

/// Of the study's task, study.latents.examples of either split, or as many as it has. Errors: as
/// check_latents(); kBadData for examples of one's own without factors or a held-out set.
LatentExamples latent_examples(const Study& study, const training::TrainingTask& task);

/// Codes of both splits, layer by layer.
struct LatentCodes {
  std::vector<MatrixXd> train, held_out;  ///< [layers] of [n, pairs_per_code H]
};
/// Of the layers of the decoder alone where the network has an encoder.
LatentCodes latent_codes(training::Trainer& trainer, const LatentExamples& examples);

}  // namespace headway
