#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is of POSIX

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "headway/checkpoints.hpp"
#include "headway/jobs/parts.hpp"
#include "headway/result_file.hpp"
#include "headway/schedule.hpp"
#include "headway/shard.hpp"
#include "jobs/checkpoint/checkpoint_folder.hpp"

namespace headway::jobs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "part_";

std::string new_folder() {
  std::string name = (fs::temp_directory_path() / "headway-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) return name;
  fail(ErrorKind::kCannotWrite, "{}: cannot be made", name);
}

/// Why a part that was found does not belong to this result; "" when it does.
std::string strangeness(const ResultProvenance& found, const ResultProvenance& whole,
                        const std::string& shard) {
  std::string other = headway::other_origin(found, whole);
  if (!other.empty()) return other;
  return found.shard == shard ? "" : fmt::format("is part {}, not {}", found.shard, shard);
}

int threads_of(const SolveResult& result) { return result.threads; }
int threads_of(const SampleResult& result) { return result.solve.threads; }
int threads_of(const TrainResult& result) { return result.threads; }

}  // namespace

PartFolder::PartFolder(const std::string& result_path, const ResultProvenance& whole,
                       std::size_t units)
    : folder_(result_path.empty() ? new_folder() : checkpoint_folder_of(result_path)),
      for_this_call_(result_path.empty()),
      there_(units, false) {
  for (std::size_t unit = 0; unit < units; ++unit) look(unit, whole);
}

PartFolder::~PartFolder() {
  if (for_this_call_) remove();
}

void PartFolder::look(std::size_t unit, const ResultProvenance& whole) {
  std::error_code ignored;
  if (!fs::exists(file(unit), ignored)) return;
  const std::string shard = headway::shard_text({unit, there_.size()});
  const std::string fault = strangeness(io::read_result_provenance(file(unit)), whole, shard);
  there_[unit] = fault.empty();
  if (there_[unit]) return;
  fail(ErrorKind::kBadStudy, "{}: {}; --force deletes it and starts again, another -o keeps it",
       file(unit), fault);
}

std::size_t PartFolder::count() const {
  return static_cast<std::size_t>(std::count(there_.begin(), there_.end(), true));
}

std::string PartFolder::file(std::size_t unit) const {
  return (fs::path(folder_) / fmt::format("{}{}.h5", kName, unit)).string();
}

void PartFolder::put(std::size_t unit, std::string_view bytes) {
  write_in_folder(folder_, [&] { io::write_result_bytes(file(unit), bytes, true); });
  there_[unit] = true;
}

void PartFolder::remove() const {
  std::error_code ignored;
  for (std::size_t unit = 0; unit < there_.size(); ++unit) fs::remove(file(unit), ignored);
  fs::remove(folder_, ignored);  // stays while there are checkpoints
}

void PartFolder::clear(const std::string& result_path) {
  std::error_code ignored;
  const std::string folder = checkpoint_folder_of(result_path);
  for (const std::string& name : names_in_directory(folder, ignored)) {
    if (name.starts_with(kName) || headway::is_part_name(name)) {
      fs::remove(fs::path(folder) / name, ignored);
    }
  }
}

template <class Result>
PartFiles<Result>::PartFiles(const Ranks& ranks, std::string result_path, const Study& study,
                             ResultProvenance whole, std::size_t units, bool overwrite)
    : result_path_(std::move(result_path)),
      study_(study),
      whole_(std::move(whole)),
      overwrite_(overwrite) {
  if (ranks.is_first()) folder_.emplace(result_path_, whole_, units);
}

template <class Result>
std::string PartFiles<Result>::pack(const Result& result, const Shard& unit) const {
  ResultProvenance provenance = whole_;
  provenance.shard = headway::shard_text(unit);
  provenance.threads = threads_of(result);
  provenance.seconds = result.seconds;
  return io::result_bytes(study_, result, provenance);
}

template <class Result>
Result PartFiles<Result>::get(std::size_t unit, std::string_view bytes) const {
  return io::read_shared_result<Result>(folder_->file(unit), bytes);
}

template <class Result>
void PartFiles<Result>::stopping(const Result& so_far) {
  if (result_path_.empty()) return;
  ResultProvenance provenance = whole_;
  provenance.partial = true;
  provenance.threads = threads_of(so_far);
  provenance.seconds += so_far.seconds;
  io::write_result(result_path_, study_, so_far, provenance, overwrite_);
  overwrite_ = wrote_ = true;
}

template class PartFiles<SolveResult>;
template class PartFiles<SampleResult>;
template class PartFiles<TrainResult>;

}  // namespace headway::jobs
