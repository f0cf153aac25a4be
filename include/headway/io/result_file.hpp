#pragma once

#include <cstdint>
#include <string>

#include "headway/core/record.hpp"
#include "headway/studies/evaluate.hpp"
#include "headway/studies/latents.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/study.hpp"
#include "headway/studies/training.hpp"

namespace headway::io {

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

/// Writes a result file (schema "headway-result" 1.0). It appears whole or not at all: written
/// under a temporary name in the same directory, synced, then renamed. NaN stands for undefined;
/// strings are UTF-8. Errors: kCannotWrite when the file exists and `force` is false, the directory
/// is missing or not writable, or the disk is full; nothing is left behind then.
void write_solve_result(const std::string& file_path, const studies::Study& study,
                        const studies::SolveResult& result, const ResultProvenance& provenance,
                        bool force);
/// The solve result it used, with points/<i>/alignment.
void write_align_result(const std::string& file_path, const studies::Study& study,
                        const studies::AlignResult& result, const ResultProvenance& provenance,
                        bool force);
/// The solve result it used, with points/<i>/pruning; where the data set carries a trained network,
/// the group network and points/<i>/network/scores.
void write_prune_result(const std::string& file_path, const studies::Study& study,
                        const studies::PruneResult& result, const ResultProvenance& provenance,
                        bool force);

/// The samples in points/<i>, with the theory at the same point in points/<i>/theory. Draws are
/// [chain, draw, n, n], as ArviZ wants them.
void write_sample_result(const std::string& file_path, const studies::Study& study,
                         const studies::SampleResult& result, const ResultProvenance& provenance,
                         bool force);

/// Runs in runs/<i> with their curves and weights, the final table in groups/<g>.
void write_train_result(const std::string& file_path, const studies::Study& study,
                        const studies::TrainResult& result, const ResultProvenance& provenance,
                        bool force);

/// Networks in runs/<i>: the codes of each layer in layers/<j>/codes with what they are of in
/// labels/, what each decoder read, mean codes; the final table in groups/<g>.
void write_latents_result(const std::string& file_path, const studies::Study& study,
                          const studies::LatentsResult& result, const ResultProvenance& provenance,
                          bool force);

/// Networks in runs/<i> with their evaluations by split, the final table in groups/<g>; the root's
/// attribute evaluated_on is the [task] of the first network, as text.
void write_evaluate_result(const std::string& file_path, const studies::Study& study,
                           const studies::EvaluateResult& result,
                           const ResultProvenance& provenance, bool force);

/// The verb that made a result file. Errors as read_result_provenance().
std::string read_result_kind(const std::string& file_path);

/// Reads the solve part of a result file of any kind, and its provenance where wanted (study_toml
/// reruns it). Errors: kMissingFile; kBadData when the file is not a Headway result, is of a newer
/// major version, is of a kind that holds no solve result, or is damaged; each message names the
/// data set or attribute.
studies::SolveResult read_solve_result(const std::string& file_path,
                                       ResultProvenance* provenance = nullptr);

/// The provenance alone, of a result file of any kind and also a partial one.
ResultProvenance read_result_provenance(const std::string& file_path);

}  // namespace headway::io
