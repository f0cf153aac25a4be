#include "headway/io/checkpoint_file.hpp"

#include <filesystem>
#include <string_view>
#include <type_traits>

#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "headway/core/record.hpp"
#include "headway/core/sha256.hpp"
#include "headway/provenance.hpp"
#include "headway/results/result_fields.hpp"
#include "io/hdf5/describe.hpp"
#include "io/hdf5/isolated.hpp"
#include "io/hdf5/record.hpp"
#include "io/result_file/trained_run.hpp"
#include "results/progress_text.hpp"

namespace headway::io {

template <class Visitor, RecordOf<CheckpointHeader> Record>
void fields(Visitor& visit, Record& r) {
  visit("kind", r.verb, "the verb that wrote it");
  visit("study_hash", r.study_hash, "of the keys that decide the numbers");
  visit("study_toml", r.study_toml, "the resolved study");
  visit("data_hash", r.data_hash, "content of the data");
  visit("headway_version", r.version, "of the program that wrote it");
  visit("done", r.done, "nothing is left to do");
  visit("seconds", r.seconds, "of all calls on this result until it was written",
        {.optional = true});
}

namespace {

constexpr const char* kSchema = "headway-checkpoint";
constexpr std::int64_t kMajor = 3;
constexpr std::int64_t kMinor = 0;
constexpr std::size_t kHashDigits = 64;
// Before 2.0 checkpoints of `sample` were not HDF5, and those of `train` had no digest at the end.
constexpr std::string_view kOldSample = "headway-sample-checkpoint 1\n";

[[noreturn]] void refuse_damaged(const std::string& file_path, const std::string& why) {
  bad_data(
      "{}: the checkpoint is truncated or damaged ({}): delete it, or start afresh with "
      "--force",
      file_path, why);
}

bool has_digest(std::string_view bytes) {
  if (bytes.size() < kHashDigits) return false;
  const std::string_view content = bytes.substr(0, bytes.size() - kHashDigits);
  return sha256_hex(content) == bytes.substr(content.size());
}

/// Major version of the schema, 0 when the file is no checkpoint.
std::int64_t major_version(const Hdf5InputFile& file) {
  if (file.text_attribute("/", "schema_name").value_or("") != kSchema) return 0;
  const auto version = file.number_attribute("/", "schema_version");
  return version && !version->empty() ? static_cast<std::int64_t>(version->front()) : 0;
}

/// Whether a file without the digest is a checkpoint of an older format.
bool is_of_older_format(const std::string& file_path, std::string_view bytes) {
  if (bytes.starts_with(kOldSample)) return true;
  try {
    run_isolated(file_path, [&] {
      const std::int64_t major = major_version(Hdf5InputFile(file_path));
      if (major < 1 || major >= kMajor) bad_data("no older one");
      return std::vector<std::string>{};
    });
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void refuse_checkpoint(const std::string& file_path, const std::string& differences) {
  fail(ErrorKind::kBadStudy,
       "{}: the checkpoint belongs to another run ({}): repeat the command that made it, choose "
       "another -o, or start afresh with --force",
       file_path, differences);
}

namespace {

/// Opens a checkpoint whose bytes are those that were written, and reads it.
void read_sound(const std::string& file_path,
                const std::function<void(const CheckpointHeader&, const Hdf5InputFile&)>& read) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file_path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse_damaged(file_path, "it is no regular file");  // a pipe would wait, a device never end
  }
  std::string bytes = read_whole_file(file_path);
  if (!has_digest(bytes)) {
    if (is_of_older_format(file_path, bytes)) {
      refuse_checkpoint(file_path, "an earlier version of Headway wrote it");
    }
    refuse_damaged(file_path, "its bytes have changed since it was written");
  }
  const Hdf5Lock lock;
  // From the bytes that were checked: another process may have removed or replaced the file.
  const Hdf5InputFile file(file_path, bytes);
  bytes = std::string();
  const std::int64_t major = major_version(file);
  if (major == 0)
    refuse_damaged(file_path, "root attribute schema_name is not \"headway-checkpoint\"");
  if (major != kMajor) {
    refuse_checkpoint(file_path, fmt::format("its format is {}, this Headway reads {}.{}", major,
                                             kMajor, kMinor));
  }
  try {
    read(read_record<CheckpointHeader>(file, "/"), file);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    refuse_damaged(file_path, error.what());
  }
}

}  // namespace

template <class State>
void write_checkpoint(const std::string& file_path, const CheckpointHeader& header,
                      const State& state) {
  std::string bytes;
  {
    const Hdf5Lock lock;
    Hdf5OutputFile out;
    out.set("/", "schema_name", kSchema);
    out.set("/", "schema_version", std::vector<std::int64_t>{kMajor, kMinor});
    out.set("/", "git_commit", headway::build_info().git_commit);
    out.set("/", "written", headway::utc_now());
    write_record("/", header, out);
    if constexpr (std::is_same_v<State, TrainedRun>) {
      write_record("run", TrainedRunView{&state, RunParts::kWholeState}, out);
    } else {
      write_record("point", state, out);
    }
    bytes = out.close();
  }
  bytes += sha256_hex(bytes);
  write_whole_file(file_path, bytes, true);
}

template <class State>
std::optional<State> read_checkpoint(const std::string& file_path,
                                     const std::function<bool(const CheckpointHeader&)>& fits) {
  std::optional<State> state;
  read_sound(file_path, [&](const CheckpointHeader& header, const Hdf5InputFile& file) {
    if (!fits(header)) return;
    if constexpr (std::is_same_v<State, TrainedRun>) {
      state = read_trained_run(file, "run");
    } else {
      state = read_record<State>(file, "point");
    }
  });
  return state;
}

template void write_checkpoint(const std::string&, const CheckpointHeader&,
                               const theory::SaddlePointState&);
template void write_checkpoint(const std::string&, const CheckpointHeader&, const SampleState&);
template void write_checkpoint(const std::string&, const CheckpointHeader&, const TrainedRun&);
template std::optional<theory::SaddlePointState> read_checkpoint(
    const std::string&, const std::function<bool(const CheckpointHeader&)>&);
template std::optional<SampleState> read_checkpoint(
    const std::string&, const std::function<bool(const CheckpointHeader&)>&);
template std::optional<TrainedRun> read_checkpoint(
    const std::string&, const std::function<bool(const CheckpointHeader&)>&);

CheckpointHeader read_checkpoint_header(const std::string& file_path) {
  CheckpointHeader found;
  read_sound(file_path, [&](const CheckpointHeader& header, const auto&) { found = header; });
  return found;
}

std::string describe_checkpoint(const Hdf5InputFile& file) {
  const auto header = read_record<CheckpointHeader>(file, "/");
  std::string out = header.verb == "train"
                        ? headway::progress_text(read_trained_run(file, "run"))
                        : headway::progress_text(read_record<SampleState>(file, "point"));
  const auto text = [&file](const char* name) {
    return shown(file.text_attribute("/", name).value_or("(missing)"));
  };
  out += fmt::format("  made by    Headway {} (commit {}), {}\n", shown(header.version),
                     text("git_commit"), text("written"));
  out += "\nTo go on from it, repeat the command that wrote it. To start afresh, delete it.\n";
  return out;
}

}  // namespace headway::io
