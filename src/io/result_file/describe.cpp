#include "io/hdf5/describe.hpp"

#include <algorithm>
#include <cmath>

#include "core/fail.hpp"
#include "headway/studies/evaluate.hpp"
#include "headway/studies/latents.hpp"
#include "headway/studies/prune_trained.hpp"
#include "headway/studies/sample_results.hpp"
#include "headway/studies/training.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMostRows = 200;

std::string text(const Hdf5InputFile& file, const std::string& object, const char* name) {
  return printable(file.text_attribute(object, name).value_or("(missing)"));
}

double number(const Hdf5InputFile& file, const std::string& object, const std::string& name) {
  const auto values = file.number_attribute(object, name);
  return values && values->size() == 1 ? values->front() : studies::kUndefined;
}

/// "-" where undefined.
std::string cell(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "-";
}

std::string cell(const Hdf5InputFile& file, const std::string& object, const std::string& name,
                 int digits) {
  return cell(number(file, object, name), digits);
}

std::string widths_cell(const Hdf5InputFile& file, const std::string& point) {
  const auto widths = file.number_attribute(point, "widths").value_or(std::vector<double>{});
  bool uniform = !widths.empty();
  for (const double w : widths) uniform = uniform && w == widths.front();
  return uniform ? cell(widths.front(), 12) : fmt::format("[{}]", fmt::join(widths, ", "));
}

/// A column of the table of points: an attribute of each.
struct TableColumn {
  const char* title;
  int width;
  const char* attribute;
  int digits;
};
constexpr TableColumn kSolved[] = {{"temperature", 12, "temperature", 6},
                                   {"action", 16, "action", 10},
                                   {"accuracy", 10, "accuracy", 4},
                                   {"GP", 10, "gp_accuracy", 4},
                                   {"test MSE", 10, "test_mean_squared_error", 4}};
constexpr TableColumn kSampled[] = {
    {"temperature", 12, "temperature", 6},  {"draws", 10, "draws", 8},
    {"accuracy", 10, "accuracy", 4},        {"GP", 10, "gp_accuracy", 4},
    {"R-hat", 10, "rhat_max", 5},           {"ESS bulk", 10, "ess_bulk_min", 5},
    {"log evidence", 12, "log_evidence", 7}};

/// What is the matter with a point.
std::string remark(const Hdf5InputFile& file, const std::string& point, bool sampled) {
  if (!sampled) return number(file, point, "converged") == 0.0 ? "not converged" : "";
  if (number(file, point, "complete") == 0.0) return "interrupted";
  return number(file, point, "rhat_max") <= studies::kUsableRhat ? "" : "not usable";
}

/// Calls visit(group) for the first groups <list>/0, <list>/1, ...; how many there are.
template <class Visit>
std::size_t for_each_group(const Hdf5InputFile& file, const std::string& list, const Visit& visit) {
  const std::size_t count = file.members(list).size();
  for (std::size_t i = 0; i < std::min(count, kMostRows); ++i) {
    const std::string group = fmt::format("{}/{}", list, i);
    if (file.kind(group) == NodeKind::kGroup) visit(group);
  }
  return count;
}

std::string table_of_points(const Hdf5InputFile& file, bool sampled) {
  const std::span<const TableColumn> columns =
      sampled ? std::span<const TableColumn>(kSampled) : std::span<const TableColumn>(kSolved);
  std::string lines = fmt::format("  {:<20}", "widths");
  for (const TableColumn& column : columns) {
    lines += fmt::format(" {:>{}}", column.title, column.width);
  }
  lines += "\n";
  const std::size_t count = for_each_group(file, "points", [&](const std::string& point) {
    lines += fmt::format("  {:<20}", widths_cell(file, point));
    for (const TableColumn& column : columns) {
      lines +=
          fmt::format(" {:>{}}", cell(file, point, column.attribute, column.digits), column.width);
    }
    lines += fmt::format("  {}\n", remark(file, point, sampled));
  });
  if (count > kMostRows) lines += fmt::format("  ... {} points in all\n", count);
  return lines;
}

std::string list(const Hdf5InputFile& file, const char* name) {
  const auto values = file.number_attribute("/", name).value_or(std::vector<double>{});
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string sizes_text(const Hdf5InputFile& file) {
  std::string out =
      fmt::format("  network    heads {}, variances {}, {} outputs\n", list(file, "heads"),
                  list(file, "variances"), cell(file, "/", "outputs", 10));
  out += fmt::format("  data       {} training and {} test examples, {} features\n",
                     cell(file, "/", "train_examples", 15), cell(file, "/", "test_examples", 15),
                     cell(file, "/", "features", 15));
  if (file.kind("sets") == NodeKind::kDataset) {
    out += fmt::format("  sets       {}\n", shown(join(file.read_strings("sets"))));
  }
  return out;
}

/// "held_out r2 0.81+-0.08" of every split of a row of the final table.
std::string splits_text(const Hdf5InputFile& file, const std::string& group) {
  std::vector<std::string> out;
  for (const std::string& split : file.members(group + "/splits")) {
    const std::string at = fmt::format("{}/splits/{}", group, split);
    const double error = number(file, at, "last_standard_error");
    out.push_back(fmt::format("{} {} {}{}", shown(split), shown(text(file, at, "metric")),
                              cell(file, at, "last", 4),
                              std::isfinite(error) ? "+-" + cell(error, 2) : ""));
  }
  return join(out);
}

std::string networks_line(const Hdf5InputFile& file) {
  return fmt::format("  {} of {} networks; means over seeds:\n", file.members("runs").size(),
                     cell(file, "/", "planned_runs", 9));
}

/// Runs and final table of a result of `train`.
std::string trained_text(const Hdf5InputFile& file) {
  std::string lines;
  const std::size_t runs = for_each_group(file, "runs", [&](const std::string& group) {
    lines += fmt::format(
        "  {}, seed {}: {} after {} steps, train loss {}\n", shown(text(file, group, "label")),
        file.unsigned_attribute(group, "seed").value_or(0), shown(text(file, group, "outcome")),
        cell(file, group, "steps", 12), cell(file, group, "train_loss", 4));
  });
  std::string out = fmt::format("  {} of {} runs:\n{}\n  mean +- standard error over seeds:\n",
                                runs, cell(file, "/", "planned_runs", 9), lines);
  for_each_group(file, "groups", [&](const std::string& group) {
    out += fmt::format("  {}, {} parameters, {} flops a step, train loss {}, {}\n",
                       shown(text(file, group, "label")), cell(file, group, "parameters", 15),
                       cell(file, group, "flops_per_step", 4), cell(file, group, "train_loss", 4),
                       splits_text(file, group));
  });
  return out;
}

/// What was decoded from networks: the table over seeds.
std::string latents_text(const Hdf5InputFile& file) {
  std::string out = networks_line(file);
  for_each_group(file, "groups", [&](const std::string& group) {
    const double layer = number(file, group, "layer");
    out += fmt::format(
        "  {}, {}: {} {} held out {}, train {}, chance {}, shuffled {}, untrained {}\n",
        shown(text(file, group, "label")), layer == 0.0 ? "all layers" : "layer " + cell(layer, 6),
        shown(text(file, group, "decoder")), shown(text(file, group, "metric")),
        cell(file, group, "held_out", 4), cell(file, group, "train", 4),
        cell(file, group, "chance", 4), cell(file, group, "shuffled", 4),
        cell(file, group, "untrained", 4));
  });
  return out;
}

/// How networks did on the task that they were put on: the table over seeds.
std::string evaluations_text(const Hdf5InputFile& file) {
  std::string out = networks_line(file);
  for_each_group(file, "groups", [&](const std::string& group) {
    out += fmt::format("  {}:", shown(text(file, group, "label")));
    const std::vector<std::string> splits = file.read_strings(group + "/metrics/split");
    const std::vector<std::string> metrics = file.read_strings(group + "/metrics/metric");
    const Tensor values = file.read_array(group + "/metrics/value");
    const std::size_t count = std::min({splits.size(), metrics.size(), values.values.size()});
    for (std::size_t i = 0; i < count; ++i) {
      if (metrics[i] == "loss") continue;
      out +=
          fmt::format(" {} {} {};", shown(splits[i]), shown(metrics[i]), cell(values.values[i], 4));
    }
    out += "\n";
  });
  std::string task = file.text_attribute("/", "evaluated_on").value_or("");
  std::replace(task.begin(), task.end(), '\n', ' ');
  return out + fmt::format("  on{}\n", printable(task));
}

/// How scores agree with removing heads from the networks: the table over seeds.
std::string prunings_text(const Hdf5InputFile& file) {
  std::string out = networks_line(file);
  for_each_group(file, "groups", [&](const std::string& group) {
    for (const std::string& score : file.members(group + "/scores")) {
      const std::string at = fmt::format("{}/scores/{}", group, score);
      out += fmt::format("  {}, {}: rank correlation with the rise of the loss {}+-{}\n",
                         shown(text(file, group, "label")), shown(score),
                         cell(file, at, "error_rise_spearman", 4),
                         cell(file, at, "error_rise_spearman_standard_error", 2));
    }
  });
  return out;
}

}  // namespace

std::string describe_result(const Hdf5InputFile& file) {
  const bool partial = number(file, "/", "partial") == 1.0;
  const std::string kind = text(file, "/", "kind");
  const bool latents = kind == studies::LatentsResult::kVerb;
  const bool evaluated = kind == studies::EvaluateResult::kVerb;
  const bool trained = kind == studies::TrainResult::kVerb;
  std::string out = fmt::format("  study      {} ({}){}\n", text(file, "/", "study"), kind,
                                partial ? ", interrupted: only part of it is here" : "");
  const bool pruned = kind == studies::TrainedPruneResult::kVerb;
  if (!trained && !latents && !evaluated && !pruned) out += sizes_text(file);
  out += fmt::format("  made by    Headway {} (commit {}, {}, {})\n",
                     text(file, "/", "headway_version"), text(file, "/", "git_commit"),
                     text(file, "/", "compiler"), text(file, "/", "blas"));
  out += fmt::format("  started    {}, {} s on {} threads, seed {}\n", text(file, "/", "started"),
                     cell(file, "/", "seconds", 4), cell(file, "/", "threads", 6),
                     file.unsigned_attribute("/", "seed").value_or(0));
  out += fmt::format("  command    {}\n", text(file, "/", "command"));
  out += fmt::format("  study hash {}\n  data hash  {}\n\n", text(file, "/", "study_hash"),
                     text(file, "/", "data_hash"));
  out += trained     ? trained_text(file)
         : latents   ? latents_text(file)
         : evaluated ? evaluations_text(file)
         : pruned    ? prunings_text(file)
                     : table_of_points(file, kind == studies::SampleResult::kVerb);
  if (evaluated || pruned) {
    return out + "\nTo remake it, run the command above: the file that it names has the networks\n";
  }
  out += fmt::format(
      "\nTo remake it (the file holds its study, fully resolved{}):\n"
      "  headway {} {} -o NEW.h5\n",
      latents ? "; the networks are trained again" : "", kind, file.file_path());
  return out;
}

}  // namespace headway::io
