#include "io/hdf5/describe.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/fail.hpp"
#include "headway/core/text.hpp"
#include "headway/core/utf8.hpp"
#include "headway/dataset.hpp"
#include "headway/prune_results.hpp"
#include "headway/results/result_fields.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMostRows = 200;

/// A table of the results of a verb. A row is a group; "*" in its path stands for any member. A
/// column is an attribute; "name" is that of the group, and "?" shows yes or no.
struct Listing {
  const char* verb;
  const char* rows;
  const char* columns;
  const char* of_first = "";  ///< what points/0 must have; else the table is left out
};
constexpr const char* kPoints =
    "widths temperature action accuracy gp_accuracy test_mean_squared_error log_evidence "
    "converged?";
constexpr Listing kListings[] = {
    {SolveResult::kVerb, "points/*", kPoints},
    {AlignResult::kVerb, "points/*", kPoints},
    {PruneResult::kVerb, "points/*", kPoints},
    {SampleResult::kVerb, "points/*",
     "widths temperature draws accuracy gp_accuracy rhat_max ess_bulk_min log_evidence complete?"},
    {SolveResult::kVerb, "points/*/minima/*",
     "name action attention_entropy attention_largest starts converged?", "minima"},
    {SolveResult::kVerb, "points/*", "widths temperature S_effective_dimension",
     "S_effective_dimension"},
    {SampleResult::kVerb, "points/*",
     "widths temperature attention_entropy_mean attention_entropy_mcse attention_largest_mean "
     "attention_largest_mcse log_evidence_integral exchange_rate",
     "attention_largest_mean"},
    {TrainResult::kVerb, "runs/*", "label seed outcome steps train_loss"},
    {TrainResult::kVerb, "groups/*", "name label parameters flops_per_step train_loss"},
    {TrainResult::kVerb, "groups/*/splits/*", "name metric last last_standard_error"},
    {LatentsResult::kVerb, "groups/*",
     "label layer decoder metric held_out train chance shuffled untrained"},
    {PredictResult::kVerb, "points/*", "widths temperature method draws"},
    {NetworkPredictResult::kVerb, "groups/*", "name label"},
    {NetworkPredictResult::kVerb, "runs/*", "name label seed step"},
    {EvaluateResult::kVerb, "runs/*", "name label seed"},
    {EvaluateResult::kVerb, "runs/*/evaluations/*", "name examples loss accuracy r2"},
    {RankResult::kVerb, "runs/*", "name label seed target examples loss penalty ceiling"},
    {NetworkPruneResult::kVerb, "groups/*", "name label"},
    {NetworkPruneResult::kVerb, "groups/*/scores/*",
     "name error_rise_spearman error_rise_spearman_standard_error"}};

std::string text(const Hdf5InputFile& file, const std::string& object, const char* name) {
  return printable(file.text_attribute(object, name).value_or("(missing)"));
}

/// "-" where it is undefined or nothing is there, one number where all are equal.
std::string list_text(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double v : values) texts.push_back(std::isfinite(v) ? fmt::format("{:.6g}", v) : "-");
  if (texts.empty()) return "-";
  const bool uniform = std::ranges::adjacent_find(texts, std::not_equal_to()) == texts.end();
  return uniform ? texts.front() : fmt::format("[{}]", join(texts));
}

/// What a group has as `column`.
std::string cell(const Hdf5InputFile& file, const std::string& group, const std::string& column) {
  if (column == "name") return shown(group.substr(group.find('/') + 1));
  if (column.ends_with('?')) {
    return cell(file, group, column.substr(0, column.size() - 1)) == "1" ? "yes" : "no";
  }
  if (file.has_text_attribute(group, column)) return text(file, group, column.c_str());
  if (column == "seed") {
    return fmt::format("{}", file.unsigned_attribute(group, column).value_or(0));
  }
  return list_text(file.number_attribute(group, column).value_or(std::vector<double>{}));
}

/// The groups whose path fits, "*" being any member; numbered ones in the order of their numbers.
std::vector<std::string> groups_at(const Hdf5InputFile& file, const std::string& path) {
  const std::size_t star = path.find('*');
  if (star == std::string::npos) {
    return file.kind(path) == NodeKind::kGroup ? std::vector{path} : std::vector<std::string>{};
  }
  std::vector<std::string> names = file.members(path.substr(0, star - 1));
  std::ranges::stable_sort(names, std::less(), &std::string::size);
  std::vector<std::string> out;
  for (const std::string& name : names) {
    for (std::string& group :
         groups_at(file, path.substr(0, star) + name + path.substr(star + 1))) {
      out.push_back(std::move(group));
    }
  }
  return out;
}

std::string table(const Hdf5InputFile& file, const Listing& listing) {
  const std::vector<std::string> columns = split(listing.columns, ' ');
  const std::vector<std::string> groups = groups_at(file, listing.rows);
  std::vector<std::vector<std::string>> rows = {columns};
  for (std::size_t i = 0; i < std::min(groups.size(), kMostRows); ++i) {
    rows.emplace_back();
    for (const std::string& column : columns) rows.back().push_back(cell(file, groups[i], column));
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, characters_of(other[c]));
      out += "  " + std::string(width - characters_of(row[c]), ' ') + row[c];
    }
    out += "\n";
  }
  if (groups.size() > kMostRows) out += fmt::format("  ... {} rows in all\n", groups.size());
  return out + "\n";
}

bool has_first(const Hdf5InputFile& file, const Listing& listing) {
  const std::string name = listing.of_first;
  return name.empty() || file.kind("points/0/" + name) == NodeKind::kGroup ||
         (file.kind("points/0") == NodeKind::kGroup && file.has_attribute("points/0", name));
}

std::string sizes_text(const Hdf5InputFile& file) {
  const auto root = [&](const char* name) { return file.attribute_text("/", name); };
  std::string out = fmt::format("  network    heads {}, variances {}, {}\n", root("heads"),
                                root("variances"), count_text(root("outputs"), "output"));
  out += fmt::format("  data       {} training and {}, {}\n", root("train_examples"),
                     count_text(root("test_examples"), "test example"),
                     count_text(root("features"), "feature"));
  if (file.kind("sets") == NodeKind::kDataset) {
    out += fmt::format("  sets       {}\n", shown(join(file.read_strings("sets"))));
  }
  return out;
}

bool of_arrays_in_memory(const Hdf5InputFile& file) {
  const std::string line = fmt::format("\nfile = \"{}\"\n", tasks::kArraysInMemory);
  return file.text_attribute("/", "study_toml").value_or("").find(line) != std::string::npos;
}

}  // namespace

std::string describe_result(const Hdf5InputFile& file) {
  const std::string kind = text(file, "/", "kind");
  std::string out =
      fmt::format("  study      {} ({}){}\n", text(file, "/", "study"), kind,
                  cell(file, "/", "partial") == "1" ? ", interrupted: only a part is here" : "");
  if (file.has_attribute("/", "heads")) out += sizes_text(file);
  if (file.has_attribute("/", "planned_runs")) {
    out += fmt::format("  runs       {} of {}\n", file.members("runs").size(),
                       cell(file, "/", "planned_runs"));
  }
  out += fmt::format("  made by    Headway {} (commit {}, {}, {})\n",
                     text(file, "/", "headway_version"), text(file, "/", "git_commit"),
                     text(file, "/", "compiler"), text(file, "/", "blas"));
  if (file.has_attribute("/", "machine")) {
    out += fmt::format("  on         {}\n", text(file, "/", "machine"));
  }
  if (file.has_attribute("/", "gpu")) {
    out += fmt::format("  GPU        {}\n", text(file, "/", "gpu"));
  }
  out += fmt::format("  started    {}, {} s on {}, seed {}\n", text(file, "/", "started"),
                     cell(file, "/", "seconds"), count_text(cell(file, "/", "threads"), "thread"),
                     cell(file, "/", "seed"));
  out += fmt::format("  command    {}\n", text(file, "/", "command"));
  out += fmt::format("  study hash {}\n  data hash  {}\n\n", text(file, "/", "study_hash"),
                     text(file, "/", "data_hash"));
  for (const Listing& listing : kListings) {
    if (kind == listing.verb && has_first(file, listing)) out += table(file, listing);
  }
  std::error_code ignored;
  const std::string checkpoint = file.file_path() + ".checkpoint";
  if (cell(file, "/", "partial") == "1" && std::filesystem::exists(checkpoint, ignored)) {
    out += fmt::format(
        "To go on, run the command above again, without --force; what is done is in {}\n",
        checkpoint);
  }
  const bool of_networks = kind == EvaluateResult::kVerb || kind == NetworkPruneResult::kVerb;
  const bool trained = kind == RankResult::kVerb && text(file, "/", "task") != "dataset";
  if (of_networks || trained) {
    return out + "To remake it, run the command above; the file that it names holds the networks\n";
  }
  if (kind == PredictResult::kVerb || kind == NetworkPredictResult::kVerb) {
    return out + "To remake it, run the command above, which names the result and the new inputs\n";
  }
  if (of_arrays_in_memory(file)) {
    return out +
           "It was made from arrays in memory, which it does not hold.\n"
           "To remake it, run the command above in Python and pass the same arrays again.\n";
  }
  return out + fmt::format(
                   "To remake it (the file holds its study with all defaults{}):\n"
                   "  headway {} {}{} -o NEW.h5\n",
                   kind == LatentsResult::kVerb ? "; the networks are trained again" : "", kind,
                   shell_command({file.file_path()}),
                   file.has_attribute("/", "shard") ? " --shard " + text(file, "/", "shard") : "");
}

}  // namespace headway::io
