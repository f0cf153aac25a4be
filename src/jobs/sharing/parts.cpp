#include "headway/jobs/parts.hpp"

#include <fmt/format.h>

#include "headway/core/sha256.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/study_hash.hpp"

namespace headway {
namespace {

constexpr std::string_view kPoint = "point_";
constexpr std::string_view kRun = "run_";
constexpr std::size_t kHashDigits = 16;

std::string run_name(const TrainRun& run, const std::string& study_hash,
                     const std::string& data_hash) {
  std::string identity = study_hash + "\n" + data_hash;
  for (const Setting& setting : run.settings) {
    if (setting.key == "threads") identity += "\n" + setting.value;
  }
  return std::string(kRun) + sha256_hex(identity).substr(0, kHashDigits);
}

}  // namespace

std::vector<ComputationPart> point_parts(const Study& study, const std::string& study_hash,
                                         const std::string& data_hash, int chains) {
  ComputationPart part{"", study_hash, study_text(study), data_hash};
  const std::size_t points = study.model.widths.size() * study.model.temperatures.size();
  std::vector<ComputationPart> parts;
  for (std::size_t i = 0; i < points; ++i) {
    part.name = fmt::format("{}{}", kPoint, i);
    parts.push_back(part);
  }
  for (std::size_t i = 0; i < points; ++i) {
    for (int c = 0; c < chains; ++c) {
      part.name = fmt::format("{}{}_chain_{}", kPoint, i, c);
      parts.push_back(part);
    }
  }
  return parts;
}

std::vector<ComputationPart> train_parts(const std::vector<TrainRun>& runs,
                                         const std::vector<std::string>& data_hashes) {
  std::vector<ComputationPart> parts;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string hash = train_hash(runs[i].study);
    const std::string& data_hash = data_hashes.at(i);
    parts.push_back(
        {run_name(runs[i], hash, data_hash), hash, study_text(runs[i].study), data_hash});
  }
  return parts;
}

bool is_part_name(std::string_view name) {
  return name.starts_with(kPoint) || name.starts_with(kRun);
}

std::vector<std::string> part_differences(const ComputationPart& found,
                                          const ComputationPart& wanted) {
  std::vector<std::string> out;
  if (found.study_hash != wanted.study_hash) {
    out = study_differences(found.study_toml, wanted.study_toml);
    if (out.empty()) out.emplace_back("another study");
  } else if (found.data_hash != wanted.data_hash) {
    out.emplace_back("the data");
  }
  return out;
}

}  // namespace headway
