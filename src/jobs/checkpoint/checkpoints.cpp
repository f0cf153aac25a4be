#include "headway/checkpoints.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "headway/io/checkpoint_file.hpp"
#include "headway/jobs/parts.hpp"
#include "headway/provenance.hpp"
#include "headway/study/study_hash.hpp"
#include "jobs/checkpoint/checkpoint_folder.hpp"

namespace headway::jobs {
namespace {

namespace fs = std::filesystem;

constexpr int kReadTries = 100;
constexpr std::string_view kSuffix = ".h5";
constexpr std::size_t kMostDifferences = 4;

template <class Hooks>
constexpr bool kSamples = std::is_same_v<Hooks, SampleHooks>;

/// Names of checkpoints in the folder.
std::vector<std::string> part_names_in(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names = names_in_directory(folder, error);
  std::erase_if(names, [](const std::string& name) { return !headway::is_part_name(name); });
  return names;
}

/// What `read` gives of a checkpoint; nothing when it is not there. Another process on the same
/// output may remove it at any moment, or put another in its place.
template <class Read>
auto read_if_there(const std::string& file_path, const Read& read)
    -> std::optional<decltype(read(file_path))> {
  std::error_code ignored;
  for (int tries = 1; fs::exists(file_path, ignored); ++tries) {
    try {
      return read(file_path);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kMissingFile || tries == kReadTries) throw;
    }
  }
  return std::nullopt;
}

/// Why a checkpoint is not that of a part, nearest cause first; empty when it is.
std::vector<std::string> mismatch(const io::CheckpointHeader& found, const std::string& verb,
                                  const ComputationPart& part) {
  std::vector<std::string> out =
      headway::part_differences({"", found.study_hash, found.study_toml, found.data_hash}, part);
  if (found.verb != verb)
    out = {fmt::format("it is of headway {}, this is headway {}", found.verb, verb)};
  if (found.version != headway::build_info().version) {
    out.push_back(fmt::format("version {} wrote it, this is {}", found.version,
                              headway::build_info().version));
  }
  return out;
}

}  // namespace

Checkpoints::Checkpoints(const std::string& result_path, std::string verb,
                         std::vector<ComputationPart> parts, bool force)
    : folder_(checkpoint_folder_of(result_path)), verb_(std::move(verb)), parts_(std::move(parts)) {
  require_checkpoint_folder(folder_);
  if (force) {  // afresh: nothing of another run may stay behind
    remove();
    return;
  }
  std::error_code error;
  for (const std::string& name : part_names_in(folder_, error)) look(name);
  if (error) fail(ErrorKind::kMissingFile, "{}: cannot be read: {}", folder_, error.message());
}

/// Counts the checkpoint of a part, and refuses that of another run. If it belongs to one of our
/// parts but has a name of none of them, it is left alone: nothing goes on from it.
void Checkpoints::look(const std::string& name) {
  const std::string file_path = (fs::path(folder_) / name).string();
  const auto header = read_if_there(file_path, &io::read_checkpoint_header);
  if (!header) return;
  const io::CheckpointHeader& found = *header;
  using Reasons = std::vector<std::string>;
  std::map<std::pair<bool, std::size_t>, Reasons> why_not;  // by: of another study, how many
  for (const ComputationPart& part : parts_) {
    Reasons why = mismatch(found, verb_, part);
    if (why.empty() && part.name + std::string(kSuffix) == name) {
      ++(found.done ? finished_ : resumable_);
      earlier_seconds_ = std::max(earlier_seconds_, found.seconds);
    }
    const std::pair rank(part.study_hash != found.study_hash, why.size());
    why_not.emplace(rank, std::move(why));
  }
  Reasons nearest = why_not.empty() ? Reasons{""} : why_not.begin()->second;
  if (nearest.empty()) return;
  if (nearest.size() > kMostDifferences) {
    nearest.resize(kMostDifferences);
    nearest.emplace_back("...");
  }
  io::refuse_checkpoint(file_path, join(nearest, "; "));
}

std::string Checkpoints::path_of(const std::string& name) const {
  return (fs::path(folder_) / (name + std::string(kSuffix))).string();
}

template <class State>
std::optional<State> Checkpoints::load(std::size_t part) const {
  const ComputationPart& wanted = parts_.at(part);
  const auto fits = [&](const io::CheckpointHeader& header) {
    return mismatch(header, verb_, wanted).empty();
  };
  return read_if_there(path_of(wanted.name),
                       [&](const std::string& file_path) {
                         return io::read_checkpoint<State>(file_path, fits);
                       })
      .value_or(std::nullopt);
}

template <class State>
void Checkpoints::save(std::size_t part, bool done, const State& state) const {
  const ComputationPart& of = parts_.at(part);
  write_in_folder(folder_, [&] {
    io::write_checkpoint(
        path_of(of.name),
        {verb_, of.study_hash, of.study_toml, of.data_hash, headway::build_info().version, done,
         earlier_seconds_ + seconds_since(began_)},
        state);
  });
}

void Checkpoints::remove() const {
  std::error_code ignored;
  for (const std::string& name : part_names_in(folder_, ignored)) {
    fs::remove(fs::path(folder_) / name, ignored);
  }
  remove_orphans(folder_);       // what another process is writing stays
  fs::remove(folder_, ignored);  // stays when somebody put a file of their own there
}

template <class Hooks>
PointCheckpoints<Hooks>::PointCheckpoints(const std::string& result_path, const Study& study,
                                          const std::string& data_hash, bool force)
    : Checkpoints(
          result_path, kSamples<Hooks> ? "sample" : "solve",
          headway::point_parts(
              study, kSamples<Hooks> ? headway::sample_hash(study) : headway::solve_hash(study),
              data_hash, kSamples<Hooks> ? study.sample.chains : 0),
          force),
      saves_((kSamples<Hooks> ? study.sample.checkpoint_seconds : study.solve.checkpoint_seconds) >
             0.0),
      points_(study.model.widths.size() * study.model.temperatures.size()),
      chains_(static_cast<std::size_t>(study.sample.chains)) {}

template <class Hooks>
Hooks PointCheckpoints<Hooks>::hooks() const {
  using Found = typename decltype(Hooks::load)::result_type;
  using State = typename Found::value_type;
  const auto read = [*this](std::size_t part) { return load<State>(part); };
  // Never marked as done: from its last step a point is soon solved again, and summaries are made
  // again from the draws.
  const auto keep = [*this](std::size_t part, const State& state) { save(part, false, state); };
  Hooks hooks;
  hooks.load = read;
  if (saves_) hooks.save = keep;
  if constexpr (kSamples<Hooks>) {
    const auto part_of = [points = points_, chains = chains_](std::size_t point,
                                                              std::size_t chain) {
      return points + point * chains + chain;
    };
    hooks.load_chains = [=](std::size_t point, std::size_t chain) {
      return read(part_of(point, chain));
    };
    hooks.save_chains = [=](std::size_t point, std::size_t chain, const State& state) {
      keep(part_of(point, chain), state);
    };
  }
  return hooks;
}
template class PointCheckpoints<SolveHooks>;
template class PointCheckpoints<SampleHooks>;

TrainCheckpoints::TrainCheckpoints(const std::string& result_path,
                                   const std::vector<TrainRun>& runs,
                                   const std::vector<std::string>& data_hashes, bool force)
    : Checkpoints(result_path, "train", headway::train_parts(runs, data_hashes), force) {}

TrainHooks TrainCheckpoints::hooks() const {
  TrainHooks hooks;
  hooks.load = [*this](std::size_t run) { return load<TrainedRun>(run); };
  hooks.save = [*this](std::size_t run, const TrainedRun& trained) {
    save(run, trained.done(), trained);
  };
  return hooks;
}

}  // namespace headway::jobs
