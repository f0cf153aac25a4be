#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/option_value.hpp"
#include "headway/core/sha256.hpp"
#include "headway/study.hpp"
#include "headway/train.hpp"
#include "headway/training/trainer.hpp"

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

/// What differs between the data of a trained network's own task and those it is put on.
struct TaskChange {
  /// A study whose [task] takes the place of the network's, whole. Where it has no task.seed, that
  /// of the network's data stays, and with it the splits.
  std::optional<Study> study;
  /// A table of keys of [task] that are set after that.
  OptionValue keys{OptionValue::Table{}, {}};
};

/// The study of a network with its task changed; task.seed is given there in any case. Error
/// {kBadStudy} for a task of another kind, an unknown key, a value out of range, or a study that
/// sweeps over its task.
Study changed_study(const TrainedNetwork& network, const TaskChange& change);

/// The runs of a result in memory that were trained to their end.
std::vector<TrainedNetwork> trained_networks(const std::vector<TrainRun>& runs,
                                             const TrainResult& result, KeptWeights weights);

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

/// Error{kBadStudy} unless the task's tokens and outputs are those that the network reads and
/// writes.
void require_same_tokens(const TrainedNetwork& network, const TrainTask& task);

/// A trained network on a task: the trainer refers to the task.
struct ReadyNetwork {
  TrainTask task;
  std::unique_ptr<training::Trainer> trainer;
};

/// The network with its weights, ready for evaluate(), outputs() and latent_codes() on the task of
/// `study` (the network's own, or one of changed_study(); its threads and its train.device,
/// train.eval_batch and train.eval_examples count, nothing else of [train]). Relative positions
/// keep the buckets that were trained, whatever the length of the sequences: distances beyond share
/// the last one. Errors: kBadStudy when the task's tokens or outputs are not those that the network
/// reads and writes (other features, classes, vocabulary, tokenizer); kBadData when the weights are
/// not those of the network that the study describes; kUnavailable without LibTorch or CUDA; those
/// of `make_task`.
ReadyNetwork ready_network(const TrainedNetwork& network, const Study& study,
                           const TaskMaker& make_task);

/// The same on the network's own task, on `threads` threads. Its gradients are those of the loss
/// alone, without the term that keeps experts equally busy.
ReadyNetwork ready_for_gradients(const TrainedNetwork& network, int threads,
                                 const TaskMaker& make_task);

/// The share of the held-out split of `study` that the network was trained on: of its tasks (fuzzy
/// logic), rule sets (SRAVEN) or bytes (text, of the same file). It is above 0 where the study
/// splits otherwise, by another seed or another share. 0 for other kinds of task.
double held_out_seen_in_training(const TrainedNetwork& network, const Study& study);

/// Warns where that share, `seen`, is above 0. `name`: of the network.
void warn_of_seen_tasks(const std::string& name, double seen, const Study& study,
                        Observer& observer);

}  // namespace headway
