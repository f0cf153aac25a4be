#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/text.hpp"
#include "headway/schedule.hpp"
#include "headway/shard.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study/sweep.hpp"

namespace headway {
namespace {

constexpr std::size_t kMostCommands = 10;  // in a message

/// How a command asks for a part: as an option of the program, or in a call in Python.
const std::regex& shard_option() {
  static const std::regex pattern(R"( --shard[ =]\d+/\d+|, shard=\(\d+, \d+\))");
  return pattern;
}

/// The recorded command as it is typed: a call in Python is recorded as one word in quotes.
std::string typed(const std::string& command) {
  const bool call = command.starts_with("'headway.") && command.ends_with('\'');
  return call ? command.substr(1, command.size() - 2) : command;
}

/// The file name of part `wanted`, as "parts/hmm-3.h5" from "parts/hmm-1.h5" of part 1. A name
/// without the number gets it.
std::string output_of(const std::string& known, std::size_t known_index, std::size_t wanted) {
  const std::filesystem::path path(known);
  std::string stem = path.stem().string();
  const std::string number = std::to_string(known_index);
  const std::size_t at = stem.rfind(number);
  if (at == std::string::npos) {
    stem += fmt::format("-{}", wanted);
  } else {
    stem.replace(at, number.size(), std::to_string(wanted));
  }
  return (path.parent_path() / (stem + path.extension().string())).string();
}

/// A word that shell_command() wrote.
std::string without_quotes(const std::string& word) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\'') {
      quoted = !quoted;
    } else {
      if (word[i] == '\\' && !quoted && i + 1 < word.size()) ++i;
      out += word[i];
    }
  }
  return out;
}

/// The command that makes part `wanted`, from the command of the part `known`.
std::string command_of(const PartHeader& known, const Shard& of_known, std::size_t wanted) {
  // The file as shell_command() writes it: quoted where it has a space, say.
  static const std::regex output(R"(( -o| --output)[ =]?((?:'[^']*'|\\'|[^\s'])+))");
  const std::string command = typed(known.provenance.command);
  const std::string option = command.starts_with("headway.")
                                 ? fmt::format(", shard=({}, {})", wanted, of_known.count)
                                 : " --shard " + shard_text({wanted, of_known.count});
  std::string made = std::regex_replace(command, shard_option(), option);
  std::smatch found;
  if (!std::regex_search(made, found, output)) return made;
  const std::string file = output_of(without_quotes(found[2]), of_known.index, wanted);
  return found.prefix().str() + " -o " + shell_command({file}) + found.suffix().str();
}

/// Why `part` does not belong to `first`; "" when it does.
std::string strangeness(const PartHeader& part, const PartHeader& first) {
  const ResultProvenance& a = part.provenance;
  const ResultProvenance& b = first.provenance;
  if (part.kind != first.kind)
    return fmt::format("is of headway {}, not of headway {}", part.kind, first.kind);
  std::string other = other_origin(a, b);
  if (!other.empty()) return other;
  const std::size_t count = read_shard(a.shard).count;
  const std::size_t wanted = read_shard(b.shard).count;
  if (count != wanted) return fmt::format("is one of {} parts, not of {}", count, wanted);
  return "";
}

void require_part(const PartHeader& part) {
  if (part.provenance.shard.empty()) {
    bad_data("{}: is a whole result, not a part; parts are made with --shard i/n", part.file);
  }
  if (part.provenance.partial) {
    bad_data("{}: part {} is not finished; this command finishes it:\n  {}", part.file,
             part.provenance.shard, typed(part.provenance.command));
  }
}

[[noreturn]] void report_missing(const std::vector<std::size_t>& missing, std::size_t count,
                                 const PartHeader& known) {
  std::string message =
      fmt::format("of {} parts {} missing:", count,
                  missing.size() == 1 ? "one is" : fmt::format("{} are", missing.size()));
  for (std::size_t i = 0; i < std::min(missing.size(), kMostCommands); ++i) {
    message += "\n  " + command_of(known, read_shard(known.provenance.shard), missing[i]);
  }
  if (missing.size() > kMostCommands) {
    message += fmt::format("\n  ... and {} more", missing.size() - kMostCommands);
  }
  throw Error(ErrorKind::kMissingFile, message);
}

[[noreturn]] void wrong_content(const Shard& shard, std::size_t found, std::size_t wanted) {
  bad_data("part {}: holds {} points or runs; allowed: {}", shard_text(shard), found, wanted);
}

/// Error unless the points of a part are those of its shard.
template <class Point>
void check_points(const Study& study, const Shard& shard, const std::vector<Point>& found,
                  const std::vector<std::size_t>& wanted) {
  if (found.size() != wanted.size()) wrong_content(shard, found.size(), wanted.size());
  const std::size_t temperatures = study.model.temperatures.size();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Index width = study.model.widths[wanted[i] / temperatures].front();
    const double temperature = study.model.temperatures[wanted[i] % temperatures];
    if (found[i].widths.front() == width && found[i].temperature == temperature) continue;
    bad_data("part {}: point {} has width {} and temperature {}; allowed: {} and {}",
             shard_text(shard), i, found[i].widths.front(), found[i].temperature, width,
             temperature);
  }
}

/// Those that are there, in order.
template <class T>
std::vector<T> present(std::vector<std::optional<T>>& all) {
  std::vector<T> found;
  for (std::optional<T>& one : all) {
    if (one) found.push_back(std::move(*one));
  }
  return found;
}

using PointsOfShard = std::vector<std::size_t> (*)(const Study&, const Shard&);

/// The points and limits of all parts. What the parts share is taken from the first.
SolveResult join_solves(const Study& study, Parts<SolveResult>& parts, PointsOfShard points_of) {
  std::vector<std::optional<SolvePoint>> points(study.model.widths.size() *
                                                study.model.temperatures.size());
  std::vector<std::optional<GaussianProcessPoint>> limits(study.model.temperatures.size());
  SolveResult whole;
  bool first = true;
  double seconds = 0.0;
  int threads = 1;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!parts[p]) continue;
    SolveResult& part = *parts[p];
    const Shard shard{p, parts.size()};
    const std::vector<std::size_t> wanted = points_of(study, shard);
    check_points(study, shard, part.points, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) points[wanted[i]] = std::move(part.points[i]);
    // Learned attention has no limit of infinite width.
    const std::vector<std::size_t> temperatures =
        study.model.attention_prior ? std::vector<std::size_t>() : temperatures_of(study, wanted);
    std::vector<GaussianProcessPoint>& found = part.gaussian_process;
    if (found.size() != temperatures.size())
      wrong_content(shard, found.size(), temperatures.size());
    for (std::size_t i = 0; i < found.size(); ++i) limits[temperatures[i]] = std::move(found[i]);
    seconds += part.seconds;
    threads = std::max(threads, part.threads);
    if (std::exchange(first, false)) whole = std::move(part);
  }
  whole.points = present(points);
  whole.gaussian_process = present(limits);
  whole.interrupted = whole.points.size() < points.size();
  whole.seconds = seconds;
  whole.threads = threads;
  return whole;
}

}  // namespace

std::string other_origin(const ResultProvenance& found, const ResultProvenance& wanted) {
  if (found.study_hash != wanted.study_hash) {
    const auto differences = study_differences(found.study_toml, wanted.study_toml);
    return "belongs to another study: " +
           (differences.empty() ? "its hash differs" : join(differences));
  }
  if (found.data_hash != wanted.data_hash) return "was computed from other data";
  if (found.headway_version == wanted.headway_version && found.git_commit == wanted.git_commit) {
    return "";
  }
  return fmt::format("was made by version {} (commit {}), not {} (commit {})",
                     found.headway_version, found.git_commit, wanted.headway_version,
                     wanted.git_commit);
}

std::vector<std::size_t> order_of_parts(const std::vector<PartHeader>& parts) {
  for (const PartHeader& part : parts) {
    require_part(part);
    const std::string strange = strangeness(part, parts.front());
    if (strange.empty()) continue;
    bad_data("{}: does not belong to {}: it {}", part.file, parts.front().file, strange);
  }
  const std::size_t count = read_shard(parts.front().provenance.shard).count;
  std::vector<std::size_t> order(count, parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::size_t& place = order[read_shard(parts[p].provenance.shard).index];
    if (place != parts.size()) {
      bad_data("{}: is part {}, and so is {}; allowed: each part once", parts[p].file,
               parts[p].provenance.shard, parts[place].file);
    }
    place = p;
  }
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < count; ++i) {
    if (order[i] == parts.size()) missing.push_back(i);
  }
  if (!missing.empty()) report_missing(missing, count, parts.front());
  return order;
}

ResultProvenance merged_provenance(const std::vector<PartHeader>& parts) {
  ResultProvenance whole = parts.front().provenance;
  whole.shard.clear();
  whole.command = std::regex_replace(whole.command, shard_option(), "");
  whole.seconds = 0.0;
  std::set<std::string> machines, gpus;
  for (const PartHeader& part : parts) {
    if (!part.provenance.machine.empty()) machines.insert(part.provenance.machine);
    if (!part.provenance.gpu.empty()) gpus.insert(part.provenance.gpu);
    whole.seconds += part.provenance.seconds;
    whole.started = std::min(whole.started, part.provenance.started);
    whole.threads = std::max(whole.threads, part.provenance.threads);
  }
  whole.machine = join(std::vector<std::string>(machines.begin(), machines.end()), "; ");
  whole.gpu = join(std::vector<std::string>(gpus.begin(), gpus.end()), " | ");
  return whole;
}

SolveResult merge_parts(const Study& study, Parts<SolveResult> parts) {
  return join_solves(study, parts, &solve_points);
}

SampleResult merge_parts(const Study& study, Parts<SampleResult> parts) {
  SampleResult whole;
  std::vector<std::optional<SamplePoint>> points(study.model.widths.size() *
                                                 study.model.temperatures.size());
  Parts<SolveResult> theory(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!parts[p]) continue;
    const Shard shard{p, parts.size()};
    const std::vector<std::size_t> wanted = sample_points(study, shard);
    check_points(study, shard, parts[p]->points, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      points[wanted[i]] = std::move(parts[p]->points[i]);
    }
    whole.seconds += parts[p]->seconds;
    theory[p] = std::move(parts[p]->solve);
  }
  whole.points = present(points);
  whole.interrupted = whole.points.size() < points.size();
  whole.solve = join_solves(study, theory, &sample_points);
  return whole;
}

TrainResult merge_parts(const Study& study, Parts<TrainResult> parts) {
  TrainResult whole;
  whole.planned = train_runs(study).size();
  std::vector<std::optional<TrainedRun>> runs(whole.planned);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!parts[p]) continue;
    const Shard shard{p, parts.size()};
    const std::vector<std::size_t> wanted = dealt_units(whole.planned, shard);
    std::vector<TrainedRun>& found = parts[p]->runs;
    if (found.size() != wanted.size()) wrong_content(shard, found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) runs[wanted[i]] = std::move(found[i]);
    whole.seconds += parts[p]->seconds;
    whole.threads = std::max(whole.threads, parts[p]->threads);
  }
  whole.runs = present(runs);
  whole.interrupted = whole.runs.size() < runs.size();
  return whole;
}

}  // namespace headway
