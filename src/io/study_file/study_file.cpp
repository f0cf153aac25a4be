#include "headway/study_file.hpp"

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "core/whole_file.hpp"
#include "headway/core/utf8.hpp"
#include "headway/dataset_file.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/result_file.hpp"
#include "headway/study/idle_keys.hpp"
#include "headway/study/sections.hpp"
#include "headway/sweep.hpp"
#include "io/first_reading.hpp"
#include "io/study_file/toml.hpp"
#include "study/set_by_hand.hpp"

namespace headway::io {
namespace {

namespace fs = std::filesystem;
using headway::Study;

constexpr std::uint64_t kLargestStudyFile = std::uint64_t{4} << 20U;
constexpr std::size_t kLongestName = 190;

/// `headway solve DATA.h5`: a study with everything at its default, as text so that overlays and
/// messages work as they do for a file.
std::string study_text_for_dataset(const std::string& file_path) {
  const fs::path path = fs::absolute(file_path);
  if (!is_utf8(path.string())) {
    fail(ErrorKind::kBadStudy,
         "{}: the path of a data set must be UTF-8, which this one is not; rename the file or its "
         "folder",
         file_path);
  }
  return fmt::format("name = {}\n[task]\nkind = \"dataset\"\nfile = {}\n",
                     quoted_text(clip(path.stem().string(), kLongestName)),
                     quoted_text(path.lexically_normal().string()));
}

constexpr std::size_t kLongestShown = 60;

/// Splits "a.b.c"; parts may be quoted the TOML way. Empty when it is no key.
std::vector<std::string> split_key(const std::string& text) {
  OptionValue parsed;
  try {
    parsed = detail::parse_toml(text + " = 0", "--set");
  } catch (const Error&) {
    return {};
  }
  std::vector<std::string> parts;
  const OptionValue* at = &parsed;
  while (const auto* table = at->get<OptionValue::Table>()) {
    if (table->size() != 1) return {};
    parts.push_back(table->front().key);
    at = &table->front().value;
  }
  return parts;
}

/// The key of an overlay. An axis of a sweep is one key: sweep.train.heads stands beside
/// sweep.train.
std::vector<std::string> overlay_parts(const std::string& overlay) {
  const std::size_t equals = overlay.find('=');
  std::vector<std::string> parts;
  if (equals != std::string::npos) parts = split_key(overlay.substr(0, equals));
  if (parts.size() > 2 && parts.front() == "sweep") {
    parts = {parts.front(), join({parts.begin() + 1, parts.end()}, ".")};
  }
  if (!parts.empty()) return parts;
  fail(ErrorKind::kUsage, "--set {}: must be section.key=value, for example model.temperature=0.1",
       quoted_text(clip(overlay, kLongestShown)));
}

/// The right-hand side of an overlay: a TOML value, else a string.
OptionValue overlay_value(const std::string& text) {
  try {
    OptionValue parsed = detail::parse_toml("value = " + text, "--set");
    auto* table = parsed.get<OptionValue::Table>();
    if (table != nullptr && table->size() == 1) return std::move(table->front().value);
  } catch (const Error&) {  // not TOML: a bare string
  }
  return {text, {}};
}

/// Applies one `section.key=value` to a parsed study; the value is TOML, else a string. Makes the
/// tables on the way. Removes the axis of [sweep] that sets only this key, and for a table the axes
/// of its keys. Returns the key, as overlay_key(). Error{kUsage} without '=' or a key.
std::string apply_overlay(OptionValue& root, const std::string& overlay) {
  const std::vector<std::string> parts = overlay_parts(overlay);
  const Place place{
      std::make_shared<const std::string>("--set " + printable(clip(overlay, kLongestShown))), 0};
  headway::set_by_hand(root, parts, overlay_value(overlay.substr(overlay.find('=') + 1)), place);
  return join(parts, ".");
}

}  // namespace

std::string overlay_key(const std::string& overlay) { return join(overlay_parts(overlay), "."); }

Study parse_study(std::string_view text, const std::string& source_name,
                  const std::vector<std::string>& overlays, const std::string& directory) {
  OptionValue root = detail::parse_toml(text, source_name);
  // Paths in a file are relative to it, typed ones to the working directory.
  const auto resolve = [](const fs::path& from) {
    return [from](const std::string& file) {
      return fs::absolute(from / file).lexically_normal().string();
    };
  };
  headway::change_paths(root, resolve(directory.empty() ? "." : directory));
  const OptionValue before = root;
  std::vector<std::string> set_by_hand;
  for (const std::string& overlay : overlays) {
    set_by_hand.push_back(apply_overlay(root, overlay));
  }
  headway::drop_keys_made_idle(before, root);
  headway::change_paths(root, resolve("."));
  return headway::checked_study(root, set_by_hand);
}

OptionValue task_overlays(const std::vector<std::string>& overlays) {
  OptionValue root{OptionValue::Table{}, {}};
  for (const std::string& overlay : overlays) apply_overlay(root, overlay);
  headway::change_paths(
      root, [](const std::string& file) { return fs::absolute(file).lexically_normal().string(); });
  const OptionValue* task = find(*root.get<OptionValue::Table>(), "task");
  return task != nullptr ? *task : root;
}

LoadedStudy read_study(const std::string& file_path, const std::vector<std::string>& overlays) {
  const std::string directory = fs::absolute(file_path).parent_path().string();
  if (!is_hdf5(file_path)) {
    const std::string text = read_whole_file(file_path, kLargestStudyFile, ErrorKind::kBadStudy);
    return {parse_study(text, file_path, overlays, directory), StudyOrigin::kStudyFile};
  }
  if (is_dataset_file(file_path)) {
    return {parse_study(study_text_for_dataset(file_path), file_path, overlays, directory),
            StudyOrigin::kDatasetFile};
  }
  if (is_result_file(file_path)) {
    const headway::ResultProvenance provenance = read_result_provenance(file_path);
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
