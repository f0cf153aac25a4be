#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "headway/core/record.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/study.hpp"
#include "headway/studies/training.hpp"

namespace headway::io {

inline constexpr const char* kResultSchema = "headway-result";
inline constexpr std::int64_t kResultSchemaMajor = 1, kResultSchemaMinor = 0;

/// How to remake a result: what ran, on what, and when.
struct ResultProvenance {
  std::string study_toml, study_hash, data_hash;
  std::string headway_version, git_commit, compiler, blas;
  std::string command, started;
  std::uint64_t seed = 1;
  int threads = 1;
  double seconds = 0.0;
  bool partial = false;
};
template <class Visitor, RecordOf<ResultProvenance> Record>
void fields(Visitor& visit, Record& r) {
  visit("study_toml", r.study_toml, "the fully resolved study; running it remakes the result");
  visit("study_hash", r.study_hash, "SHA-256 (hex) of what the study computes");
  visit("data_hash", r.data_hash, "SHA-256 (hex) of the data");
  visit("headway_version", r.headway_version, "such as 0.1.0");
  visit("git_commit", r.git_commit, "of the program");
  visit("compiler", r.compiler, "of the program");
  visit("blas", r.blas, "library of the program");
  visit("command", r.command, "the command line");
  visit("started", r.started, "ISO 8601, UTC");
  visit("seed", r.seed, "root of every random stream", {.optional = true});
  visit("threads", r.threads, "that were used", {.least = 0});
  visit("seconds", r.seconds, "of the whole computation");
  visit("partial", r.partial, "interrupted: only the points that were finished are there");
}

/// True when the file is HDF5 and its root says schema_name = "headway-result". Never throws.
bool is_result_file(const std::string& file_path);

/// What becomes of the result of a verb, a record that studies/result_fields.hpp has the fields of.
/// Instantiated for those of all verbs in src/io/result_file/results.cpp.
template <class Result>
struct ResultOutput {
  static void write(const std::string& file_path, const studies::Study& study, const Result& result,
                    const ResultProvenance& provenance, bool force);
  static std::string json(const studies::Study& study, const Result& result);
};

/// Writes a result file (schema "headway-result" 1.0; src/io/README.md has its fields). It appears
/// whole or not at all: written under a temporary name in the same directory, synced, then renamed.
/// NaN stands for undefined; strings are UTF-8. Errors: kCannotWrite when the file exists and
/// `force` is false, the directory is missing or not writable, or the disk is full; nothing is left
/// behind then.
template <class Result>
void write_result(const std::string& file_path, const studies::Study& study, const Result& result,
                  const ResultProvenance& provenance, bool force) {
  ResultOutput<Result>::write(file_path, study, result, provenance, force);
}

/// One JSON object without a final newline, on several lines, that of `train` on one. Doubles are
/// written with as many digits as read back to the same double; undefined or not finite is null.
/// U_a is a number for one output and a C x C matrix otherwise.
template <class Result>
std::string result_json(const studies::Study& study, const Result& result) {
  return ResultOutput<Result>::json(study, result);
}

/// One line of `train --json`: {"run": 1, "variant": .., "seed": .., "step": .., "split": ..,
/// "loss": .., metrics.., "steps_per_second": ..}. Runs are counted from 1.
std::string train_record_json(std::size_t run, const studies::TrainedRun& trained,
                              const training::TrainRecord& record);

/// Reads the solve part of a result file of any kind, and its provenance where wanted (study_toml
/// reruns it). Errors: kMissingFile; kBadData when the file is not a Headway result, is of a newer
/// major version, is of a kind that holds no solve result, or is damaged; each message names the
/// data set or attribute.
studies::SolveResult read_solve_result(const std::string& file_path,
                                       ResultProvenance* provenance = nullptr);

/// The provenance alone, of a result file of any kind and also a partial one.
ResultProvenance read_result_provenance(const std::string& file_path);

}  // namespace headway::io
