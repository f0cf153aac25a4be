#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "computation.hpp"
#include "headway/core/observer.hpp"
#include "options.hpp"

namespace headway::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNotUsable = 2;  ///< finished, but a point is not converged or not finite

/// What a verb takes from the command line beside its file.
enum class Takes {
  kFile,      ///< --json, -q, -v
  kStudy,     ///< and --set, --seed, --threads
  kComputes,  ///< and -o, --force, --dry-run
  kParts,     ///< several files; --json, -q, -v, -o, --force
};

/// An option that other verbs do not have.
struct OwnOption {
  const char* name;  ///< "--export"
  const char* value;
  const char* help;
  /// Texts may be anything but empty; whole numbers are 1 to 4096.
  std::variant<std::string Options::*, std::optional<int> Options::*> member;
};

inline const OwnOption kShardOption = {
    "--shard", "i/n",
    "the i-th of n parts alone, i from 0, for job arrays: headway merge joins them",
    &Options::shard};

/// Computes; throws headway::Error.
using Compute = std::function<Computation(const Options&, Observer&)>;

/// Help of the input of verbs that go on from training.
inline constexpr const char* kTrainedInput = "result of headway train (HDF5), with weights";

/// One verb of the program. Those that compute are made by make_verb() (course.hpp) or
/// make_theory_verb() (theory_course.hpp).
struct Verb {
  std::string name;
  std::string summary;                ///< one line of --help
  std::vector<std::string> sections;  ///< of the study file, that its --help explains
  std::vector<OwnOption> own = {};
  const char* more_inputs = nullptr;  ///< help of further files, where the verb takes them
  const char* input = nullptr;  ///< help of the input, where it is not that of all who take it
  const char* json = "one JSON object on standard output and nothing else";  ///< help of --json
  bool seeded = true;  ///< whether what it computes has a seed that --seed may set
  Takes takes = Takes::kComputes;
  Compute compute = {};  ///< of those that compute (run_computation()); else empty
  /// Of those that compute, on one of several ranks; empty where they do not share.
  std::function<int(const Options&)> run_on_ranks = {};
  /// Of the others: the exit code; throws headway::Error.
  std::function<int(const Options&)> run = {};
};

}  // namespace headway::cli
