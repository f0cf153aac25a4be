#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "headway/core/field_sink.hpp"
#include "headway/provenance.hpp"
#include "headway/prune_results.hpp"
#include "headway/sample_results.hpp"
#include "headway/study.hpp"
#include "headway/theory_results.hpp"
#include "headway/train_results.hpp"

namespace headway::io {

inline constexpr const char* kResultSchema = "headway-result";
inline constexpr std::int64_t kResultSchemaMajor = 1, kResultSchemaMinor = 0;

/// True when the file is HDF5 and its root says schema_name = "headway-result". Never throws.
bool is_result_file(const std::string& file_path);

/// Writes the result of a verb, by the field lists of results/result_fields.hpp. Instantiated for
/// the results of all verbs in src/io/result_file/results.cpp.
template <class Result>
struct ResultOutput {
  static std::string bytes(const Study& study, const Result& result,
                           const ResultProvenance& provenance);
  /// Everything that the file has but schema and seal.
  static void show(const Study& study, const Result& result, const ResultProvenance& provenance,
                   FieldSink& sink);
  static std::string json(const Study& study, const Result& result);
};

/// The bytes of a result file. A rank sends them to the rank that writes the file.
template <class Result>
std::string result_bytes(const Study& study, const Result& result,
                         const ResultProvenance& provenance) {
  return ResultOutput<Result>::bytes(study, result, provenance);
}

/// Writes the bytes of a result file to `file_path`, as write_result() does.
void write_result_bytes(const std::string& file_path, std::string_view bytes, bool force);

/// Writes a result file (schema "headway-result" 1.0; src/io/README.md has its fields). It appears
/// whole or not at all: written under a temporary name in the same directory, synced, then renamed.
/// NaN stands for undefined; strings are UTF-8. Errors: kCannotWrite when the file exists and
/// `force` is false, the directory is missing or not writable, or the disk is full; nothing is left
/// behind then.
template <class Result>
void write_result(const std::string& file_path, const Study& study, const Result& result,
                  const ResultProvenance& provenance, bool force) {
  write_result_bytes(file_path, result_bytes(study, result, provenance), force);
}

/// One JSON object without a final newline. It has several lines, that of `train` one. Doubles have
/// as many digits as read back to the same double. Undefined and infinite numbers are null.
/// U_a is a number for one output and a C x C matrix otherwise.
template <class Result>
std::string result_json(const Study& study, const Result& result) {
  return ResultOutput<Result>::json(study, result);
}

/// One line of `train --json`: {"run": 1, "variant": .., "seed": .., "step": .., "split": ..,
/// "loss": .., metrics.., "steps_per_second": ..}. Runs are counted from 1.
std::string train_record_json(std::size_t run, const TrainedRun& trained,
                              const training::TrainRecord& record);

/// The kind of a result file or of Gram matrices, which names the verb that made it
/// (verb_of_kind()). Errors as read_result_provenance().
std::string read_result_kind(const std::string& file_path);

/// How the command line spells the verb that makes results of a kind: as the kind, but
/// "prune-network" for "network_prune", which is older than the verb; "predict" for
/// "network_predict".
std::string verb_of_kind(const std::string& kind);

/// Reads the solve part of a result file of any kind, and its provenance where wanted (study_toml
/// reruns it). Errors: kMissingFile; kBadData when the file is not a Headway result, is of a newer
/// major version, is of a kind that holds no solve result, or is damaged; each message names the
/// data set or attribute. `bytes`, which result_bytes() made, are read in place of the file.
SolveResult read_solve_result(const std::string& file_path, ResultProvenance* provenance = nullptr,
                              std::string_view bytes = {});

/// All of a result of `sample`, or of `train` with the last and best weights where it holds them.
/// Errors likewise.
SampleResult read_sample_result(const std::string& file_path, std::string_view bytes = {});
TrainResult read_train_result(const std::string& file_path, std::string_view bytes = {});

/// A result that is read as a whole: shards and ranks send it to each other.
template <class Result>
concept SharedResult = std::is_same_v<Result, SolveResult> ||
    std::is_same_v<Result, SampleResult> || std::is_same_v<Result, TrainResult>;

/// One of the three above.
template <SharedResult Result>
Result read_shared_result(const std::string& file_path, std::string_view bytes = {}) {
  if constexpr (std::is_same_v<Result, SolveResult>) {
    return read_solve_result(file_path, nullptr, bytes);
  } else if constexpr (std::is_same_v<Result, SampleResult>) {
    return read_sample_result(file_path, bytes);
  } else {
    return read_train_result(file_path, bytes);
  }
}

/// The provenance alone, of a result file of any kind and also a partial one, or of Gram matrices.
ResultProvenance read_result_provenance(const std::string& file_path);
/// The provenance in the bytes of a result file.
ResultProvenance read_result_provenance_of(std::string_view bytes);

}  // namespace headway::io
