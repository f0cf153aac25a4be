#include "headway/verbs/networks/trained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/training/backend.hpp"

namespace headway {
namespace {

/// A sweep gives every run another task: which one is meant?
void refuse_swept_task(const Study& study) {
  for (const SweepAxis& axis : study.sweep) {
    if (axis.key != "task" && !axis.key.starts_with("task.")) continue;
    throw OptionError(fmt::format("sweep.{}: must be absent in a study that gives the data for "
                                  "another network: set the key to one value",
                                  axis.key),
                      {"sweep." + axis.key});
  }
}

/// What a token is, and what is asked of it.
std::string format_words(const training::TaskFormat& format) {
  const std::string tokens = format.vocabulary > 0 ? fmt::format("{} token ids", format.vocabulary)
                                                   : count_text(format.features, "number");
  const std::string asked = format.loss == training::LossKind::kCrossEntropy
                                ? fmt::format("{} classes", format.outputs)
                                : count_text(format.outputs, "output");
  return fmt::format("tokens of {} and {}", tokens, asked);
}

const training::NamedTensor* tensor_ending(const std::vector<training::NamedTensor>& tensors,
                                           std::string_view end) {
  for (const training::NamedTensor& tensor : tensors) {
    if (tensor.name.ends_with(end)) return &tensor;
  }
  return nullptr;
}

/// What the first and the last layer of the weights say of the task: {features or vocabulary,
/// outputs}; zeros where there are no such layers (linear-value networks check their own shapes).
std::pair<Index, Index> sizes_of(const TrainedNetwork& network) {
  const auto* embedding = tensor_ending(network.parameters, "embedding.weight");
  const auto* logits = tensor_ending(network.parameters, "logits.weight");
  if (embedding == nullptr || logits == nullptr || embedding->shape.size() != 2) return {0, 0};
  const bool ids = tensor_ending(network.parameters, "embedding.bias") == nullptr;
  return {embedding->shape[ids ? 0 : 1], logits->shape.front()};
}

/// Buckets of the relative positions as they were trained.
void keep_buckets(const TrainedNetwork& network, training::TransformerOptions& model) {
  if (model.network != training::NetworkKind::kTransformer) return;
  if (model.positions != training::Positions::kRelative || model.position_buckets > 0) return;
  const auto* positions = tensor_ending(network.parameters, ".positions");
  if (positions != nullptr) model.position_buckets = positions->shape.front();
}

training::TrainOptions evaluation_options(const Study& study) {
  training::TrainOptions run = resolved_run(study);
  run.best_split.clear();  // may be one that this task does not have
  if (run.precision != training::Precision::kFloat32 && training::training_available() &&
      training::resolve_device(run.device) != training::Device::kCuda) {
    run.precision = training::Precision::kFloat32;
  }
  return run;
}

template <class Set>
double share_in(const std::vector<Set>& wanted, const std::vector<Set>& known) {
  if (wanted.empty()) return 0.0;
  const auto seen = std::count_if(wanted.begin(), wanted.end(), [&](const Set& set) {
    return std::find(known.begin(), known.end(), set) != known.end();
  });
  return static_cast<double>(seen) / static_cast<double>(wanted.size());
}

/// One-shot images: the seed draws the vectors of the labels, which are part of what the network
/// reads. Characters that it was trained on must not get into its test set.
void check_same_characters(const TrainedNetwork& network, const Study& study) {
  if (study.task.seed != task_seed(network.study)) {
    throw OptionError(fmt::format("task.seed = {}: must be {}, as in the training of {}: it draws "
                                  "the vectors of the labels, which the network reads",
                                  *study.task.seed, task_seed(network.study), network.study_name),
                      {"task.seed"});
  }
  const OmniglotOptions& own = network.study.task.as<OmniglotOptions>();
  const OmniglotOptions& other = study.task.as<OmniglotOptions>();
  const auto known = std::ranges::find_if(other.files, [&](const std::string& file) {
    return std::ranges::find(own.files, file) != own.files.end();
  });
  if (known == other.files.end()) return;
  const auto refuse = [&](const std::string& key, const std::string& what) {
    throw OptionError(fmt::format("{}: must be {} as in the training of {}, which read {}: else "
                                  "the test set would have characters that it has seen",
                                  key, what, network.study_name, *known),
                      {key});
  };
  if (own.files != other.files) refuse("task.files", "the same files");
  if (own.images.validation != other.images.validation) {
    refuse("task.validation", fmt::format("{}", own.images.validation));
  }
  if (own.images.test != other.images.test) {
    refuse("task.test", fmt::format("{}", own.images.test));
  }
  if (own.images.split_by_group != other.images.split_by_group) {
    refuse("task.split_by_group", fmt::format("{}", own.images.split_by_group));
  }
}

}  // namespace

Study changed_study(const TrainedNetwork& network, const TaskChange& change) {
  Study study = network.study;
  study.task.seed = task_seed(study);
  if (change.study) {
    refuse_swept_task(*change.study);
    const auto seed = study.task.seed;
    study.task = change.study->task;
    if (!study.task.seed) study.task.seed = seed;
  }
  read_task(change.keys, study);
  if (study.task.kind() != network.study.task.kind()) {
    throw OptionError(fmt::format("task.kind = \"{}\": must be \"{}\", which {} was trained on",
                                  word_of(study.task.kind()), word_of(network.study.task.kind()),
                                  network.study_name),
                      {"task.kind"});
  }
  check_study(study);
  if (study.task.kind() == TaskKind::kArrays) {
    tasks::ArrayCounts& counts = study.task.as<ArraysTaskOptions>().arrays.counts;
    std::tie(counts.least_vocabulary, counts.least_classes) = sizes_of(network);
  }
  if (study.task.kind() == TaskKind::kOmniglot) check_same_characters(network, study);
  return study;
}

std::vector<TrainedNetwork> trained_networks(const std::vector<TrainRun>& runs,
                                             const TrainResult& result, KeptWeights weights) {
  std::vector<TrainedNetwork> out;
  for (const TrainedRun& run : result.runs) {
    if (run.summary.outcome != training::TrainOutcome::kFinished) continue;
    const auto plan = std::find_if(runs.begin(), runs.end(), [&](const TrainRun& one) {
      return one.settings == run.settings;
    });
    if (plan == runs.end()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("run \"{}\" of the result is none of its study's", run.label));
    }
    const bool best = weights == KeptWeights::kBest;
    TrainedNetwork& network = out.emplace_back();
    network.study = plan->study;
    network.study_name = plan->study.name;
    network.label = run.label;
    network.variant = run.variant;
    network.run = plan - runs.begin() + 1;
    network.step = best ? run.summary.best_step : run.summary.steps;
    network.parameters = best ? run.state.best_parameters : run.state.parameters;
    network.tokenizer = run.tokenizer;
    network.format = run.format;
  }
  return out;
}

void require_same_tokens(const TrainedNetwork& network, const TrainTask& task) {
  const training::TaskFormat& format = task.task->format();
  const auto [inputs, outputs] = sizes_of(network);
  const Index wanted = std::max(format.features, format.vocabulary);
  if (inputs != 0 && (inputs != wanted || outputs != format.outputs)) {
    throw OptionError(
        fmt::format("[task]: gives {}: must be {} and {}, as in the training of the network",
                    format_words(format), inputs, outputs),
        {"task"});
  }
  if (task.tokenizer != network.tokenizer) {
    throw OptionError(
        "task.file: gives another tokenizer than the network has: must be the text that the "
        "network was trained on. Networks of bytes take any text",
        {"task.file"});
  }
}

ReadyNetwork ready_network(const TrainedNetwork& network, const Study& study,
                           const TaskMaker& make_task) {
  ReadyNetwork ready;
  ready.task = make_task(study);
  require_same_tokens(network, ready.task);
  training::TransformerOptions model = network.study.train.model;
  keep_buckets(network, model);
  ready.trainer =
      std::make_unique<training::Trainer>(model, evaluation_options(study), *ready.task.task);
  ready.trainer->set_parameters(network.parameters);
  return ready;
}

ReadyNetwork ready_for_gradients(const TrainedNetwork& network, int threads,
                                 const TaskMaker& make_task) {
  TrainedNetwork plain = network;
  plain.study.train.model.load_balancing = 0.0;
  Study run = plain.study;
  run.threads = threads;
  return ready_network(plain, run, make_task);
}

double held_out_seen_in_training(const TrainedNetwork& network, const Study& study) {
  const auto own_and_other = [&](auto options) {
    using Options = decltype(options);
    auto own = network.study.task.as<Options>(), other = study.task.as<Options>();
    own.seed = task_seed(network.study);
    other.seed = task_seed(study);
    return std::pair(own, other);
  };
  if (network.study.task.kind() == TaskKind::kFuzzyLogic) {
    const auto [own, other] = own_and_other(tasks::FuzzyLogicOptions());
    return share_in(tasks::split_fuzzy_logic_tasks(other).held_out,
                    tasks::split_fuzzy_logic_tasks(own).train);
  }
  if (network.study.task.kind() == TaskKind::kSraven) {
    const auto [own, other] = own_and_other(tasks::SravenOptions());
    return share_in(tasks::split_sraven_rule_sets(other).held_out,
                    tasks::split_sraven_rule_sets(own).train);
  }
  if (network.study.task.kind() == TaskKind::kText) {
    const TextTaskOptions& own = network.study.task.as<TextTaskOptions>();
    const TextTaskOptions& other = study.task.as<TextTaskOptions>();
    if (own.file != other.file) return 0.0;
    const double both = other.text.held_out - (own.text.held_out + own.text.validation);
    return std::max(0.0, both / other.text.held_out);
  }
  return 0.0;
}

void warn_of_seen_tasks(const std::string& name, double seen, const Study& study,
                        Observer& observer) {
  if (seen == 0.0) return;
  const bool text = study.task.kind() == TaskKind::kText;
  observer.warning(
      fmt::format("{}: the network was trained on {:.0f} % of {}, because another {} differently",
                  name, 100.0 * seen, text ? "this held-out text" : "these held-out tasks",
                  text ? "share splits it" : "seed or share splits them"));
}

}  // namespace headway
