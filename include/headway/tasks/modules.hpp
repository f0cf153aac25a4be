#pragma once

#include <cstdint>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/dataset.hpp"
#include "headway/numerics/normal_products.hpp"

namespace headway::tasks {

/// The network that makes the labels: linear values, or a value network of one of the forms of eq.
/// 79, with the code as its attention weights.
enum class ModuleTeacher { kLinear, kHyla, kPerHead, kBeforeAttention, kAfterAttention };
Words<ModuleTeacher> words_of(ModuleTeacher);

/// Whether the modules hang together through the combinations of training.
enum class ModuleSupport {
  kConnected,     ///< from each module to each other, over combinations that share modules
  kDisconnected,  ///< two groups of modules without a combination in common
};
Words<ModuleSupport> words_of(ModuleSupport);

/// The task of compositional generalisation (src/tasks/README.md, "Modules"). An example switches K
/// of M modules on and shows N_0 numbers of content. Some of the combinations are trained on; the
/// others are asked for.
struct ModulesOptions {
  Index train_examples = 120;
  Index test_examples = 1000;  ///< of seen combinations, and as many of held-out ones; 0: none
  Index modules = 5;           ///< M, heads of the one layer
  Index active = 2;            ///< K, modules on in each example
  Index features = 6;          ///< N_0, numbers of content
  Index seen = 8;              ///< combinations that are trained on
  ModuleSupport support = ModuleSupport::kConnected;
  ModuleTeacher teacher = ModuleTeacher::kHyla;
  numerics::Nonlinearity nonlinearity = numerics::Nonlinearity::kRelu;  ///< of the teacher
  Index teacher_width = 3;
  double noise = 0.01;  ///< variance of the label noise of the training examples

  /// [task] kind = "modules"
  static const OptionTable<ModulesOptions>& table();
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// Combinations of modules, each a rising list of K of them.
struct ModuleCombinations {
  std::vector<std::vector<Index>> seen;
  std::vector<std::vector<Index>> held_out;
};

/// Draws which combinations are seen: `seen` of them, such that each module is in one of them and
/// that they have the wanted support. Uniform among such sets if connected; if not, the two groups
/// are drawn first. Random stream: (seed, kSplits, 0). Error{kBadStudy} where none was found.
ModuleCombinations draw_module_combinations(const ModulesOptions& options, std::uint64_t seed);

/// The teacher with its weights, normal of variance 1: (seed, kTaskParameters, 0), the hidden
/// weights row by row, then the readout's.
class ModuleTeacherNetwork {
 public:
  ModuleTeacherNetwork(const ModulesOptions& options, std::uint64_t seed);
  /// f of eq. 79 for one token `content` whose attention weights are `code`.
  [[nodiscard]] double output(const VectorXd& code, const VectorXd& content) const;

 private:
  ModuleTeacher form_;
  numerics::Nonlinearity nonlinearity_;
  Index modules_;
  MatrixXd hidden_;   ///< teacher_width x d
  MatrixXd readout_;  ///< teacher_width x R
};

/// Draws the data set: inputs of one token and supplied attention, with the code as the attention
/// weights of M heads. They do not sum to 1. Labels are the teacher's outputs, divided by their
/// root mean square over training, with noise in training alone. Example i has combination i modulo
/// their number; the test set has seen combinations with fresh content, the set "held_out" those
/// that are never trained on (no such set where all are seen).
/// Random streams (core/rng.hpp): (seed, kTrainExamples, kTestExamples or kHeldOutExamples,
/// example): N_0 normals, then the noise.
Dataset make_modules(const ModulesOptions& options, std::uint64_t seed);

}  // namespace headway::tasks
