#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/study.hpp"
#include "headway/study/train_run.hpp"

namespace headway {

/// A piece of work with a checkpoint of its own: a sweep point, some chains of one, or a run. It
/// can be resumed alone. Do not confuse it with a Shard, the part of a study that one machine
/// computes.
struct ComputationPart {
  std::string name;        ///< "point_3", "run_<hash>": is_part_name()
  std::string study_hash;  ///< of the keys that decide its numbers
  std::string study_toml;  ///< to name the keys that differ when another part is found
  std::string data_hash;
};

/// The sweep points of `solve` or `sample` in their order. After them come `chains` chains of each
/// point, which may be run apart. `study_hash`: solve_hash() or sample_hash().
std::vector<ComputationPart> point_parts(const Study& study, const std::string& study_hash,
                                         const std::string& data_hash, int chains);

/// The runs of `train`, named after the hashes of study and data, so that a grid may grow. If the
/// number of threads is swept, it is a part of the name. Hashes do not contain it, and such a sweep
/// measures times. `data_hashes`: of each run, as TrainTask::content_hash.
std::vector<ComputationPart> train_parts(const std::vector<TrainRun>& runs,
                                         const std::vector<std::string>& data_hashes);

/// Whether a file name begins as ComputationPart::name does.
bool is_part_name(std::string_view name);

/// Why `found` is another part than `wanted`, nearest cause first; empty when it is not.
std::vector<std::string> part_differences(const ComputationPart& found,
                                          const ComputationPart& wanted);

}  // namespace headway
