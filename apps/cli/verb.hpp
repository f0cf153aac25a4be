#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command_option.hpp"
#include "computation.hpp"
#include "headway/observer.hpp"
#include "headway/study/task_kinds.hpp"
#include "options.hpp"

namespace headway::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNotUsable = 2;  ///< finished, but a point is not converged or not finite

/// What a verb takes from the command line beside its own options.
enum class Takes {
  kNothing,
  kFile,      ///< one file; --json, -q, -v
  kStudy,     ///< and --set, --seed, --threads
  kComputes,  ///< and -o, --force, --dry-run
  kParts,     ///< several files; --json, -q, -v, -o, --force
};

/// A word and what it means: a column of a table, an example, a key.
struct Explained {
  std::string term;
  std::string meaning;
};

/// The columns of one table that a verb prints.
struct ExplainedTable {
  std::string title;
  std::vector<Explained> columns;
};

inline const CommandOption kShardOption = {
    "--shard", "i/n",
    "compute only the i-th of n parts, i from 0, as in a job array; headway merge joins the parts",
    &Options::shard};

/// Computes; throws headway::Error.
using Compute = std::function<Computation(const Options&, Observer&)>;

/// The same on one of several ranks, which all call it: nothing but on the first, unless the result
/// is wanted everywhere (Options::everywhere).
using Share = std::function<std::optional<Computation>(const Options&, Observer&)>;

/// Help of the input of verbs that go on from training.
inline constexpr const char* kTrainedInput =
    "result of headway train (HDF5) that holds the weights";

/// A table inside [model], whose keys the help of verbs explains that learn attention.
inline constexpr const char* kAttentionPriorSection = "model.attention_prior";
/// Another: the value network, which all verbs of the theory take that make kernels.
inline constexpr const char* kValueNetworkSection = "model.value_network";

/// One verb of the program. Those that compute are made by make_verb() (course.hpp) or
/// make_theory_verb() (theory_course.hpp).
struct Verb {
  std::string name;
  std::string summary;                         ///< one line, for the list of verbs
  std::vector<std::string> sections = {};      ///< of the study file, that its --help explains
  headway::Side tasks = headway::Side::kBoth;  ///< those of the theory, of training, or both
  std::vector<CommandOption> own = {};         ///< options that other verbs do not have
  std::string about = {};                      ///< what it does, in a paragraph
  std::vector<ExplainedTable> tables = {};
  std::vector<Explained> examples = {};  ///< commands, and what each does
  const char* more_inputs = nullptr;     ///< help of further files, where the verb takes them
  const char* input = nullptr;  ///< help of the input, where it is not that of all who take it
  const char* json = "print one JSON object and nothing else";  ///< help of --json
  bool seeded = true;  ///< whether what it computes has a seed that --seed may set
  Takes takes = Takes::kComputes;
  Compute compute = {};  ///< of those that compute (run_computation()); else empty
  Share share = {};      ///< of those that compute and that several ranks can share; else empty
  /// Of the others: the exit code; throws headway::Error.
  std::function<int(const Options&)> run = {};

  [[nodiscard]] bool takes_study() const {
    return takes == Takes::kStudy || takes == Takes::kComputes;
  }
};

}  // namespace headway::cli
