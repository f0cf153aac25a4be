#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/core/sha256.hpp"
#include "headway/study.hpp"
#include "headway/train_results.hpp"
#include "headway/training/trainer.hpp"
#include "headway/training/training_task.hpp"
#include "headway/types.hpp"

namespace headway {

/// A run of a train result with weights that it kept.
struct TrainedNetwork {
  Study study;                                    ///< of the run alone, without a sweep
  std::string study_name;                         ///< of the result
  std::string label;                              ///< of the run: run_label()
  std::string variant;                            ///< run_variant()
  Index run = 1;                                  ///< its number in the sweep, counted from 1
  Index step = 0;                                 ///< updates that the weights have seen
  std::string outcome;                            ///< of its training, where a file says it
  std::vector<training::NamedTensor> parameters;  ///< in any order
  std::string weights_sha256;                     ///< of the parameters
  std::string tokenizer;                          ///< as TrainTask's
  bool without_gpu = false;  ///< was trained on a GPU, and there is none here: the CPU reads it
  std::string data_hash;     ///< of the run's data where all runs of the result share it; else ""
  /// Of its examples, where the study alone does not tell it: that of arrays.
  std::optional<training::TaskFormat> format;
};

/// Which network it is, for records about it.
inline NetworkRun run_of(const TrainedNetwork& network) {
  return {network.run, network.label, network.variant, network.study.seed};
}

/// What is said of a network that is TrainedNetwork::without_gpu.
inline constexpr const char* kWithoutGpu =
    "trained on a GPU, of which there is none here; read on the CPU";

/// Adds names and values, in their order, to what is hashed.
void add_weights(const std::vector<training::NamedTensor>& parameters, Sha256& hash);
/// SHA-256 (hex) of the same.
std::string weights_hash(const std::vector<training::NamedTensor>& parameters);

/// Error{kBadStudy} unless the key of an overlay is among `allowed` (a name that ends in a dot: all
/// keys of that section): the weights stay those of the study that trained them.
void check_change_of_trained(const std::string& overlay, const std::string& key,
                             const std::vector<std::string>& allowed);

/// Error{kBadStudy} unless a run of this study gives heads to extract.
void check_extractable(const Study& study);

}  // namespace headway
