#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/text.hpp"
#include "headway/studies/results.hpp"
#include "io/dataset_file/names.hpp"
#include "io/hdf5/describe.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMostRows = 200;

std::string cell(double value) { return std::isfinite(value) ? fmt::format("{:.4f}", value) : "-"; }

std::string attribute(const Hdf5InputFile& file, const std::string& object, const char* name) {
  return printable(file.text_attribute(object, name).value_or("(missing)"));
}

double number(const Hdf5InputFile& file, const std::string& object, const char* name) {
  const auto values = file.number_attribute(object, name);
  return values && values->size() == 1 ? values->front() : studies::kUndefined;
}

/// Calls line(group) for the rows of the final table.
template <class Line>
std::string rows(const Hdf5InputFile& file, const Line& line) {
  const bool there = file.kind("groups") == NodeKind::kGroup;
  const std::size_t count = there ? file.members("groups").size() : 0;
  std::string out;
  for (std::size_t g = 0; g < std::min(count, kMostRows); ++g) {
    const std::string group = fmt::format("groups/{}", g);
    if (file.kind(group) == NodeKind::kGroup) out += line(group);
  }
  return out;
}

std::string count_line(const Hdf5InputFile& file) {
  return fmt::format("  {} of {:.0f} networks; means over seeds:\n", file.members("runs").size(),
                     number(file, "/", "planned_runs"));
}

}  // namespace

std::string describe_latents(const Hdf5InputFile& file) {
  return count_line(file) + rows(file, [&](const std::string& group) {
           const double layer = number(file, group, "layer");
           return fmt::format(
               "  {}, {}: {} {} held out {}, train {}, chance {}, shuffled {}, untrained {}\n",
               attribute(file, group, "label"),
               layer == 0.0 ? "all layers" : fmt::format("layer {:.0f}", layer),
               attribute(file, group, "decoder"), attribute(file, group, "metric"),
               cell(number(file, group, "held_out")), cell(number(file, group, "train")),
               cell(number(file, group, "chance")), cell(number(file, group, "shuffled")),
               cell(number(file, group, "untrained")));
         });
}

std::string describe_evaluations(const Hdf5InputFile& file) {
  std::string task = file.text_attribute("/", "evaluated_on").value_or("");
  std::replace(task.begin(), task.end(), '\n', ' ');
  return count_line(file) +
         rows(file,
              [&](const std::string& group) {
                const std::string at = group + "/metrics";
                std::string out = fmt::format("  {}:", attribute(file, group, "label"));
                if (file.kind(at + "/value") != NodeKind::kDataset) return out + "\n";
                const std::vector<std::string> splits = file.read_strings(at + "/split");
                const std::vector<std::string> metrics = file.read_strings(at + "/metric");
                const Tensor values = file.read_array(at + "/value");
                for (std::size_t i = 0;
                     i < std::min({splits.size(), metrics.size(), values.values.size()}); ++i) {
                  if (metrics[i] == "loss") continue;
                  out += fmt::format(" {} {} {};", printable(splits[i]), printable(metrics[i]),
                                     cell(values.values[i]));
                }
                return out + "\n";
              }) +
         fmt::format("  on{}\n", headway::printable(task));
}

}  // namespace headway::io
