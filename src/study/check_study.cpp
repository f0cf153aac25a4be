#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/sweep.hpp"
#include "headway/study/train_run.hpp"
#include "headway/train_task.hpp"
#include "study/sweep_axes.hpp"

namespace headway {
namespace {

constexpr double kMostPaths = 100'000;
constexpr double kMostSweepPoints = 100'000;
constexpr std::size_t kMostRuns = 1'000;

/// Heads as the study alone tells them; empty where the data set has them.
std::vector<int> heads_of(const Study& study) {
  const bool learned = study.model.attention_prior && !study.model.attention_prior->heads.empty();
  if (learned) return study.model.attention_prior->heads;
  if (study.task.kind() != TaskKind::kHiddenMarkovChain) return study.model.heads;
  std::vector<int> heads;
  for (const auto& layer : study.task.as<tasks::HiddenMarkovChainOptions>().layers) {
    heads.push_back(static_cast<int>(layer.size()));
  }
  if (!study.model.heads.empty() && study.model.heads != heads) {
    refuse(fmt::format("[{}]", join(study.model.heads, ", ")), "model.heads",
           fmt::format("absent, or [{}] as in task.layers", join(heads, ", ")));
  }
  return heads;
}

/// List lengths that must fit the number of layers.
void check_against_layers(const ModelOptions& model, const std::vector<int>& heads) {
  const std::size_t layers = heads.size();
  for (std::size_t i = 0; i < model.widths.size(); ++i) {
    const std::vector<Index>& widths = model.widths[i];
    if (widths.size() == 1 || widths.size() == layers + 1) continue;
    refuse(fmt::format("[{}]", join(widths, ", ")), element("model.widths", i),
           fmt::format("one number, or {} of them (N_1, ..., N_L, N_a for L = {} layers)",
                       layers + 1, layers));
  }
  if (model.variances.size() != 1 && model.variances.size() != layers + 2) {
    refuse(fmt::format("[{}]", join(model.variances, ", ")), "model.variances",
           fmt::format("one number, or {} of them (s_0^2, ..., s_L^2, s_a^2 for L = {} layers)",
                       layers + 2, layers));
  }
  const auto paths = model::path_count<double>(heads);
  if (paths <= kMostPaths) return;
  const std::string field = model.heads.empty() ? "task.layers" : "model.heads";
  throw OptionError(fmt::format("{}: H_1 ... H_L = {:.3g} paths: must be at most {:.3g}", field,
                                paths, kMostPaths),
                    {field});
}

/// A value that does not go with `table`.
[[noreturn]] void refuse_beside(const std::string& table, const std::string& key,
                                const std::string& value, const std::string& allowed) {
  throw OptionError(fmt::format("{} = {}: must be {} beside {}", key, value, allowed, table),
                    {key, table});
}

[[noreturn]] void refuse_beside_prior(const std::string& key, const std::string& value,
                                      const std::string& allowed) {
  refuse_beside("model.attention_prior", key, value, allowed);
}

/// What learned attention allows.
void check_attention_prior(const Study& study) {
  if (!study.model.attention_prior) {
    if (study.sample.replicas > 1 && !study.model.value_network &&
        study.sample.sampler != Sampler::kCollapsed) {
      throw OptionError(
          fmt::format("sample.replicas = {}: must be 0 or 1 without model.attention_prior, "
                      "model.value_network or sample.sampler = \"collapsed\"",
                      study.sample.replicas),
          {"sample.replicas"});
    }
    return;
  }
  const AttentionPriorOptions& prior = *study.model.attention_prior;
  const bool pairs = prior.form == model::AttentionPriorForm::kQueriesKeys;
  if (pairs != prior.dims.has_value()) {
    const std::string what = "model.attention_prior.dims";
    throw OptionError(
        pairs ? what + " is missing: form = \"queries_keys\" needs the number G of rows of Q and K"
              : fmt::format("{} = {}: must be absent with form = \"matrix\"", what, *prior.dims),
        {what, "model.attention_prior"});
  }
  const std::string heads = fmt::format("[{}]", join(study.model.heads, ", "));
  if (!study.model.heads.empty()) {
    refuse_beside_prior("model.heads", heads, "absent, and its place model.attention_prior.heads,");
  }
  for (const double t : study.model.temperatures) {
    if (!(t > 0.0)) refuse_beside_prior("model.temperature", fmt::format("{}", t), "above 0");
  }
  const Sampler sampler = study.sample.sampler;
  if (sampler != Sampler::kAuto && sampler != Sampler::kExact && sampler != Sampler::kHmc) {
    refuse_beside_prior("sample.sampler", fmt::format("\"{}\"", word_of(sampler)),
                        "\"auto\", \"exact\" (the same: NUTS over attention and order "
                        "parameters) or \"hmc\"");
  }
  if (study.sample.metric == SampleMetric::kInformation) {
    refuse_beside_prior("sample.metric", "\"information\"",
                        "\"auto\", \"unit\", \"diagonal\" or \"dense\"");
  }
  if (study.solve.kernels == theory::KernelForm::kDistributed ||
      study.solve.kernels == theory::KernelForm::kGram) {
    refuse_beside_prior("solve.kernels", fmt::format("\"{}\"", word_of(study.solve.kernels)),
                        "\"auto\", \"stored\", \"streamed\" or \"feature_space\"");
  }
}

[[noreturn]] void refuse_beside_values(const std::string& key, const std::string& value,
                                       const std::string& allowed) {
  refuse_beside("model.value_network", key, value, allowed);
}

/// What value networks allow.
void check_value_keys(const Study& study) {
  if (!study.model.value_network) return;
  if (study.model.attention_prior) {
    throw OptionError(
        "model.value_network: must be absent beside model.attention_prior: attention is learned "
        "with linear values alone",
        {"model.value_network", "model.attention_prior"});
  }
  if (study.sample.sampler != Sampler::kExact && study.sample.sampler != Sampler::kAuto) {
    refuse_beside_values("sample.sampler", fmt::format("\"{}\"", word_of(study.sample.sampler)),
                         "\"auto\" or \"exact\"");
  }
  if (study.sample.metric == SampleMetric::kInformation) {
    refuse_beside_values("sample.metric", "\"information\"",
                         "\"auto\", \"unit\", \"diagonal\" or \"dense\"");
  }
  if (study.solve.kernels == theory::KernelForm::kDistributed ||
      study.solve.kernels == theory::KernelForm::kGram) {
    refuse_beside_values("solve.kernels", fmt::format("\"{}\"", word_of(study.solve.kernels)),
                         "\"auto\", \"stored\", \"streamed\" or \"feature_space\"");
  }
}

void check_theory(const Study& study) {
  study.solve.saddle_point.validate();
  check_attention_prior(study);
  check_value_keys(study);
  const std::vector<int> heads = heads_of(study);
  if (!heads.empty()) check_against_layers(study.model, heads);
  const double points = static_cast<double>(study.model.widths.size()) *
                        static_cast<double>(study.model.temperatures.size());
  if (points <= kMostSweepPoints) return;
  throw OptionError(fmt::format("model.widths, model.temperature: {:.0f} sweep points (widths "
                                "times temperatures): must be at most {:.0f}",
                                points, kMostSweepPoints),
                    {"model.widths", "model.temperature"});
}

/// latents.task must be keys of this kind of task, with values that they may have.
void check_latents_task(const Study& study) {
  if (study.latents.task.get<OptionValue::Table>()->empty()) return;
  Study changed = study;
  changed.latents = LatentsOptions();
  read_task(study.latents.task, changed);
  if (changed.task.kind() != study.task.kind()) {
    throw OptionError(
        fmt::format("latents.task.kind = \"{}\": must be absent, or \"{}\" as in [task]",
                    word_of(changed.task.kind()), word_of(study.task.kind())),
        {"latents.task"});
  }
  description_of(changed.task.kind()).validate(changed.task);
}

/// Puts `value` at the dotted `key`; a table is merged into what is there.
void put(OptionValue& root, const std::string& key, const OptionValue& value) {
  OptionValue* at = &root;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    at = &child(*at, key.substr(begin, end - begin), value.place);
    begin = end + 1;
  }
  if (const auto* table = value.get<OptionValue::Table>()) {
    for (const OptionEntry& entry : *table) child(*at, entry.key, value.place) = entry.value;
  } else {
    *at = value;
  }
}

/// One combination: what it sets, as a tree of sections.
struct Combination {
  std::vector<Setting> settings;
  OptionValue tree{OptionValue::Table{}, {}};
};

std::vector<Combination> combinations(const std::vector<SweepAxis>& sweep) {
  std::vector<Combination> all(1);
  for (const SweepAxis& axis : sweep) {
    if (all.size() * axis.values.size() > kMostRuns) {
      refuse(all_values(axis), path_of(axis),
             fmt::format("shorter: a sweep has at most {} runs", kMostRuns));
    }
    std::vector<Combination> longer;
    for (const Combination& combination : all) {
      for (const OptionValue& value : axis.values) {
        longer.push_back(combination);
        put(longer.back().tree, axis.key, value);
        longer.back().settings.push_back({axis.key, text_of(value)});
      }
    }
    all = std::move(longer);
  }
  return all;
}

TrainRun make_run(const Study& base, Combination combination) {
  TrainRun run{std::move(combination.settings), base};
  run.study.sweep.clear();
  read_sections(combination.tree, run.study);
  try {
    check_study(run.study);
  } catch (const OptionError& error) {
    for (const std::string& field : error.fields()) {
      const OptionValue* swept = value_at(combination.tree, field);
      if (swept != nullptr && !error.has_place()) throw error.at(swept->place.text());
    }
    throw;
  }
  return run;
}

}  // namespace

void check_study(const Study& study) {
  for (const Section& section : study_sections()) {
    if (applies(section, study.task.kind())) check_options(section.table, study, section.name);
  }
  const TaskDescription& task = description_of(study.task.kind());
  task.validate(study.task);
  if (task.side == Side::kTheory) return check_theory(study);
  study.train.model.validate();
  resolved_run(study).validate();
  check_latents_task(study);
}

std::vector<TrainRun> train_runs(const Study& study) {
  std::vector<TrainRun> runs;
  for (Combination& combination : combinations(study.sweep)) {
    runs.push_back(make_run(study, std::move(combination)));
  }
  return runs;
}

}  // namespace headway
