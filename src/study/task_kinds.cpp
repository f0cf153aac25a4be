#include "headway/study/task_kinds.hpp"

#include <fmt/format.h>

#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/tasks/sraven_bayes.hpp"
#include "headway/tasks/text.hpp"

namespace headway {
namespace {

using T = TaskOptions;

constexpr std::size_t kLongestPath = 4096;
constexpr std::size_t kMostFiles = 100;
constexpr Index kCeilingInstances = 20'000;

[[noreturn]] void refuse_missing(const std::string& field, const std::string& allowed) {
  throw OptionError(fmt::format("{} is missing: must be {}", field, allowed), {field});
}

// --- the tables of [task], kind by kind ---------------------------------------------------------

/// The options of one kind as options of [task].
template <class Options>
OptionTable<T> table_of(const OptionTable<Options>& table) {
  return options_of_part<T>(
      [](auto& task) -> auto& { return alternative<Options>(task.of); }, table);
}

constexpr const char* kRelative =
    ". Relative to the study file, or to the working directory if given with --set.";

OptionTable<T> dataset_table() {
  using D = DatasetOptions;
  return table_of<D>({{option("file", &D::file, text(kLongestPath, false),
                              std::string("path of the HDF5 file") + kRelative)}});
}

OptionTable<T> text_table() {
  using X = TextTaskOptions;
  const OptionTable<X> own = {{
      option("file", &X::file, text(kLongestPath, false),
             std::string("path of the text") + kRelative),
      option("level", &X::level, choice<TextLevel>(),
             "what a token is: a byte, or a piece of text, by byte-pair encoding learned from the "
             "training part"),
      option("vocabulary", &X::vocabulary,
             integer<Index>(tasks::kSmallestBpeVocabulary, tasks::kLargestBpeVocabulary),
             "bpe: most different tokens; a short text gives fewer"),
  }};
  return table_of<X>(joined<X>(
      {own, options_of_part<X>(
                [](auto& task) -> auto& { return task.text; }, training::TextOptions::table())}));
}

OptionTable<T> arrays_table() {
  using A = ArraysTaskOptions;
  const OptionTable<A> own = {{
      option("file", &A::file, text(kLongestPath, false),
             std::string("path of the HDF5 file with train/tokens or train/vectors, train/targets "
                         "and further sets") +
                 kRelative),
  }};
  return table_of<A>(joined<A>({own, options_of_part<A>(
                                         [](auto& task) -> auto& { return task.arrays; },
                                         training::ArrayOptions::table())}));
}

OptionTable<T> omniglot_table() {
  using O = OmniglotOptions;
  return table_of<O>(joined<O>({O::table(), options_of_part<O>(
                                                [](auto& task) -> auto& { return task.images; },
                                                tasks::OneShotImagesOptions::table())}));
}

/// The name of a split of other images, which becomes a further set of a data set.
OptionType<std::string> set_name() {
  OptionType<std::string> type = text(40, false);
  type.allowed =
      "a letter, then letters, digits, - and _, at most 40 in all; not train, test or validation";
  const auto fits = [](const std::string& name) {
    return tasks::set_name_fault(name).empty() && name != tasks::kValidationSet;
  };
  type.read = [fits, allowed = type.allowed](const OptionValue& value, const std::string& path) {
    const auto* name = value.get<std::string>();
    if (name == nullptr || !fits(*name)) refuse(value, path, allowed);
    return *name;
  };
  type.check = [fits, allowed = type.allowed](const std::string& name, const std::string& path) {
    if (!fits(name)) refuse(quoted_text(name), path, allowed);
  };
  return type;
}

const OptionTable<OutOfDistributionSet>& out_of_distribution_table() {
  using S = OutOfDistributionSet;
  static const OptionTable<S> table = {{
      required(option("name", &S::name, set_name(), "name of the split")),
      required(option("images", &S::images, text(kLongestPath, false), "IDX file of the images")),
      required(option("labels", &S::labels, text(kLongestPath, false), "IDX file of the labels")),
      option("invert", &S::invert, flag(),
             "turn light ink on black into dark on white, as in Omniglot"),
  }};
  return table;
}

// --- what the options of a kind must have -------------------------------------------------------

void validate_dataset(const T& task) {
  if (task.file().empty()) {
    refuse_missing("task.file", "the path of a data-set file, for kind = \"dataset\"");
  }
}

void validate_arrays(const T& task) {
  if (task.file().empty()) {
    refuse_missing("task.file", "the path of an HDF5 file with arrays, for kind = \"arrays\"");
  }
}

void validate_text(const T& task) {
  if (task.file().empty()) refuse_missing("task.file", "the path of a text, for kind = \"text\"");
}

void validate_omniglot(const T& task) {
  if (task.as<OmniglotOptions>().files.empty()) {
    refuse_missing("task.files",
                   "the path of an archive or folder of Omniglot, or a list of them, for kind = "
                   "\"omniglot\"");
  }
  task.as<OmniglotOptions>().images.validate();
}

// --- the examples that need no file -------------------------------------------------------------

tasks::FuzzyLogicOptions fuzzy_logic_options(const Study& study) {
  tasks::FuzzyLogicOptions options = study.task.as<tasks::FuzzyLogicOptions>();
  options.seed = task_seed(study);
  return options;
}

tasks::SravenOptions sraven_options(const Study& study) {
  tasks::SravenOptions options = study.task.as<tasks::SravenOptions>();
  options.seed = task_seed(study);
  return options;
}

std::vector<SplitCeiling> sraven_ceilings(const Study& study) {
  const tasks::SravenGenerator generator(sraven_options(study));
  const int threads = resolve_threads(study.threads);
  const auto of = [&](const char* split, tasks::SravenPrior prior) {
    return SplitCeiling{split, tasks::sraven_ceiling(generator, prior, kCeilingInstances, threads)};
  };
  std::vector<SplitCeiling> out = {of("test", tasks::SravenPrior::kTrainRuleSets)};
  if (!generator.rule_sets().held_out.empty()) {
    out.push_back(of("held_out", tasks::SravenPrior::kHeldOutRuleSets));
    out.push_back(of("all", tasks::SravenPrior::kAllRuleSets));
  }
  return out;
}

/// A task of the theory whose examples are drawn.
template <class Options, tasks::Dataset (*make)(const Options&, std::uint64_t)>
TaskDescription made_kind(TaskKind kind, const char* about) {
  return {kind,
          Side::kTheory,
          about,
          table_of(Options::table()),
          {},
          [](const T& task) { task.as<Options>().validate(); },
          [](const Study& study) { return make(study.task.as<Options>(), task_seed(study)); },
          nullptr,
          nullptr};
}

std::vector<TaskDescription> theory_kinds() {
  return {{TaskKind::kDataset,
           Side::kTheory,
           "a data-set file",
           dataset_table(),
           {"file"},
           validate_dataset,
           nullptr,
           nullptr,
           nullptr},
          made_kind<tasks::HiddenMarkovChainOptions, tasks::make_hidden_markov_chain>(
              TaskKind::kHiddenMarkovChain, "two classes of hidden Markov chains"),
          made_kind<tasks::CopyOptions, tasks::make_copy>(
              TaskKind::kCopy, "copy the value that the last token points at"),
          made_kind<tasks::ModulesOptions, tasks::make_modules>(
              TaskKind::kModules, "combinations of modules, some of them never trained on"),
          made_kind<tasks::BilinearSequenceOptions, tasks::make_bilinear_sequence_regression>(
              TaskKind::kBilinearSequence, "bilinear sequence regression, a teacher of low rank"),
          made_kind<tasks::InContextOptions, tasks::make_in_context_regression>(
              TaskKind::kInContext, "in-context regression by linear attention")};
}

std::vector<TaskDescription> training_kinds() {
  return {{TaskKind::kFuzzyLogic,
           Side::kTraining,
           "fuzzy logic in context, a disjunction of unknown conjunctions",
           table_of(tasks::FuzzyLogicOptions::table()),
           {},
           [](const T& task) { task.as<tasks::FuzzyLogicOptions>().validate(); },
           nullptr,
           [](const Study& study) {
             return training::make_fuzzy_logic_task(fuzzy_logic_options(study));
           },
           nullptr},
          {TaskKind::kSraven,
           Side::kTraining,
           "symbolic Raven matrices; an example has 9 tokens a feature",
           table_of(tasks::SravenOptions::table()),
           {},
           [](const T& task) { task.as<tasks::SravenOptions>().validate(); },
           nullptr,
           [](const Study& study) { return training::make_sraven_task(sraven_options(study)); },
           sraven_ceilings},
          {TaskKind::kText,
           Side::kTraining,
           "the next token of a text",
           text_table(),
           {"file"},
           validate_text,
           nullptr,
           nullptr,
           nullptr},
          {TaskKind::kOmniglot,
           Side::kTraining,
           "two-way one-shot classification of drawings, in context; an example has 48 tokens",
           omniglot_table(),
           {"files", "out_of_distribution.images", "out_of_distribution.labels"},
           validate_omniglot,
           nullptr,
           nullptr,
           nullptr},
          {TaskKind::kArrays,
           Side::kTraining,
           "examples of your own: arrays in a file",
           arrays_table(),
           {"file"},
           validate_arrays,
           nullptr,
           nullptr,
           nullptr}};
}

}  // namespace

const OptionTable<OmniglotOptions>& OmniglotOptions::table() {
  using O = OmniglotOptions;
  const std::string set =
      "a table [[task.out_of_distribution]] with name, images and labels (IDX files) and, if "
      "wanted, invert (default true)";
  static const OptionTable<O> table = {{
      option(
          "files", &O::files,
          one_or_list(text(kLongestPath, false), "a path or a list of up to 100 paths", kMostFiles),
          std::string("zip archives or folders of Omniglot") + kRelative),
      option(
          "out_of_distribution", &O::out_of_distribution,
          list(record(out_of_distribution_table(), set), "up to 100 tables, each " + set, 0,
               kMostFiles),
          "other images to evaluate on, such as MNIST; each becomes a split. Paths are relative as "
          "for files."),
  }};
  return table;
}

Words<TaskKind> words_of(TaskKind) {
  static constexpr Word<TaskKind> kWords[] = {
      {"hidden_markov_chain", TaskKind::kHiddenMarkovChain},
      {"copy", TaskKind::kCopy},
      {"modules", TaskKind::kModules},
      {"bilinear_sequence_regression", TaskKind::kBilinearSequence},
      {"in_context_regression", TaskKind::kInContext},
      {"dataset", TaskKind::kDataset},
      {"fuzzy_logic", TaskKind::kFuzzyLogic},
      {"sraven", TaskKind::kSraven},
      {"text", TaskKind::kText},
      {"omniglot", TaskKind::kOmniglot},
      {"arrays", TaskKind::kArrays}};
  return kWords;
}

const std::vector<TaskDescription>& task_kinds() {
  static const std::vector<TaskDescription> kinds = [] {
    std::vector<TaskDescription> all = theory_kinds();
    for (TaskDescription& kind : training_kinds()) all.push_back(std::move(kind));
    return all;
  }();
  return kinds;
}

const TaskDescription& description_of(TaskKind kind) {
  for (const TaskDescription& description : task_kinds()) {
    if (description.kind == kind) return description;
  }
  throw Error(ErrorKind::kInternal, "a kind of task has no description");
}

namespace {

template <std::size_t... kNumbers>
void begin_alternative(TaskOptions& task, std::size_t wanted, std::index_sequence<kNumbers...>) {
  ((kNumbers == wanted ? static_cast<void>(task.of.emplace<kNumbers>()) : void()), ...);
}

}  // namespace

void TaskOptions::set_kind(TaskKind wanted) {
  if (kind() == wanted) return;
  constexpr std::size_t kKinds = std::variant_size_v<decltype(of)>;
  begin_alternative(*this, static_cast<std::size_t>(wanted), std::make_index_sequence<kKinds>());
}

std::string TaskOptions::file() const {
  if (kind() == TaskKind::kArrays) return as<ArraysTaskOptions>().file;
  const bool text = kind() == TaskKind::kText;
  return text ? as<TextTaskOptions>().file : as<DatasetOptions>().file;
}

bool is_training_task(TaskKind kind) { return description_of(kind).side == Side::kTraining; }

std::string kinds_in_words(Side side, const std::string& last_separator) {
  std::vector<std::string> words;
  for (const Word<TaskKind>& word : words_of(TaskKind{})) {
    if (description_of(word.value).side == side) words.push_back(quoted_text(word.text));
  }
  const std::string last = words.back();
  words.pop_back();
  return words.empty() ? last : join(words) + last_separator + last;
}

tasks::Dataset make_dataset(const Study& study) {
  const TaskDescription& task = description_of(study.task.kind());
  if (task.make_dataset != nullptr) return task.make_dataset(study);
  if (task.side == Side::kTraining) {
    throw OptionError(fmt::format("task.kind = \"{}\": this task is for headway train; solve, "
                                  "align, prune and sample take {}",
                                  word_of(task.kind), kinds_in_words(Side::kTheory)),
                      {"task.kind"});
  }
  throw OptionError(
      fmt::format("task.kind = \"{}\": this task makes no examples by itself", word_of(task.kind)),
      {"task.kind"});
}

}  // namespace headway
