#include "headway/tasks/modules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"

namespace headway::tasks {
namespace {

constexpr Index kLargestModuleSplit = 1'000'000;
constexpr Index kMostModules = 64;
constexpr Index kLargestContent = 10'000;
constexpr Index kWidestTeacher = 100'000;
constexpr double kMostCombinations = 100'000;
constexpr double kLargestModuleNoise = 1e6;
constexpr const char* kHeldOutSet = "held_out";

double combination_count(Index modules, Index active) {
  double count = 1.0;
  for (Index k = 1; k <= active; ++k) {
    count *= static_cast<double>(modules - active + k) / static_cast<double>(k);
  }
  return std::round(count);
}

MatrixXd normal_matrix(Index rows, Index cols, Rng& rng) {
  RowMatrixXd out(rows, cols);
  rng.fill_normal({out.data(), static_cast<std::size_t>(out.size())});
  return out;
}

/// Do hidden units read the content alone, and not that of each head?
bool reads_content(ModuleTeacher form) {
  return form == ModuleTeacher::kLinear || form == ModuleTeacher::kBeforeAttention;
}

VectorXd code_of(const std::vector<Index>& combination, Index modules) {
  VectorXd code = VectorXd::Zero(modules);
  for (const Index module : combination) code(module) = 1.0;
  return code;
}

/// Contents, codes and outputs of a split.
class ModuleExamples {
 public:
  ModuleExamples(const ModulesOptions& options, std::uint64_t seed,
                 const ModuleTeacherNetwork& teacher)
      : options_(options), seed_(seed), teacher_(teacher) {}

  /// Labels have noise of standard deviation `noise`, and are divided by `scale`, the teacher's
  /// root mean square where none is given yet.
  Split draw(StreamPurpose purpose, Index count,
             const std::vector<std::vector<Index>>& combinations, double noise, double& scale) {
    const Index features = options_.features, modules = options_.modules;
    Tensor inputs({count, 1, features}), attention({count, modules, 1, 1});
    VectorXd outputs(count), noises(count);
    for (Index i = 0; i < count; ++i) {
      Rng rng(seed_, purpose, static_cast<std::uint64_t>(i));
      VectorXd content(features);
      rng.fill_normal({content.data(), static_cast<std::size_t>(features)});
      const auto at = static_cast<std::size_t>(i) % combinations.size();
      const VectorXd code = code_of(combinations[at], modules);
      std::copy_n(content.data(), features, inputs.values.data() + i * features);
      std::copy_n(code.data(), modules, attention.values.data() + i * modules);
      outputs(i) = teacher_.output(code, content);
      noises(i) = rng.normal();
    }
    if (scale == 0.0) scale = std::sqrt(outputs.squaredNorm() / static_cast<double>(count));
    if (scale == 0.0) {
      throw Error(ErrorKind::kBadStudy,
                  "task.teacher_width: the teacher's outputs are 0 on all training examples; take "
                  "another seed or a wider teacher");
    }
    Split split;
    split.labels = outputs / scale + noise * noises;
    split.examples = std::make_shared<MemoryExamples>(
        std::move(inputs), std::vector<std::uint8_t>{}, std::vector<Tensor>{std::move(attention)});
    return split;
  }

 private:
  const ModulesOptions& options_;
  std::uint64_t seed_;
  const ModuleTeacherNetwork& teacher_;
};

std::string modules_text(const ModulesOptions& o, std::uint64_t seed) {
  return fmt::format(
      "modules 1\nseed {}\ntrain {}\ntest {}\nmodules {}\nactive {}\nfeatures {}\nseen {}\n"
      "support {}\nteacher {}\nnonlinearity {}\nteacher_width {}\nnoise {:a}\n",
      seed, o.train_examples, o.test_examples, o.modules, o.active, o.features, o.seen,
      word_of(o.support), word_of(o.teacher), word_of(o.nonlinearity), o.teacher_width, o.noise);
}

}  // namespace

Words<ModuleTeacher> words_of(ModuleTeacher) {
  static constexpr Word<ModuleTeacher> kWords[] = {
      {"linear", ModuleTeacher::kLinear},
      {"hyla", ModuleTeacher::kHyla},
      {"per_head", ModuleTeacher::kPerHead},
      {"before_attention", ModuleTeacher::kBeforeAttention},
      {"after_attention", ModuleTeacher::kAfterAttention}};
  return kWords;
}

Words<ModuleSupport> words_of(ModuleSupport) {
  static constexpr Word<ModuleSupport> kWords[] = {{"connected", ModuleSupport::kConnected},
                                                   {"disconnected", ModuleSupport::kDisconnected}};
  return kWords;
}

const OptionTable<ModulesOptions>& ModulesOptions::table() {
  using M = ModulesOptions;
  static const OptionTable<M> table = {{
      option("train_examples", &M::train_examples, integer<Index>(1, kLargestModuleSplit),
             "training examples P, each seen combination as often as the others"),
      option("test_examples", &M::test_examples, integer<Index>(0, kLargestModuleSplit),
             "test examples of seen combinations, and as many of held-out ones; 0: none of both"),
      option("modules", &M::modules, integer<Index>(1, kMostModules),
             "M, modules: the heads of the one layer"),
      option("active", &M::active, integer<Index>(1, kMostModules),
             "K, modules that are on in an example"),
      option("features", &M::features, integer<Index>(1, kLargestContent),
             "N_0, numbers of content"),
      option("seen", &M::seen, integer<Index>(1, static_cast<Index>(kMostCombinations)),
             "combinations that are trained on; all others are held out"),
      option("support", &M::support, choice<ModuleSupport>(),
             "do seen combinations link all modules, or leave two groups apart?"),
      option("teacher", &M::teacher, choice<ModuleTeacher>(),
             "the network that makes the labels: linear values, or a form of value network"),
      option("nonlinearity", &M::nonlinearity, choice<numerics::Nonlinearity>(),
             "of the teacher; counts for nothing if it is linear"),
      option("teacher_width", &M::teacher_width, integer<Index>(1, kWidestTeacher),
             "hidden units of the teacher"),
      option("noise", &M::noise, real(0.0, kLargestModuleNoise),
             "variance of the label noise in training; labels without it have mean square 1"),
  }};
  return table;
}

void ModulesOptions::validate() const {
  check_options(table(), *this, "task");
  if (active > modules) {
    refuse(std::to_string(active), "task.active",
           fmt::format("at most task.modules = {}", modules));
  }
  const double all = combination_count(modules, active);
  if (all > kMostCombinations) {
    throw OptionError(fmt::format("task.modules = {}, task.active = {}: there are {} combinations; "
                                  "must be at most {}",
                                  modules, active, all, kMostCombinations),
                      {"task.modules", "task.active"});
  }
  if (static_cast<double>(seen) > all) {
    refuse(std::to_string(seen), "task.seen",
           fmt::format("at most {}, the combinations of {} of {} modules", all, active, modules));
  }
  if (seen * active < modules) {
    refuse(std::to_string(seen), "task.seen",
           fmt::format("at least {}, so that each module is in a seen combination",
                       (modules + active - 1) / active));
  }
  if (support == ModuleSupport::kConnected && seen * (active - 1) < modules - 1) {
    refuse(std::to_string(seen), "task.seen",
           active == 1 ? std::string("combinations of two modules or more: set task.active")
                       : fmt::format("at least {}, so that all modules can be connected",
                                     (modules + active - 3) / (active - 1)));
  }
  if (support == ModuleSupport::kDisconnected && modules < 2 * active) {
    refuse("\"disconnected\"", "task.support",
           "\"connected\" with fewer than 2 task.active modules: two groups need that many");
  }
  if (train_examples < seen) {
    refuse(std::to_string(train_examples), "task.train_examples",
           fmt::format("at least task.seen = {}: each combination is shown", seen));
  }
}

ModuleTeacherNetwork::ModuleTeacherNetwork(const ModulesOptions& options, std::uint64_t seed)
    : form_(options.teacher),
      nonlinearity_(form_ == ModuleTeacher::kLinear ? numerics::Nonlinearity::kIdentity
                                                    : options.nonlinearity),
      modules_(options.modules) {
  const bool own_inputs = reads_content(form_);
  Rng rng(seed, StreamPurpose::kTaskParameters, 0);
  hidden_ = normal_matrix(options.teacher_width,
                          own_inputs ? options.features : modules_ * options.features, rng);
  readout_ = normal_matrix(options.teacher_width,
                           form_ == ModuleTeacher::kAfterAttention ? 1 : modules_, rng);
}

double ModuleTeacherNetwork::output(const VectorXd& code, const VectorXd& content) const {
  const Index inputs = content.size();
  const bool own_inputs = reads_content(form_);
  // What hidden units read: rows are sites. Per head: content in the slot of the head.
  const bool per_head = form_ == ModuleTeacher::kPerHead;
  RowMatrixXd sites = RowMatrixXd::Zero(per_head ? modules_ : 1, hidden_.cols());
  for (Index m = 0; m < (own_inputs ? 1 : modules_); ++m) {
    const double weight = own_inputs || per_head ? 1.0 : code(m);
    sites.row(per_head ? m : 0).segment(m * inputs, inputs) = weight * content.transpose();
  }
  const bool all_heads = form_ == ModuleTeacher::kHyla || form_ == ModuleTeacher::kAfterAttention;
  sites /= std::sqrt(static_cast<double>(inputs * (all_heads ? modules_ : 1)));
  // How the readout weighs sites: site x R.
  MatrixXd weights = MatrixXd::Ones(1, 1);
  if (per_head) {
    weights = code.asDiagonal();
  } else if (form_ != ModuleTeacher::kAfterAttention) {
    weights = code.transpose();
  }
  const MatrixXd hidden = (sites * hidden_.transpose()).unaryExpr([this](double z) {
    return numerics::apply_nonlinearity(nonlinearity_, z);
  });
  const auto units = static_cast<double>(readout_.rows() * readout_.cols());
  return (hidden * readout_).cwiseProduct(weights).sum() / std::sqrt(units);
}

Dataset make_modules(const ModulesOptions& options, std::uint64_t seed) {
  const ModuleCombinations combinations = draw_module_combinations(options, seed);
  const ModuleTeacherNetwork teacher(options, seed);
  ModuleExamples examples(options, seed, teacher);
  Dataset data;
  data.name = "modules";
  data.form = AttentionForm::kSupplied;
  data.features = options.features;
  data.heads = {static_cast<int>(options.modules)};
  double scale = 0.0;
  data.train = examples.draw(StreamPurpose::kTrainExamples, options.train_examples,
                             combinations.seen, std::sqrt(options.noise), scale);
  if (options.test_examples > 0) {
    data.test = examples.draw(StreamPurpose::kTestExamples, options.test_examples,
                              combinations.seen, 0.0, scale);
    if (!combinations.held_out.empty()) {
      data.sets = {
          {kHeldOutSet, examples.draw(StreamPurpose::kHeldOutExamples, options.test_examples,
                                      combinations.held_out, 0.0, scale)}};
    }
  }
  data.note = "modules that are combined; attention weights are the code and do not sum to 1";
  data.content_hash = sha256_hex(modules_text(options, seed));
  return data;
}

}  // namespace headway::tasks
