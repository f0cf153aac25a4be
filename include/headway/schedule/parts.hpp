#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headway/train.hpp"

namespace headway {

/// One part of a long computation, which may go on from where it was left: a sweep point, a run.
struct ComputationPart {
  std::string name;        ///< "point_3", "run_<hash>": is_part_name()
  std::string study_hash;  ///< of the keys that decide its numbers
  std::string study_toml;  ///< names the keys that differ, where another part is found
  std::string data_hash;
};

/// The sweep points of `solve` or `sample`, in their order, then `chains` chains of each that may
/// be run apart; `study_hash` is that of the verb.
std::vector<ComputationPart> point_parts(const Study& study, const std::string& study_hash,
                                         const std::string& data_hash, int chains);

/// The runs of `train`, named after the hashes of study and data, so that a grid may grow, and
/// after the number of threads where it is swept, which no hash has: times are what such a sweep is
/// for. `data_hashes`: of each run, as TrainTask::content_hash.
std::vector<ComputationPart> train_parts(const std::vector<TrainRun>& runs,
                                         const std::vector<std::string>& data_hashes);

bool is_part_name(std::string_view name);

/// Why `found` is another part than `wanted`, nearest cause first; empty when it is not.
std::vector<std::string> part_differences(const ComputationPart& found,
                                          const ComputationPart& wanted);

}  // namespace headway
