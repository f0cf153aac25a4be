// The walk from the text of a study to a checked Study. Each step is one file: toml, overlays,
// read_sections, check_study, sweep_axes. src/README.md, "Reading a study", says which of them call
// each other.
#include "headway/study/resolve.hpp"

#include "headway/core/option_error.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/sweep.hpp"
#include "study/overlays.hpp"
#include "study/sweep_axes.hpp"
#include "study/toml.hpp"

namespace headway {
namespace {

/// The place of the first field that the study gives. If it gives none, the place of what would
/// hold the first field: a head of the task, its table, or the file.
Place place_of(const OptionValue& root, const std::vector<std::string>& fields) {
  for (const std::string& field : fields) {
    const OptionValue* value = value_at(root, field);
    if (value != nullptr) return value->place;
  }
  std::string holder = fields.front();
  while (!holder.empty()) {
    const std::size_t end = holder.find_last_of(".[");
    holder.resize(end == std::string::npos ? 0 : end);
    const OptionValue* value = holder.empty() ? nullptr : value_at(root, holder);
    if (value != nullptr) return value->place;
  }
  return root.place;
}

}  // namespace

ResolvedStudy resolve(std::string_view text, const std::string& source_name,
                      const std::vector<std::string>& overlays, const std::string& directory) {
  OptionValue root = detail::parse_toml(text, source_name);
  const std::vector<std::string> set_by_hand = apply_overlays(root, overlays, directory);
  try {
    for (const std::string& key : set_by_hand) refuse_table_axes_that_set(root, key);
    ResolvedStudy resolved;
    read_sections(root, resolved.study);
    resolved.runs = train_runs(resolved.study);  // checks each
    refuse_idle_keys(root, resolved.study, resolved.runs);
    return resolved;
  } catch (const OptionError& error) {
    if (error.has_place()) throw;
    throw error.at(place_of(root, error.fields()).text());
  }
}

}  // namespace headway
