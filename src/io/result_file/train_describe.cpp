#include <fmt/format.h>

#include <cmath>

#include "headway/studies/results.hpp"
#include "io/dataset_file/names.hpp"
#include "io/hdf5/describe.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMostRows = 200;

/// "-" where undefined.
std::string cell(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "-";
}

std::string attribute(const Hdf5InputFile& file, const std::string& object, const char* name) {
  return printable(file.text_attribute(object, name).value_or("(missing)"));
}

double number(const Hdf5InputFile& file, const std::string& object, const std::string& name) {
  const auto values = file.number_attribute(object, name);
  return values && values->size() == 1 ? values->front() : studies::kUndefined;
}

/// "held_out r2 0.81+-0.08" of every split of a row of the final table.
std::string splits_text(const Hdf5InputFile& file, const std::string& group) {
  std::string out;
  for (const std::string& split : file.members(group + "/splits")) {
    const std::string at = fmt::format("{}/splits/{}", group, split);
    const double error = number(file, at, "last_standard_error");
    out += fmt::format("{}{} {} {}{}", out.empty() ? "" : ", ", printable(split),
                       attribute(file, at, "metric"), cell(number(file, at, "last"), 4),
                       std::isfinite(error) ? "+-" + cell(error, 2) : "");
  }
  return out;
}

std::string run_text(const Hdf5InputFile& file, const std::string& group) {
  return fmt::format(
      "{}, seed {}: {} after {} steps, train loss {}", attribute(file, group, "label"),
      file.unsigned_attribute(group, "seed").value_or(0), attribute(file, group, "outcome"),
      cell(number(file, group, "steps"), 12), cell(number(file, group, "train_loss"), 4));
}

}  // namespace

std::string describe_train_runs(const Hdf5InputFile& file) {
  const std::size_t runs = file.members("runs").size();
  std::string out =
      fmt::format("  {} of {} runs:\n", runs, cell(number(file, "/", "planned_runs"), 9));
  for (std::size_t i = 0; i < std::min(runs, kMostRows); ++i) {
    const std::string group = fmt::format("runs/{}", i);
    if (file.kind(group) == NodeKind::kGroup) out += "  " + run_text(file, group) + "\n";
  }
  out += "\n  mean +- standard error over seeds:\n";
  const std::size_t groups =
      file.kind("groups") == NodeKind::kGroup ? file.members("groups").size() : 0;
  for (std::size_t g = 0; g < std::min(groups, kMostRows); ++g) {
    const std::string group = fmt::format("groups/{}", g);
    if (file.kind(group) != NodeKind::kGroup) continue;
    out += fmt::format("  {}, {} parameters, {} flops a step, train loss {}, {}\n",
                       attribute(file, group, "label"), cell(number(file, group, "parameters"), 15),
                       cell(number(file, group, "flops_per_step"), 4),
                       cell(number(file, group, "train_loss"), 4), splits_text(file, group));
  }
  return out;
}

}  // namespace headway::io
