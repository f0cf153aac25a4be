#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/study.hpp"

namespace headway {

/// How to remake a result: what ran, on what, and when.
struct ResultProvenance {
  std::string study_toml, study_hash, data_hash;
  std::string headway_version, git_commit, compiler, blas, machine;
  std::string gpu;  ///< device, versions, kernels and precision; "" where none computed
  std::string command, started;
  std::uint64_t seed = 1;
  int threads = 1;
  double seconds = 0.0;
  bool partial = false;
  std::string shard;  ///< "" for a whole result
};
template <class Visitor, RecordOf<ResultProvenance> Record>
void fields(Visitor& visit, Record& r) {
  visit("study_toml", r.study_toml,
        "the study with all its defaults; running it remakes the result");
  visit("study_hash", r.study_hash, "SHA-256 (hex) of what the study computes");
  visit("data_hash", r.data_hash, "SHA-256 (hex) of the data");
  visit("headway_version", r.headway_version, "version of the program, such as 0.1.0");
  visit("git_commit", r.git_commit, "commit of the program");
  visit("compiler", r.compiler, "compiler that built the program");
  visit("blas", r.blas, "library of the matrix products");
  visit("machine", r.machine,
        "processor, number of processors and memory of the machine; of each, for merged parts",
        {.optional = true});
  if (!std::is_const_v<Record> || shows(visit, !r.gpu.empty())) {
    visit("gpu", r.gpu,
          "the GPU that networks were on: its name, versions of CUDA and LibTorch, kernels and "
          "precision; absent where there was none",
          {.optional = true});
  }
  visit("command", r.command, "command line");
  visit("started", r.started, "when the computation started: ISO 8601, UTC");
  visit("seed", r.seed, "root of every random stream", {.optional = true});
  visit("threads", r.threads, "threads that were used", {.least = 0});
  visit("seconds", r.seconds,
        "time of all calls on it together; one that was killed counts up to its last checkpoint");
  visit("partial", r.partial, "1: interrupted; only finished points are there");
  if (std::is_const_v<Record> && !shows(visit, !r.shard.empty())) return;
  visit("shard", r.shard, "\"i/n\" for part i of n, counted from 0; absent in whole results",
        {.optional = true});
}

/// What this build of Headway is.
struct BuildInfo {
  std::string version;     ///< "0.1.0"
  std::string git_commit;  ///< hexadecimal, then " with changes" where there were any; "unknown"
  std::string date;        ///< of the commit, "2025-01-31"; empty where it is not known
  std::string compiler;    ///< "GCC 12.2.0"
  std::string build_type;  ///< "Release"
};

BuildInfo build_info();

/// Now, as "2025-01-31T12:34:56Z".
std::string utc_now();

/// Everything of a result's provenance that is known before the computation: the study and its
/// hash, the hash of the data, version, commit, compiler, BLAS, machine, command, start (now),
/// seed. `threads`, `seconds` and `partial` are filled in from the result.
ResultProvenance make_provenance(const Study& study, const std::string& data_hash,
                                 const std::vector<std::string>& arguments);

}  // namespace headway
