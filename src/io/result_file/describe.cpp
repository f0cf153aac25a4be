#include "io/hdf5/describe.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "headway/studies/sample_results.hpp"
#include "io/dataset_file/names.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMaxPoints = 200;

std::string text(const Hdf5InputFile& file, const char* name) {
  const std::string value = file.text_attribute("/", name).value_or("(missing)");
  return text_fault(value, false).empty() ? value : printable(value);
}

double number(const Hdf5InputFile& file, const std::string& object, const char* name) {
  const auto values = file.number_attribute(object, name);
  return values && values->size() == 1 ? values->front() : std::numeric_limits<double>::quiet_NaN();
}

/// "-" where undefined.
std::string cell(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "-";
}

std::string widths_cell(const Hdf5InputFile& file, const std::string& point) {
  const auto widths = file.number_attribute(point, "widths").value_or(std::vector<double>{});
  bool uniform = !widths.empty();
  for (const double w : widths) uniform = uniform && w == widths.front();
  return uniform ? cell(widths.front(), 12) : fmt::format("[{}]", fmt::join(widths, ", "));
}

std::string row(const Hdf5InputFile& file, const std::string& point) {
  const double converged = number(file, point, "converged");
  return fmt::format(
      "  {:<20} {:>12} {:>16} {:>10} {:>10} {:>10}  {}\n", widths_cell(file, point),
      cell(number(file, point, "temperature"), 6), cell(number(file, point, "action"), 10),
      cell(number(file, point, "accuracy"), 4), cell(number(file, point, "gp_accuracy"), 4),
      cell(number(file, point, "test_mean_squared_error"), 4),
      converged == 0.0 ? "not converged" : "");
}

std::string sample_row(const Hdf5InputFile& file, const std::string& point) {
  const double rhat = number(file, point, "rhat_max");
  return fmt::format(
      "  {:<20} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}  {}\n", widths_cell(file, point),
      cell(number(file, point, "temperature"), 6), cell(number(file, point, "draws"), 8),
      cell(number(file, point, "accuracy"), 4), cell(number(file, point, "gp_accuracy"), 4),
      cell(rhat, 5), cell(number(file, point, "ess_bulk_min"), 5),
      cell(number(file, point, "log_evidence"), 7),
      number(file, point, "complete") == 0.0 ? "interrupted"
      : rhat <= studies::kUsableRhat         ? ""
                                             : "not usable");
}

std::string table(const Hdf5InputFile& file, bool samples) {
  const std::size_t count = file.members("points").size();
  std::string lines =
      samples ? fmt::format("  {:<20} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}\n", "widths",
                            "temperature", "draws", "accuracy", "GP", "R-hat", "ESS bulk",
                            "log evidence")
              : fmt::format("  {:<20} {:>12} {:>16} {:>10} {:>10} {:>10}\n", "widths",
                            "temperature", "action", "accuracy", "GP", "test MSE");
  for (std::size_t i = 0; i < std::min(count, kMaxPoints); ++i) {
    const std::string point = fmt::format("points/{}", i);
    if (file.kind(point) != NodeKind::kGroup) continue;
    lines += samples ? sample_row(file, point) : row(file, point);
  }
  if (count > kMaxPoints) lines += fmt::format("  ... {} points in all\n", count);
  return lines;
}

std::string list(const Hdf5InputFile& file, const char* name) {
  const auto values = file.number_attribute("/", name).value_or(std::vector<double>{});
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string sizes_text(const Hdf5InputFile& file) {
  std::string out =
      fmt::format("  network    heads {}, variances {}, {} outputs\n", list(file, "heads"),
                  list(file, "variances"), cell(number(file, "/", "outputs"), 10));
  out += fmt::format("  data       {} training and {} test examples, {} features\n",
                     cell(number(file, "/", "train_examples"), 15),
                     cell(number(file, "/", "test_examples"), 15),
                     cell(number(file, "/", "features"), 15));
  if (file.kind("sets") == NodeKind::kDataset) {
    out += fmt::format("  sets       {}\n",
                       printable(fmt::format("{}", fmt::join(file.read_strings("sets"), ", "))));
  }
  return out;
}

}  // namespace

std::string describe_result(const Hdf5InputFile& file) {
  const bool partial = number(file, "/", "partial") == 1.0;
  const std::string kind = text(file, "kind");
  std::string out = fmt::format("  study      {} ({}){}\n", text(file, "study"), kind,
                                partial ? ", interrupted: only part of it is here" : "");
  const bool trained = kind == "train";
  const bool networks = kind == "network_prune";
  if (!trained && !networks) out += sizes_text(file);
  out += fmt::format("  made by    Headway {} (commit {}, {}, {})\n", text(file, "headway_version"),
                     text(file, "git_commit"), text(file, "compiler"), text(file, "blas"));
  out += fmt::format("  started    {}, {} s on {} threads, seed {}\n", text(file, "started"),
                     cell(number(file, "/", "seconds"), 4), cell(number(file, "/", "threads"), 6),
                     file.unsigned_attribute("/", "seed").value_or(0));
  out += fmt::format("  command    {}\n", text(file, "command"));
  out += fmt::format("  study hash {}\n  data hash  {}\n\n", text(file, "study_hash"),
                     text(file, "data_hash"));
  if (networks) {
    const std::size_t runs =
        file.kind("runs") == NodeKind::kGroup ? file.members("runs").size() : 0;
    return out +
           fmt::format("  heads removed from the networks of {} runs\n\nTo remake it:\n  {}\n",
                       runs, text(file, "command"));
  }
  out += trained ? describe_train_runs(file) : table(file, kind == "sample");
  out += fmt::format(
      "\nTo remake it (the file holds its study, fully resolved):\n"
      "  headway {} {} -o NEW.h5\n",
      kind, file.file_path());
  return out;
}

}  // namespace headway::io
