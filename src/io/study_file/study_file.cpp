#include "headway/study_file.hpp"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/absolute_path.hpp"
#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "headway/core/text.hpp"
#include "headway/core/utf8.hpp"
#include "headway/dataset_file.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "headway/study/sections.hpp"
#include "io/first_reading.hpp"

namespace headway::io {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestStudyFile = std::uint64_t{4} << 20U;
constexpr std::size_t kLongestName = 190;

/// `headway solve DATA.h5`, `headway train EXAMPLES.h5`: a study with everything at its default, as
/// text so that overlays and messages work as they do for a file.
std::string study_text_for(TaskKind kind, const std::string& file_path) {
  const fs::path path = absolute_path(file_path);
  if (!is_utf8(path.string())) {
    fail(ErrorKind::kBadStudy,
         "{}: the path of a data set must be UTF-8, which this one is not; rename the file or its "
         "folder",
         file_path);
  }
  return fmt::format("name = {}\n[task]\nkind = \"{}\"\nfile = {}\n",
                     quoted_text(clip(path.stem().string(), kLongestName)), word_of(kind),
                     quoted_text(path.lexically_normal().string()));
}

/// A page or a table is not HDF5, and then what is wrong with it is not its size alone.
void require_size_of_study(const std::string& file_path) {
  std::error_code ignored;
  const std::uintmax_t size = fs::file_size(file_path, ignored);
  if (ignored || size <= kLargestStudyFile) return;
  fail(
      ErrorKind::kBadStudy,
      "{}: is no HDF5 file, and with {} bytes no study; allowed: a data set or a result (HDF5), or "
      "a study (TOML) of at most {} bytes",
      file_path, size, kLargestStudyFile);
}

/// What to do with a file of data that was given in place of a study, by its ending.
std::string how_to_use(const std::string& file_path, const std::string& ending) {
  if (ending == ".txt") {
    return fmt::format("A text is trained on by: headway train text-small --set task.file={}",
                       shell_command({file_path}));
  }
  for (const char* data : {".csv", ".tsv", ".npy", ".npz", ".json"}) {
    if (ending == data) {
      return "This is no study. Data go into a file of headway.write_examples or "
             "headway.write_dataset, in Python";
    }
  }
  return {};
}

}  // namespace

Study parse_study(std::string_view text, const std::string& source_name,
                  const std::vector<std::string>& overlays, const std::string& directory) {
  return headway::resolve(text, source_name, overlays, directory).study;
}

LoadedStudy read_study(const std::string& file_path, const std::vector<std::string>& overlays) {
  const std::string directory = fs::path(absolute_path(file_path)).parent_path().string();
  if (!is_hdf5(file_path)) {
    const std::string ending = fs::path(file_path).extension().string();
    if (ending == ".h5" || ending == ".hdf5") check_is_hdf5(file_path);  // no study: says so
    require_size_of_study(file_path);
    const std::string text = read_whole_file(file_path, kLargestStudyFile, ErrorKind::kBadStudy);
    try {
      return {parse_study(text, file_path, overlays, directory), StudyOrigin::kStudyFile};
    } catch (const Error& e) {
      const std::string hint = how_to_use(file_path, ending);
      if (e.kind() != ErrorKind::kBadStudy || hint.empty()) throw;
      throw Error(e.kind(), std::string(e.what()) + ". " + hint);
    }
  }
  const bool examples = is_examples_file(file_path);
  if (examples || is_dataset_file(file_path)) {
    const TaskKind kind = examples ? TaskKind::kArrays : TaskKind::kDataset;
    return {parse_study(study_text_for(kind, file_path), file_path, overlays, directory),
            StudyOrigin::kDatasetFile};
  }
  if (is_result_file(file_path)) {
    const ResultProvenance provenance = read_result_provenance(file_path);
    return {parse_study(provenance.study_toml, file_path + ":study_toml", overlays, directory),
            StudyOrigin::kResultFile};
  }
  static_cast<void>(first_reading(file_path));  // says what is wrong with a damaged one
  bad_data(
      "{}: is an HDF5 file, but root attribute schema_name is neither \"headway-dataset\" nor "
      "\"headway-result\": must be a study, a data set or a result",
      file_path);
}

std::string write_study(const Study& study) { return headway::study_text(study); }

}  // namespace headway::io
