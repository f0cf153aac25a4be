#include "headway/io/train_checkpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/io/provenance.hpp"
#include "headway/io/study_file.hpp"
#include "headway/studies/study_hash.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/isolated.hpp"
#include "io/hdf5/output.hpp"
#include "io/hdf5/schema.hpp"
#include "io/result_file/trained_run.hpp"

namespace headway::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "headway-checkpoint";
constexpr std::int64_t kMajor = 1;
constexpr std::int64_t kMinor = 0;
constexpr std::string_view kPrefix = "run_";
constexpr std::string_view kSuffix = ".h5";
constexpr std::size_t kHashDigits = 16;  // in the file's name
constexpr std::size_t kMostDifferences = 4;

[[noreturn]] void damaged(const std::string& file_path, const std::string& why) {
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: the checkpoint is truncated or damaged ({}): delete it, or start "
                          "afresh with --force",
                          file_path, why));
}

/// What a checkpoint says of itself, without its state.
struct Header {
  std::string hash, study_toml, data_hash, version;
  bool done = false;
};

std::string text(const Hdf5InputFile& file, const char* name) {
  return file.text_attribute("/", name).value_or("");
}

Header read_header(const Hdf5InputFile& file) {
  if (text(file, "schema_name") != kSchema) {
    throw Error(ErrorKind::kBadData, "root attribute schema_name is not \"headway-checkpoint\"");
  }
  const auto version = file.number_attribute("/", "schema_version");
  if (!version || version->empty() || version->front() != static_cast<double>(kMajor)) {
    throw Error(ErrorKind::kBadData, "root attribute schema_version: this Headway reads 1.x");
  }
  return {text(file, "run_hash"), text(file, "study_toml"), text(file, "data_hash"),
          text(file, "headway_version"), false};
}

/// Reads a checkpoint from end to end, first in a forked copy.
std::pair<Header, studies::TrainedRun> read_checkpoint(const std::string& file_path) {
  const auto work = [&] {
    const Hdf5InputFile file(file_path);
    Header header = read_header(file);
    studies::TrainedRun run = read_trained_run(file, "run");
    header.done = run.done();
    return std::pair(std::move(header), std::move(run));
  };
  try {
    check_is_hdf5(file_path);
    run_isolated(file_path, [&] {
      work();
      return std::vector<std::string>{};
    });
    const Hdf5Lock lock;
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    damaged(file_path, error.what());
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// "section.key = value" of every line of a written study that can change a run.
std::vector<std::pair<std::string, std::string>> keys_of(const std::string& study_toml) {
  std::vector<std::pair<std::string, std::string>> out;
  std::string section;
  for (const std::string& line : lines_of(study_toml)) {
    if (line.starts_with('[')) section = line.substr(1, line.size() - 2) + ".";
    const std::size_t equals = line.find(" = ");
    if (equals == std::string::npos) continue;
    const std::string key = section + line.substr(0, equals);
    if (key == "name" || key == "threads" || key == "task.file" || key == "task.files") {
      continue;
    }
    out.emplace_back(key, line.substr(equals + 3));
  }
  return out;
}

/// "train.layers = 2, here 4" for every key that differs.
std::vector<std::string> differences(const std::string& theirs, const std::string& ours) {
  const auto a = keys_of(theirs), b = keys_of(ours);
  const auto value_in = [](const auto& keys, const std::string& key) -> std::string {
    for (const auto& [name, value] : keys) {
      if (name == key) return value;
    }
    return "";
  };
  std::vector<std::string> out;
  for (const auto& [key, value] : a) {
    const std::string mine = value_in(b, key);
    if (mine != value) {
      out.push_back(fmt::format("{} = {}, here {}", key, value, mine.empty() ? "absent" : mine));
    }
  }
  for (const auto& [key, value] : b) {
    if (value_in(a, key).empty()) out.push_back(fmt::format("{} absent, here {}", key, value));
  }
  return out;
}

/// Of run and data, and of the number of threads where it is swept: no hash has that.
std::string file_name_of(const studies::TrainRun& run, const std::string& hash,
                         const std::string& data_hash) {
  std::string identity = hash + "\n" + data_hash;
  for (const studies::Setting& setting : run.settings) {
    if (setting.key == "threads") identity += "\n" + setting.value;
  }
  return fmt::format("{}{}{}", kPrefix, sha256_hex(identity).substr(0, kHashDigits), kSuffix);
}

}  // namespace

TrainCheckpoints::TrainCheckpoints(const std::string& result_path,
                                   const std::vector<studies::TrainRun>& runs,
                                   const std::vector<std::string>& data_hashes, bool force)
    : folder_(result_path + ".checkpoint"), force_(force) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string hash = studies::train_hash(runs[i].study);
    const std::string& data_hash = data_hashes.at(i);
    runs_.push_back(
        {hash, write_study(runs[i].study), data_hash, file_name_of(runs[i], hash, data_hash)});
  }
  std::error_code ignored;
  if (!fs::exists(folder_, ignored)) return;
  if (!fs::is_directory(folder_, ignored)) {
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: is in the way of the folder of checkpoints", folder_));
  }
  if (force_) {  // afresh: nothing of another grid may stay behind
    remove();
    return;
  }
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kSuffix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) look(name);
}

/// Counts a checkpoint of this grid; refuses one of another. One of this grid under a name that no
/// run has is left alone: nothing goes on from it.
void TrainCheckpoints::look(const std::string& name) {
  const std::string file_path = (fs::path(folder_) / name).string();
  const Header found = read_checkpoint(file_path).first;
  std::vector<std::string> nearest;
  std::pair<bool, std::size_t> best;  // of `nearest`: of another study, its length
  bool known = false;
  for (const Identity& run : runs_) {
    const bool same_study = run.hash == found.hash;
    if (same_study && run.data_hash == found.data_hash && build_info().version == found.version) {
      known = true;
      if (run.file_name == name) ++(found.done ? finished_ : resumable_);
      continue;
    }
    std::vector<std::string> list = differences(found.study_toml, run.study_toml);
    if (run.data_hash != found.data_hash && list.empty()) list.emplace_back("the data");
    if (build_info().version != found.version) {
      list.push_back(fmt::format("version {}, here {}", found.version, build_info().version));
    }
    const std::pair rank(!same_study, list.size());
    if (nearest.empty() || rank < best) {
      nearest = std::move(list);
      best = rank;
    }
  }
  if (known) return;
  if (nearest.size() > kMostDifferences) {
    nearest.resize(kMostDifferences);
    nearest.emplace_back("...");
  }
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{}: the checkpoint belongs to another run ({}): repeat the command it "
                          "comes from, choose another -o, or start afresh with --force",
                          file_path, join(nearest, "; ")));
}

std::string TrainCheckpoints::path_of(std::size_t run) const {
  return (fs::path(folder_) / runs_.at(run).file_name).string();
}

std::optional<studies::TrainedRun> TrainCheckpoints::load(std::size_t run) const {
  const std::string file_path = path_of(run);
  std::error_code ignored;
  if (force_ || !fs::exists(file_path, ignored)) return std::nullopt;
  auto [found, trained] = read_checkpoint(file_path);
  const Identity& wanted = runs_.at(run);
  if (found.hash != wanted.hash || found.data_hash != wanted.data_hash) return std::nullopt;
  return std::move(trained);
}

void TrainCheckpoints::save(std::size_t run, const studies::TrainedRun& trained) const {
  std::error_code failure;
  fs::create_directory(folder_, failure);
  if (failure) {
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: cannot be made: {}", folder_, failure.message()));
  }
  const Identity& identity = runs_.at(run);
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  out.set("/", "schema_name", std::string(kSchema));
  out.set("/", "schema_version", std::vector<std::int64_t>{kMajor, kMinor});
  out.set("/", "run_hash", identity.hash);
  out.set("/", "study_toml", identity.study_toml);
  out.set("/", "data_hash", identity.data_hash);
  out.set("/", "headway_version", build_info().version);
  out.set("/", "git_commit", build_info().git_commit);
  out.set("/", "written", utc_now());
  write_trained_run("run", trained, KeptWeights::kWholeState, out);
  out.write_to(path_of(run), true);
}

studies::TrainHooks TrainCheckpoints::hooks() const {
  studies::TrainHooks hooks;
  hooks.load = [*this](std::size_t run) { return load(run); };
  hooks.save = [*this](std::size_t run, const studies::TrainedRun& trained) { save(run, trained); };
  return hooks;
}

void TrainCheckpoints::remove() const {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool run = name.starts_with(kPrefix) && name.ends_with(kSuffix);
    if (run || name.starts_with(".headway-")) fs::remove(entry.path(), ignored);
  }
  fs::remove(folder_, ignored);  // stays when somebody put a file of their own there
}

}  // namespace headway::io
