#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headway/studies/study.hpp"
#include "io/study_file_fields.hpp"

namespace headway::io::detail {

using StudyKey = Key<studies::Study>;

/// One table of a study file; the keys outside any table form the section "".
struct Section {
  std::string name;
  std::string task_kind;  ///< of [task] alone: the kind that has these keys; "" = every kind
  std::string help;
  std::vector<StudyKey> keys;
};

/// Every section and key of a study file, declared once: reading, writing, suggestions and help all
/// come from here. A new key is one line in study_file_schema.cpp.
const std::vector<Section>& study_sections();

/// The names of the sections, each once, without "".
std::vector<std::string> section_names();

/// Does the section belong to a study of this task kind?
inline bool applies(const Section& section, const std::string& task_kind) {
  return section.task_kind.empty() || section.task_kind == task_kind;
}

}  // namespace headway::io::detail
