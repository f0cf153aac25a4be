#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/option_value.hpp"
#include "headway/results/trained_network.hpp"
#include "headway/study.hpp"
#include "headway/train.hpp"
#include "headway/training/trainer.hpp"

namespace headway {

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
