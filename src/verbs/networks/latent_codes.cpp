#include "verbs/networks/latent_codes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>

#include "headway/core/option_error.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

namespace headway {
namespace {

using analysis::DecoderKind;
using analysis::DecoderMetric;

constexpr Index kExamplesAtATime = 256;
// The first two panels of the last row, and the one that is asked for.
constexpr Index kFirstKeyPanel = 6, kSecondKeyPanel = 7, kQueryPanel = 8;

// --- fuzzy logic ---------------------------------------------------------------------------------

/// "0110": the variables of a term in their order, 0 where it is negated.
std::string term_name(int term, int variables) {
  std::string out;
  for (int v = variables - 1; v >= 0; --v) out += ((term >> v) & 1) != 0 ? '1' : '0';
  return out;
}

LatentLabels fuzzy_labels(const tasks::FuzzyLogicGenerator& generator, tasks::FuzzyLogicSplit split,
                          std::string name, Index count) {
  LatentLabels out;
  out.split = std::move(name);
  tasks::FuzzyLogicExample example;
  for (Index i = 0; i < count; ++i) {
    generator.example(split, i, example);
    out.tasks.push_back(example.task);
    out.labels.push_back(generator.tasks().of(split)[static_cast<std::size_t>(example.task)]);
    out.answers.push_back(example.target());
  }
  return out;
}

/// Is term t in the task? One question for each known term.
std::vector<std::vector<int>> term_classes(const LatentLabels& labels, int known) {
  std::vector<std::vector<int>> out(static_cast<std::size_t>(known));
  for (int t = 0; t < known; ++t) {
    for (const std::vector<int>& terms : labels.labels) {
      const bool has = std::find(terms.begin(), terms.end(), t) != terms.end();
      out[static_cast<std::size_t>(t)].push_back(has ? 1 : 0);
    }
  }
  return out;
}

/// The variables of the first term of the task, of the second, ...: [n, K V] of 0 and 1.
MatrixXd term_bits(const LatentLabels& labels, int variables) {
  const auto terms = static_cast<Index>(labels.labels.front().size());
  MatrixXd out(static_cast<Index>(labels.labels.size()), terms * variables);
  for (Index i = 0; i < out.rows(); ++i) {
    for (Index j = 0; j < out.cols(); ++j) {
      const int term =
          labels.labels[static_cast<std::size_t>(i)][static_cast<std::size_t>(j / variables)];
      out(i, j) = (term >> (variables - 1 - j % variables)) & 1;
    }
  }
  return out;
}

MatrixXd answer_column(const LatentLabels& labels) {
  return Eigen::Map<const VectorXd>(labels.answers.data(),
                                    static_cast<Index>(labels.answers.size()));
}

LatentExamples fuzzy_logic_examples(const Study& study) {
  tasks::FuzzyLogicOptions options = study.task.as<tasks::FuzzyLogicOptions>();
  options.seed = task_seed(study);
  const tasks::FuzzyLogicGenerator generator(options);
  const Index count = study.latents.examples;
  LatentExamples out;
  out.train = fuzzy_labels(generator, tasks::FuzzyLogicSplit::kValidation, "validation", count);
  out.held_out = fuzzy_labels(generator, tasks::FuzzyLogicSplit::kHeldOut, "held_out", count);
  const int terms = 1 << options.variables;
  const int known = terms - terms / 4;
  for (int t = 0; t < known; ++t) out.label_names.push_back(term_name(t, options.variables));
  const Index last = options.sequence_length - 1;
  out.pairs = {{last, last}};
  LatentQuestion term{"term", {}, {}, {}};
  term.train.classes = term_classes(out.train, known);
  term.held_out.classes = term_classes(out.held_out, known);
  LatentQuestion bits{"bits", {}, {}, {}};
  bits.options.kind = DecoderKind::kRidge;
  bits.options.metric = DecoderMetric::kR2;
  bits.train.targets = term_bits(out.train, options.variables);
  bits.held_out.targets = term_bits(out.held_out, options.variables);
  LatentQuestion answer{"answer", bits.options, {}, {}};
  answer.train.targets = answer_column(out.train);
  answer.held_out.targets = answer_column(out.held_out);
  out.questions = {std::move(term), std::move(bits), std::move(answer)};
  return out;
}

// --- SRAVEN --------------------------------------------------------------------------------------

/// The feature of example i that its code is of.
int code_feature(const Study& study, Index example, bool held_out) {
  const auto features = static_cast<std::uint64_t>(study.task.as<tasks::SravenOptions>().features);
  if (study.latents.feature == LatentFeature::kLast) return static_cast<int>(features) - 1;
  Rng rng(task_seed(study), StreamPurpose::kLatentFeatures,
          2 * static_cast<std::uint64_t>(example) + (held_out ? 1 : 0));
  return static_cast<int>(rng.uniform_index(features));
}

LatentLabels sraven_labels(const Study& study, const tasks::SravenGenerator& generator,
                           tasks::SravenSplit split, std::string name) {
  LatentLabels out;
  out.split = std::move(name);
  tasks::SravenInstance instance;
  for (Index i = 0; i < study.latents.examples; ++i) {
    generator.example(split, i, instance);
    const int feature = code_feature(study, i, split == tasks::SravenSplit::kHeldOut);
    const auto position = static_cast<std::size_t>(feature);
    out.tasks.push_back(instance.rule_set);
    out.labels.push_back({static_cast<int>(instance.rule_of_answer(position))});
    out.features.push_back(feature);
    out.answers.push_back(instance.answers[position]);
  }
  return out;
}

std::vector<int> rule_classes(const LatentLabels& labels) {
  std::vector<int> out;
  for (const std::vector<int>& rule : labels.labels) out.push_back(rule.front());
  return out;
}

LatentExamples sraven_examples(const Study& study) {
  tasks::SravenOptions options = study.task.as<tasks::SravenOptions>();
  options.seed = task_seed(study);
  const tasks::SravenGenerator generator(options);
  LatentExamples out;
  out.train = sraven_labels(study, generator, tasks::SravenSplit::kTest, "test");
  out.held_out = sraven_labels(study, generator, tasks::SravenSplit::kHeldOut, "held_out");
  for (int r = 0; r < tasks::kSravenRules; ++r) {
    out.label_names.emplace_back(tasks::sraven_rule_name(static_cast<tasks::SravenRule>(r)));
  }
  const Index k = options.features;
  for (Index f = 0; f < k; ++f) {
    for (const Index panel : {kFirstKeyPanel, kSecondKeyPanel}) {
      out.pairs.push_back({kQueryPanel * k + f, panel * k + f});
    }
  }
  out.pairs_per_code = 2;
  LatentQuestion rule{"rule", {}, {}, {}};
  rule.options.metric = DecoderMetric::kBalancedAccuracy;
  rule.options.class_count = tasks::kSravenRules;
  rule.train.classes = {rule_classes(out.train)};
  rule.held_out.classes = {rule_classes(out.held_out)};
  LatentQuestion answer{"answer", rule.options, {}, {}};
  answer.options.class_count = options.values;
  answer.train.classes = {{out.train.answers.begin(), out.train.answers.end()}};
  answer.held_out.classes = {{out.held_out.answers.begin(), out.held_out.answers.end()}};
  out.questions = {std::move(rule), std::move(answer)};
  return out;
}

// --- examples of one's own -----------------------------------------------------------------------

[[noreturn]] void refuse_examples(const Study& study, const std::string& why) {
  const std::filesystem::path file = study.task.file();
  const bool in_memory = file.filename() == tasks::kArraysInMemory;
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: {}", in_memory ? tasks::kArraysInMemory : file.string(), why));
}

/// What a file calls the examples of a split.
std::string set_of(const std::string& split) {
  return split == training::kSeenSplit ? "train" : split;
}

/// The set that decoders are asked about.
std::string asked_split(const Study& study, const training::TrainingTask& task) {
  const std::vector<std::string>& splits = task.splits();
  for (const char* name : {"held_out", "test"}) {
    if (std::ranges::find(splits, name) != splits.end()) return name;
  }
  refuse_examples(study,
                  "has neither a set held_out nor test; allowed: one of them, whose compositions "
                  "the decoders are asked about");
}

/// The last token's target: its class, or its numbers [n, outputs]; NaN where a mask hides it.
MatrixXd last_targets(const training::TrainingTask& task, const std::string& split, Index count) {
  const training::TaskFormat& format = task.format();
  training::TaskBatch batch;
  task.batch(split, 0, count, batch);
  const bool classes = format.loss == training::LossKind::kCrossEntropy;
  const Index columns = classes ? 1 : format.outputs;
  MatrixXd out(count, columns);
  for (Index i = 0; i < count; ++i) {
    const auto last = static_cast<std::size_t>((i + 1) * format.scored - 1);
    const bool hidden = !batch.weights.empty() && batch.weights[last] == 0.0F;
    for (Index c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>(((i + 1) * format.scored - 1) * columns + c);
      out(i, c) = hidden    ? std::numeric_limits<double>::quiet_NaN()
                  : classes ? static_cast<double>(batch.classes[at])
                            : static_cast<double>(batch.targets[at]);
    }
  }
  return out;
}

/// Numbers the compositions, those of both splits alike, in the order in which they come.
using Compositions = std::map<std::vector<int>, Index>;

struct OwnLabels {
  LatentLabels labels;
  std::vector<training::FactorValues> factors;
  MatrixXd targets;
};

OwnLabels own_labels(const Study& study, const training::TrainingTask& task, std::string split,
                     Compositions* known) {
  OwnLabels out;
  const Index count = std::min(study.latents.examples, task.size(split));
  out.factors = task.factors(split, 0, count);
  if (out.factors.empty()) {
    refuse_examples(
        study, fmt::format("{}: has no factors; allowed: what its examples are composed of, as "
                           "factors/NAME, integers [n] (in Python factors={{\"colour\": ...}})",
                           set_of(split)));
  }
  out.targets = last_targets(task, split, count);
  out.labels.split = std::move(split);
  for (Index i = 0; i < count; ++i) {
    std::vector<int>& labels = out.labels.labels.emplace_back();
    for (const training::FactorValues& factor : out.factors) {
      labels.push_back(factor.values[static_cast<std::size_t>(i)]);
    }
    const auto number = static_cast<Index>(known->size());
    out.labels.tasks.push_back(known->try_emplace(labels, number).first->second);
    out.labels.answers.push_back(out.targets(i, 0));
  }
  return out;
}

std::vector<int> as_classes(const MatrixXd& targets) {
  const VectorXd column = targets.col(0);
  return {column.begin(), column.end()};
}

LatentQuestion own_answer(const training::TaskFormat& format, const OwnLabels& train,
                          const OwnLabels& held_out) {
  LatentQuestion out{"answer", {}, {}, {}};
  if (format.loss == training::LossKind::kCrossEntropy) {
    out.options.metric = DecoderMetric::kBalancedAccuracy;
    out.options.class_count = static_cast<int>(format.outputs);
    out.train.classes = {as_classes(train.targets)};
    out.held_out.classes = {as_classes(held_out.targets)};
  } else {
    out.options.kind = DecoderKind::kRidge;
    out.options.metric = DecoderMetric::kR2;
    out.train.targets = train.targets;
    out.held_out.targets = held_out.targets;
  }
  return out;
}

/// A code is what the last token attends to, token by token. Decoders read the value of each
/// factor, and are fitted to the examples that choose the best weights: compositions of training.
LatentExamples own_examples(const Study& study, const training::TrainingTask& task) {
  Compositions compositions;
  const std::string asked = asked_split(study, task);
  OwnLabels train = own_labels(study, task, std::string(task.selection_split()), &compositions);
  OwnLabels held_out = own_labels(study, task, asked, &compositions);
  LatentExamples out;
  for (std::size_t f = 0; f < train.factors.size(); ++f) {
    const std::vector<int>&fitted = train.factors[f].values, &others = held_out.factors[f].values;
    if (std::ranges::min(fitted) == std::ranges::max(fitted)) {
      refuse_examples(
          study,
          fmt::format("{}: factors/{}: is {} in all {} examples that decoders are fitted to; "
                      "allowed: at least two values",
                      set_of(train.labels.split), train.factors[f].name, fitted.front(),
                      fitted.size()));
    }
    const int values = 1 + std::max(std::ranges::max(fitted), std::ranges::max(others));
    const auto first = static_cast<int>(out.label_names.size());
    for (OwnLabels* one : {&train, &held_out}) {
      for (std::vector<int>& labels : one->labels.labels) labels[f] += first;
    }
    const std::string& name = train.factors[f].name;
    for (int v = 0; v < values; ++v) out.label_names.push_back(fmt::format("{}={}", name, v));
    LatentQuestion question{name, {}, {}, {}};
    question.options.metric = DecoderMetric::kBalancedAccuracy;
    question.options.class_count = values;
    question.train.classes = {fitted};
    question.held_out.classes = {others};
    out.questions.push_back(std::move(question));
  }
  if (train.targets.allFinite() && held_out.targets.allFinite()) {
    out.questions.push_back(own_answer(task.format(), train, held_out));
  }
  const Index tokens = task.format().tokens;
  for (Index key = 0; key < tokens; ++key) out.pairs.push_back({tokens - 1, key});
  out.pairs_per_code = tokens;
  out.train = std::move(train.labels);
  out.held_out = std::move(held_out.labels);
  return out;
}

LatentExamples examples_of(const Study& study, const training::TrainingTask& task) {
  switch (study.task.kind()) {
    case TaskKind::kSraven:
      return sraven_examples(study);
    case TaskKind::kArrays:
      return own_examples(study, task);
    default:
      return fuzzy_logic_examples(study);
  }
}

/// Codes of one split: example i takes its pairs out of those of all features.
std::vector<MatrixXd> codes_of(training::Trainer& trainer, const LatentExamples& examples,
                               const LatentLabels& labels) {
  const training::TransformerOptions model = trainer.model_options().widened();
  const Index heads = model.heads, width = examples.pairs_per_code * heads;
  const Index block = static_cast<Index>(examples.pairs.size()) * heads;  // of one layer
  const auto count = static_cast<Index>(labels.tasks.size());
  std::vector<MatrixXd> out(static_cast<std::size_t>(model.layers), MatrixXd(count, width));
  for (Index first = 0; first < count; first += kExamplesAtATime) {
    const Index size = std::min(kExamplesAtATime, count - first);
    const std::vector<float> codes =
        trainer.latent_codes(labels.split, first, size, examples.pairs);
    for (Index i = 0; i < size; ++i) {
      const auto row = static_cast<std::size_t>(first + i);
      const Index feature = labels.features.empty() ? 0 : labels.features[row];
      for (Index l = 0; l < model.layers; ++l) {
        const float* at = codes.data() +
                          (i * model.all_layers() + model.encoder_layers + l) * block +
                          feature * width;
        for (Index j = 0; j < width; ++j) {
          out[static_cast<std::size_t>(l)](first + i, j) = static_cast<double>(at[j]);
        }
      }
    }
  }
  return out;
}

}  // namespace

LatentExamples latent_examples(const Study& study, const training::TrainingTask& task) {
  check_latents(study);
  LatentExamples out = examples_of(study, task);
  for (LatentQuestion& question : out.questions) {
    question.options.folds = study.latents.folds;
    question.options.shuffles = study.latents.shuffles;
    question.options.penalties = study.latents.regularisation;
    question.options.seed = study.seed;
    question.train.tasks = out.train.tasks;
    question.held_out.tasks = out.held_out.tasks;
    question.train.places = out.train.features;
    question.held_out.places = out.held_out.features;
  }
  return out;
}

LatentCodes latent_codes(training::Trainer& trainer, const LatentExamples& examples) {
  return {codes_of(trainer, examples, examples.train),
          codes_of(trainer, examples, examples.held_out)};
}

}  // namespace headway
