#include "headway/io/theory_scores.hpp"

#include <algorithm>
#include <filesystem>

#include "core/fail.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/prune_results.hpp"
#include "headway/result_file.hpp"
#include "headway/study_file.hpp"
#include "io/dataset_file/rules.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

/// What a point of a result of headway prune has that networks are compared with.
struct ScoredPoint {
  std::vector<double> widths;
  double temperature = 0.0, error = 0.0;
  std::vector<std::string> names;
  std::vector<double> score, error_without, without_theory;
};

template <class Visitor, RecordOf<ScoredPoint> Record>
void fields(Visitor& visit, Record& r) {
  visit("widths", r.widths, "N_1, ..., N_L, N_a", {.layout = FieldLayout::kAttribute});
  visit("temperature", r.temperature, "T");
  visit("test_mean_squared_error", r.error, "squared error of the predictor");
  visit("pruning/name", r.names, "names of the parts");
  visit("pruning/score", r.score, "eq. 53");
  visit("pruning/mean_squared_error_without", r.error_without, "squared error without each part");
  const auto without_theory = [&](const char* name) {
    visit(name, r.without_theory,
          "rise of the squared error with 1 as every entry of U_1; older results lack it",
          {.optional = true});
  };
  without_theory("pruning/squared_error_rise_without_theory");
  if (r.without_theory.empty()) without_theory("pruning/squared_error_change_without_theory");
}

/// weights_sha256 of the data set that a theory's result is of.
std::string network_of(const std::string& file_path) {
  const Study study = parse_study(read_result_provenance(file_path).study_toml, file_path);
  const std::string& data = study.task.file();
  std::error_code ignored;
  if (study.task.kind() != TaskKind::kDataset || !std::filesystem::exists(data, ignored)) {
    bad_data(
        "{}: its data set \"{}\" is missing: must be there, as headway extract wrote it; it says "
        "which network the parts belong to",
        file_path, data);
  }
  return read_hdf5(data, dataset_rules().schema_name, [](const Hdf5InputFile& file) {
    if (auto hash = file.text_attribute("/", "weights_sha256")) return *std::move(hash);
    bad_data("root attribute weights_sha256 is missing: must be a data set of headway extract");
  });
}

TheoryScores scores_of(ScoredPoint point, const std::string& label, const std::string& network) {
  if (point.score.size() != point.names.size() ||
      point.error_without.size() != point.names.size() ||
      (!point.without_theory.empty() && point.without_theory.size() != point.names.size())) {
    bad_data("points/<i>/pruning: its arrays differ in length");
  }
  if (point.widths.empty()) bad_data("points/<i>/widths: is empty");
  for (double& x : point.error_without) x -= point.error;
  if (std::equal(point.widths.begin() + 1, point.widths.end(), point.widths.begin())) {
    point.widths.resize(1);
  }
  return {fmt::format("{} N = {} T = {}", label, join(point.widths, ","), point.temperature),
          network,
          std::move(point.names),
          std::move(point.score),
          std::move(point.error_without),
          std::move(point.without_theory)};
}

std::vector<TheoryScores> scores_in(const std::string& file_path, const std::string& label) {
  const std::string kind = read_result_kind(file_path);
  if (kind != PruneResult::kVerb) {
    bad_data("{}: is a result of headway {}: must be a result of headway prune", file_path,
             shown(verb_of_kind(kind)));
  }
  const std::string network = network_of(file_path);
  return read_hdf5(file_path, kResultSchema, [&](const Hdf5InputFile& file) {
    std::vector<ScoredPoint> points;
    RecordReader(file, "")("points", points, "one entry a sweep point", {.optional = true});
    if (points.empty()) bad_data("holds no points: must be a result of headway prune");
    std::vector<TheoryScores> out;
    for (ScoredPoint& point : points) {
      TheoryScores scores = scores_of(std::move(point), label, network);
      // A sweep may name a point twice. Its scores are the same, and labels are names in HDF5.
      if (std::ranges::find(out, scores.label, &TheoryScores::label) != out.end()) continue;
      out.push_back(std::move(scores));
    }
    return out;
  });
}

/// The names of the files; where some have the same, the paths that were given, for names in HDF5.
std::vector<std::string> labels_of(const std::vector<std::string>& files) {
  std::vector<std::string> labels;
  for (const std::string& file : files) {
    labels.push_back(std::filesystem::path(file).stem().string());
  }
  std::vector<std::string> out = labels;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (std::ranges::count(labels, labels[i]) == 1) continue;
    out[i] = files[i];
    std::ranges::replace(out[i], '/', ':');
  }
  return out;
}

}  // namespace

std::vector<TheoryScores> read_theory_scores(const std::vector<std::string>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code ignored;
      if (files[i] == files[j] || std::filesystem::equivalent(files[i], files[j], ignored)) {
        throw OptionError(
            fmt::format(
                "prune.theory[{}] = \"{}\": is the same file as entry {}: must be given once",
                i + 1, files[i], j + 1),
            {"prune.theory"});
      }
    }
  }
  const std::vector<std::string> labels = labels_of(files);
  std::vector<TheoryScores> out;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::vector<TheoryScores> scores = scores_in(files[i], labels[i]);
    out.insert(out.end(), scores.begin(), scores.end());
  }
  return out;
}

}  // namespace headway::io
