#include "headway/io/theory_scores.hpp"

#include <algorithm>
#include <filesystem>

#include "core/fail.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/result_file.hpp"
#include "headway/io/study_file.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {
namespace {

using studies::TheoryScores;

/// weights_sha256 of the data set that a theory's result is of.
std::string network_of(const std::string& file_path) {
  const studies::Study study = parse_study(read_result_provenance(file_path).study_toml, file_path);
  const std::string& data = study.task.file;
  if (study.task.kind != studies::TaskKind::kDataset || !std::filesystem::exists(data)) {
    bad_data(
        "{}: its data set \"{}\" is not there: must be a file of headway extract, which says "
        "whose parts they are",
        file_path, data);
  }
  first_reading(data);
  const Hdf5Lock lock;
  const Hdf5InputFile file(data);
  const auto hash = file.text_attribute("/", "weights_sha256");
  if (!hash) {
    bad_data("{}: root attribute weights_sha256 is missing: must be of headway extract", data);
  }
  return *hash;
}

std::vector<double> numbers_at(const Hdf5InputFile& file, const std::string& path) {
  return file.read_array(path).values;
}

TheoryScores scores_at(const Hdf5InputFile& file, const std::string& point,
                       const std::string& label) {
  TheoryScores out;
  const auto widths = file.number_attribute(point, "widths").value_or(std::vector<double>{});
  const auto temperature =
      file.number_attribute(point, "temperature").value_or(std::vector<double>{});
  const auto whole =
      file.number_attribute(point, "test_mean_squared_error").value_or(std::vector<double>{});
  if (widths.empty() || temperature.size() != 1 || whole.size() != 1) {
    bad_data("{}: widths, temperature or test_mean_squared_error is missing", point);
  }
  const bool uniform = std::equal(widths.begin() + 1, widths.end(), widths.begin());
  std::string sizes;
  for (const double n : widths) sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", n);
  out.label = fmt::format("{} N = {} T = {}", label,
                          uniform ? fmt::format("{}", widths.front()) : sizes, temperature.front());
  const std::string pruning = point + "/pruning/";
  out.names = file.read_strings(pruning + "name");
  out.score = numbers_at(file, pruning + "score");
  out.error_rise = numbers_at(file, pruning + "mean_squared_error_without");
  for (double& x : out.error_rise) x -= whole.front();
  if (out.score.size() != out.names.size() || out.error_rise.size() != out.names.size()) {
    bad_data("{}: its arrays differ in length", pruning);
  }
  return out;
}

}  // namespace

std::vector<TheoryScores> read_theory_scores(const std::string& file_path) {
  const std::string kind = read_result_kind(file_path);
  if (kind != studies::PruneResult::kVerb) {
    bad_data("{}: is a result of headway {}: must be of headway prune", file_path, shown(kind));
  }
  const std::string network = network_of(file_path);
  const std::string label = std::filesystem::path(file_path).stem().string();
  const Hdf5Lock lock;
  const Hdf5InputFile file(file_path);
  try {
    const std::size_t points =
        file.kind("points") == NodeKind::kGroup ? file.members("points").size() : 0;
    std::vector<TheoryScores> out;
    for (std::size_t i = 0; i < points; ++i) {
      out.push_back(scores_at(file, fmt::format("points/{}", i), label));
      out.back().weights_sha256 = network;
    }
    if (out.empty()) bad_data("has no points of headway prune");
    return out;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    bad_data("{}: {}", file_path, error.what());
  }
}

}  // namespace headway::io
