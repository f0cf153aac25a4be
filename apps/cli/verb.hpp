#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_option.hpp"
#include "headway/jobs/job.hpp"
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

inline const CommandOption kPointOption = {"--point", "best|WIDTH,T",
                                           "only this point of a result: the best has the largest "
                                           "log evidence; or a width, or all widths, "
                                           "and a temperature, as in 10,0.3",
                                           &Options::point};

/// The text of a result.
using Print = std::function<std::string(const Options&, const jobs::Job&)>;

/// The JSON of the result, or the table of its type, of which there is one here.
template <class... Results>
Print printed(std::string (*... tables)(const Study&, const Results&)) {
  return [tables...](const Options& options, const jobs::Job& job) {
    if (options.json) return job.json();
    std::string text;
    const auto print = [&]<class Result>(std::string (*table)(const Study&, const Result&)) {
      const Result* result = job.result<Result>();
      if (result != nullptr) text = table(job.study, *result);
    };
    (print(tables), ...);
    return text;
  };
}

/// Help of the input of verbs that go on from training.
inline constexpr const char* kTrainedInput =
    "result of headway train (HDF5) that holds the weights";

/// A table inside [model], whose keys the help of verbs explains that learn attention.
inline constexpr const char* kAttentionPriorSection = "model.attention_prior";
/// Another: the value network, which all verbs of the theory take that make kernels.
inline constexpr const char* kValueNetworkSection = "model.value_network";

/// One verb of the program, in words. What those do that compute is a job of the same name
/// (headway/jobs/job.hpp).
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
  /// Of those that have no job: the exit code; throws headway::Error.
  int (*run)(const Options&) = nullptr;
  /// Of those that have one: what goes to standard output, a table or JSON.
  Print print = {};
  /// The last line on standard error, "" for none; null: closing_line().
  std::string (*closing)(const Options&, const jobs::Outcome&) = nullptr;

  [[nodiscard]] bool takes_study() const {
    return takes == Takes::kStudy || takes == Takes::kComputes;
  }
};

}  // namespace headway::cli
