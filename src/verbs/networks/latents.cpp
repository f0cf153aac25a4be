#include "headway/latents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "headway/core/interruption.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "verbs/networks/keep_runs.hpp"
#include "verbs/networks/latent_codes.hpp"

namespace headway {
namespace {

/// Layers from 1, as study.latents.layers has them, or all.
std::vector<Index> wanted_layers(const Study& study) {
  std::vector<Index> out = study.latents.layers;
  for (Index l = 1; out.size() < static_cast<std::size_t>(study.train.model.layers) &&
                    study.latents.layers.empty();
       ++l) {
    out.push_back(l);
  }
  return out;
}

MatrixXd joined_codes(const std::vector<MatrixXd>& codes, const std::vector<Index>& layers) {
  const Index width = codes.front().cols();
  MatrixXd out(codes.front().rows(), width * static_cast<Index>(layers.size()));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    out.middleCols(static_cast<Index>(i) * width, width) =
        codes[static_cast<std::size_t>(layers[i] - 1)];
  }
  return out;
}

/// Codes of one entry of the report: of a layer, or of several together.
struct CodePair {
  MatrixXd train, held_out;
};

CodePair codes_at(const LatentCodes& codes, const std::vector<Index>& layers) {
  return {joined_codes(codes.train, layers), joined_codes(codes.held_out, layers)};
}

analysis::Decoding decode_with(const LatentQuestion& question, const CodePair& codes) {
  analysis::DecodingData train = question.train, held_out = question.held_out;
  train.codes = codes.train;
  held_out.codes = codes.held_out;
  return analysis::decode(train, held_out, question.options);
}

/// What one entry of the report is decoded from: one layer, or all of them together.
struct LayerWork {
  std::vector<Index> layers;
  CodePair trained, untrained;
};

LatentLayer report_on(const LayerWork& work, const LatentExamples& examples, Index heads,
                      const Observer& observer) {
  LatentLayer out;
  out.layer = work.layers.size() == 1 ? work.layers.front() : 0;
  out.codes = work.trained.train.rows();
  out.heads = heads;
  out.pairs = examples.pairs_per_code;
  for (const LatentQuestion& question : examples.questions) {
    throw_if_interrupted(observer);
    DecoderReport& report = out.decoders.emplace_back();
    report.name = question.name;
    report.kind = question.options.kind;
    report.metric = question.options.metric;
    report.decoding = decode_with(question, work.trained);
    LatentQuestion control = question;
    control.options.shuffles = 0;
    const analysis::Decoding untrained = decode_with(control, work.untrained);
    report.untrained = untrained.held_out;
    report.decoding.converged = report.decoding.converged && untrained.converged;
    report.untrained_standard_error = untrained.standard_error;
  }
  out.similarity.labels = examples.label_names;
  out.similarity.codes = analysis::code_similarity(work.trained.train, examples.train.labels,
                                                   work.trained.held_out, examples.held_out.labels,
                                                   static_cast<int>(examples.label_names.size()));
  return out;
}

std::string name_of(const TrainedNetwork& network) {
  return fmt::format("run {} ({}, seed {})", network.run, network.label, network.study.seed);
}

/// With an encoder the context enters by cross-attention. The self-attention whose codes are read
/// sees the query alone, so its codes say nothing of the task.
void refuse_encoder(const TrainedNetwork& network) {
  const Index layers = network.study.train.model.encoder_layers;
  if (layers == 0) return;
  throw OptionError(fmt::format("{}: train.encoder_layers = {}: must be 0: codes are read from "
                                "self-attention over the whole sequence",
                                name_of(network), layers),
                    {"train.encoder_layers"});
}

std::vector<LayerWork> layer_works(const Study& study, ReadyNetwork& ready,
                                   const LatentExamples& examples) {
  const LatentCodes trained = latent_codes(*ready.trainer, examples);
  // A trainer begins with the weights that the run began with.
  training::Trainer first(ready.trainer->model_options(), ready.trainer->options(),
                          *ready.task.task);
  const LatentCodes untrained = latent_codes(first, examples);
  const std::vector<Index> layers = wanted_layers(study);
  std::vector<LayerWork> out;
  for (const Index layer : layers) {
    out.push_back({{layer}, codes_at(trained, {layer}), codes_at(untrained, {layer})});
  }
  out.push_back({layers, codes_at(trained, layers), codes_at(untrained, layers)});
  return out;
}

LatentRun decode_run(const TrainedNetwork& network, const TaskMaker& make_task,
                     Observer& observer) {
  refuse_encoder(network);
  const Study study = latents_study(network.study);
  ReadyNetwork ready = ready_network(network, study, make_task);
  const LatentExamples examples = latent_examples(study, *ready.task.task);
  warn_of_seen_tasks(name_of(network), held_out_seen_in_training(network, study), study, observer);
  const Index heads = ready.trainer->model_options().widened().heads;
  throw_if_interrupted(observer);
  std::vector<LayerWork> works = layer_works(study, ready, examples);
  std::vector<LatentLayer> layers(works.size());
  try {
    parallel_for(static_cast<Index>(works.size()), resolve_threads(study.threads), [&](Index i) {
      const auto at = static_cast<std::size_t>(i);
      layers[at] = report_on(works[at], examples, heads, observer);
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    throw Error(
        error.kind(),
        fmt::format(
            "{}: {} (latents.examples = {}, latents.folds = {}{})", name_of(network), error.what(),
            study.latents.examples, study.latents.folds,
            study.task.kind() == TaskKind::kArrays ? "; a task is a combination of factors" : ""));
  }
  LatentRun out;
  static_cast<NetworkRun&>(out) = run_of(network);
  out.task = study.task.kind();
  out.step = network.step;
  out.train = examples.train;
  out.held_out = examples.held_out;
  out.all_layers = std::move(layers.back());
  out.all_layers.layer = 0;
  layers.pop_back();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    layers[i].layer = works[i].layers.front();
    layers[i].train = std::move(works[i].trained.train);
    layers[i].held_out = std::move(works[i].trained.held_out);
  }
  out.layers = std::move(layers);
  return out;
}

}  // namespace

Study latents_study(const Study& run) {
  TrainedNetwork network;
  network.study = run;
  network.study_name = run.name;
  TaskChange change;
  change.keys = run.latents.task;
  auto* keys = change.keys.get<OptionValue::Table>();
  if (run.task.kind() == TaskKind::kSraven && find(*keys, "permuted") == nullptr) {
    keys->push_back({"permuted", {false, {}}});
  }
  return changed_study(network, change);
}

void check_latents(const Study& study) {
  const TaskKind kind = study.task.kind();
  if (kind != TaskKind::kFuzzyLogic && kind != TaskKind::kSraven && kind != TaskKind::kArrays) {
    throw OptionError(
        fmt::format("task.kind = \"{}\": must be \"fuzzy_logic\", \"sraven\" or \"arrays\", whose "
                    "examples have parts (terms, rules or factors) that codes can be decoded into",
                    word_of(kind)),
        {"task.kind"});
  }
  if (kind == TaskKind::kSraven && study.task.as<tasks::SravenOptions>().permuted) {
    throw OptionError(
        "latents.task.permuted = true: must be false: in permuted panels no pair of positions "
        "belongs to one feature",
        {"latents.task.permuted"});
  }
  const Index layers = study.train.model.layers;
  for (std::size_t i = 0; i < study.latents.layers.size(); ++i) {
    const Index layer = study.latents.layers[i];
    const bool there = layer >= 1 && layer <= layers;
    if (there && (i == 0 || layer > study.latents.layers[i - 1])) continue;
    throw OptionError(
        fmt::format(
            "latents.layers[{}] = {}{}: must be layers from 1 to {}, in rising order, each once",
            i + 1, layer, there ? " after " + std::to_string(study.latents.layers[i - 1]) : "",
            layers),
        {"latents.layers"});
  }
}

LatentsResult latents(const std::vector<TrainedNetwork>& networks, const TaskMaker& make_task,
                      Observer& observer) {
  LatentsResult result;
  for (const TrainedNetwork& network : networks) check_latents(latents_study(network.study));
  const auto tell = [&] {
    observer.progress("latents", static_cast<double>(result.runs.size()),
                      static_cast<double>(networks.size()));
  };
  keep_runs(result, networks, observer, [&](const TrainedNetwork& network) {
    tell();
    result.threads = resolve_threads(network.study.threads);
    return decode_run(network, make_task, observer);
  });
  tell();
  return result;
}

}  // namespace headway
