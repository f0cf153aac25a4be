#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headway::cli {

/// The command line, parsed. Every verb takes the same options as far as they make sense for it.
struct Options {
  std::string input;                  ///< study, data set or result
  std::vector<std::string> overlays;  ///< --set section.key=value, in order
  std::string output;                 ///< -o; empty: no file
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;
  std::string weights;  ///< --export: .npz or .safetensors; empty: none
  bool json = false;
  bool dry_run = false;
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  std::vector<std::string> command;  ///< the arguments as given, for provenance
};

/// One verb of the program.
struct Verb {
  const char* name;
  const char* summary;
  int (*run)(const Options&);         ///< the exit code; throws headway::Error
  bool computes;                      ///< takes -o, --seed, --threads, --dry-run, --force
  std::vector<std::string> sections;  ///< study sections that its --help explains
};

// One file per verb.
int run_solve(const Options& options);
int run_align(const Options& options);
int run_prune(const Options& options);
int run_sample(const Options& options);
int run_train(const Options& options);
int run_extract(const Options& options);
int run_inspect(const Options& options);
int run_validate(const Options& options);

/// All verbs of this build, in the order of --help.
const std::vector<Verb>& verbs();

inline constexpr int kExitOk = 0;
inline constexpr int kExitNotUsable = 2;  ///< finished, but a point is not converged or not finite

}  // namespace headway::cli
