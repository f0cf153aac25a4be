#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "headway/core/interruption.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/predict_networks.hpp"
#include "results/answers.hpp"
#include "tasks/bpe_library.hpp"
#include "verbs/named_splits.hpp"
#include "verbs/networks/keep_runs.hpp"
#include "verbs/networks/new_examples.hpp"

namespace headway {
namespace {

constexpr Index kOutputsAtATime = Index{1} << 22;  // numbers

/// How many examples of all networks are done, told to the observer after each block.
struct PredictionProgress {
  Observer& observer;
  double done = 0.0, all = 1.0;

  /// Error{kInterrupted} where the computation is to stop.
  void add(Index examples) {
    throw_if_interrupted(observer);
    done += static_cast<double>(examples);
    observer.whole("predict", done, all);
  }
};

ReadyNetwork ready_with(const TrainedNetwork& network,
                        std::unique_ptr<training::TrainingTask> task) {
  return ready_network(network, network.study, [&](const Study&) {
    TrainTask out;
    out.task = std::move(task);
    out.tokenizer = network.tokenizer;
    return out;
  });
}

/// Calls take(first example, its outputs [scored, O]) for all examples of a split, in order.
void for_each_output(const ReadyNetwork& ready, const std::string& split,
                     PredictionProgress& progress,
                     const std::function<void(Index, std::span<const float>)>& take) {
  const training::TaskFormat& format = ready.task.task->format();
  const Index size = ready.task.task->size(split);
  const Index numbers = format.scored * format.outputs;
  const training::TrainOptions& run = ready.trainer->options();
  const Index most = std::clamp<Index>(kOutputsAtATime / numbers, 1, run.evaluated_at_a_time());
  for (Index first = 0; first < size; first += most) {
    const Index count = std::min(most, size - first);
    const std::vector<float> outputs = ready.trainer->outputs(split, first, count);
    for (Index i = 0; i < count; ++i) {
      take(first + i, std::span(outputs).subspan(static_cast<std::size_t>(i * numbers),
                                                 static_cast<std::size_t>(numbers)));
    }
    progress.add(count);
  }
}

/// softmax(logits)
std::vector<double> probabilities(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> out;
  double sum = 0.0;
  for (const float x : logits) sum += out.emplace_back(std::exp(x - largest));
  for (double& p : out) p /= sum;
  return out;
}

NetworkAnswers answers_on(const ReadyNetwork& ready, const tasks::NamedSplit& set,
                          PredictionProgress& progress) {
  const training::TaskFormat& format = ready.task.task->format();
  const bool classes = format.loss == training::LossKind::kCrossEntropy;
  NetworkAnswers out;
  out.name = set.name;
  out.mean.shape = {set.split.size()};
  if (format.scored > 1) out.mean.shape.push_back(format.scored);
  if (classes || format.outputs > 1) out.mean.shape.push_back(format.outputs);
  const auto row = static_cast<std::size_t>(format.outputs);
  for_each_output(ready, set.name == "train" ? kTrainInputs : set.name, progress,
                  [&](Index, std::span<const float> outputs) {
                    for (std::size_t at = 0; at < outputs.size(); at += row) {
                      const std::span<const float> one = outputs.subspan(at, row);
                      const std::vector<double> kept =
                          classes ? probabilities(one)
                                  : std::vector<double>(one.begin(), one.end());
                      out.mean.values.insert(out.mean.values.end(), kept.begin(), kept.end());
                    }
                  });
  if (classes) out.predicted_class = likeliest_classes(out.mean);
  if (format.signs) out.predicted_class = signs_of(out.mean);
  return out;
}

/// A text in the tokens of one network.
struct Tokens {
  std::unique_ptr<tasks::Tokenizer> tokenizer;
  std::vector<std::int32_t> ids;
};

Tokens tokens_of(const TrainedNetwork& network, const std::string& name, const std::string& text) {
  if (!network.study.train.model.causal) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("train.causal = false: must be true to predict the next tokens of a "
                            "text; {} sees what follows",
                            network.label.empty() ? network.study_name : network.label));
  }
  if (!network.tokenizer.empty()) tasks::detail::require_encodable(text, name);
  Tokens out;
  out.tokenizer = tokenizer_of(network.tokenizer, network.study_name);
  out.ids = out.tokenizer->encode(text);
  if (!out.ids.empty()) return out;
  throw Error(ErrorKind::kBadData, name + ": has no text; allowed: one token or more");
}

NetworkAnswers answers_to_text(const TrainedNetwork& network, const Tokens& tokens,
                               std::size_t bytes, PredictionProgress& progress) {
  const ReadyNetwork ready = ready_with(network, make_window_task(network, tokens.ids));
  const training::TaskFormat& format = ready.task.task->format();
  const auto vocabulary = static_cast<std::size_t>(format.vocabulary);
  const auto length = static_cast<Index>(tokens.ids.size());
  NetworkAnswers out;
  out.name = "text";
  out.bits.assign(tokens.ids.size(), numerics::kUndefined);
  double sum = 0.0;
  for_each_output(ready, kWindows, progress, [&](Index window, std::span<const float> outputs) {
    for (Index t = 0; t < format.tokens; ++t) {
      const auto next = static_cast<std::size_t>(window * format.tokens + t + 1);
      if (static_cast<Index>(next) >= length) return;
      const std::vector<double> p =
          probabilities(outputs.subspan(static_cast<std::size_t>(t) * vocabulary, vocabulary));
      out.bits[next] = -std::log2(p[static_cast<std::size_t>(tokens.ids[next])]);
      sum += out.bits[next];
    }
  });
  const auto first = tokens.tokenizer->decode({tokens.ids.data(), 1}).size();
  out.bits_per_byte =
      bytes > first ? sum / static_cast<double>(bytes - first) : numerics::kUndefined;
  const auto last = static_cast<std::size_t>(std::min(length, format.tokens) - 1);
  for_each_output(ready, kEnd, progress, [&](Index, std::span<const float> outputs) {
    out.next = probabilities(outputs.subspan(last * vocabulary, vocabulary));
  });
  out.likeliest = likeliest_of(out.next, *tokens.tokenizer);
  return out;
}

/// Calls answers(network) for each, until interrupted.
template <class Answers>
NetworkPredictResult predict_each(const std::vector<TrainedNetwork>& networks,
                                  const std::string& name, const Observer& observer,
                                  const Answers& answers) {
  NetworkPredictResult result;
  result.inputs = name;
  keep_runs(result, networks, observer, [&](const TrainedNetwork& network) {
    result.threads = resolve_threads(network.study.threads);
    return PredictingRun{run_of(network), network.step, answers(network), network.tokenizer};
  });
  return result;
}

}  // namespace

NetworkPredictResult predict_inputs(const std::vector<TrainedNetwork>& networks,
                                    const tasks::Dataset& inputs, Observer& observer) {
  require_readable_inputs(networks, inputs);
  const std::vector<tasks::NamedSplit> sets = named_splits(inputs);
  PredictionProgress progress{observer};
  progress.all = 0.0;
  for (const tasks::NamedSplit& set : sets) {
    progress.all += static_cast<double>(set.split.size()) * static_cast<double>(networks.size());
  }
  return predict_each(networks, inputs.name, observer, [&](const TrainedNetwork& network) {
    const ReadyNetwork ready = ready_with(network, make_input_task(network, inputs));
    std::vector<NetworkAnswers> all;
    for (const tasks::NamedSplit& set : sets) all.push_back(answers_on(ready, set, progress));
    return all;
  });
}

NetworkPredictResult predict_text(const std::vector<TrainedNetwork>& networks,
                                  const std::string& name, const std::string& text,
                                  Observer& observer) {
  std::vector<Tokens> tokens;  // all before the first, so that faults show early
  PredictionProgress progress{observer};
  progress.all = 0.0;
  for (const TrainedNetwork& network : networks) {
    tokens.push_back(tokens_of(network, name, text));
    const Index most = network.study.task.as<TextTaskOptions>().text.sequence_length;
    const auto windows = (static_cast<Index>(tokens.back().ids.size()) + most - 1) / most;
    progress.all += static_cast<double>(windows) + 1.0;
  }
  return predict_each(networks, name, observer, [&](const TrainedNetwork& network) {
    const auto at = static_cast<std::size_t>(&network - networks.data());
    return std::vector{answers_to_text(network, tokens[at], text.size(), progress)};
  });
}

std::vector<tasks::NamedSplit> input_splits(const tasks::Dataset& inputs) {
  return named_splits(inputs);
}

void require_readable_inputs(const std::vector<TrainedNetwork>& networks,
                             const tasks::Dataset& inputs) {
  for (const TrainedNetwork& network : networks) {
    static_cast<void>(make_input_task(network, inputs));
  }
}

void require_predictable_text(const std::vector<TrainedNetwork>& networks, const std::string& name,
                              const std::string& text) {
  for (const TrainedNetwork& network : networks) static_cast<void>(tokens_of(network, name, text));
}

}  // namespace headway
