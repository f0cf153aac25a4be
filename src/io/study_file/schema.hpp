#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "headway/studies/study.hpp"
#include "io/study_file/fields.hpp"

namespace headway::io::detail {

using StudyKey = Key<studies::Study>;

/// The verbs that a section is for: those of the theory, or `train`.
enum class Side { kBoth, kTheory, kTraining };

/// One table of a study file; the keys outside any table form the section "".
struct Section {
  std::string name;
  std::string task_kind;  ///< of [task] alone: the kind that has these keys; "" = every kind
  std::string help;
  std::vector<StudyKey> keys;
  Side side = Side::kBoth;
};

inline constexpr std::int64_t kLargestSeed = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kLargestCount = 1'000'000;
inline constexpr double kLargestReal = 1e9;

/// Turns keys of a part of a study into keys of the study. `part` works on const and non-const.
template <class Owner, class Access>
std::vector<StudyKey> keys_of(Access part, std::vector<Key<Owner>> keys) {
  std::vector<StudyKey> out;
  out.reserve(keys.size());
  for (Key<Owner>& k : keys) {
    out.push_back(
        {k.name, k.allowed, k.help,
         [part, read = k.read](const Value& value, const std::string& path, studies::Study& study) {
           read(value, path, part(study));
         },
         [part, write = k.write](const studies::Study& study) { return write(part(study)); }});
  }
  return out;
}

/// Every section and key of a study file, declared once: reading, writing, suggestions and help all
/// come from here. A new key is one line in schema.cpp.
const std::vector<Section>& study_sections();

/// The names of the sections, each once, without "".
std::vector<std::string> section_names();

/// The sections of the tasks that networks are trained on, and [train].
std::vector<Section> training_task_sections();
Section train_section();
Section extract_section();
/// The keys of [train] that this kind of network does not have.
std::vector<std::string> keys_of_other_networks(training::NetworkKind network);

/// Does the section belong to a study of this task kind?
inline bool applies(const Section& section, const std::string& task_kind) {
  if (section.side != Side::kBoth &&
      (section.side == Side::kTraining) != studies::is_training_task(task_kind)) {
    return false;
  }
  return section.task_kind.empty() || section.task_kind == task_kind;
}

}  // namespace headway::io::detail
