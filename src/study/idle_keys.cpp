#include "headway/study/idle_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "headway/core/text.hpp"
#include "headway/study/sections.hpp"
#include "headway/sweep.hpp"

namespace headway {
namespace {

std::vector<SweepAxis> axes_of(const OptionValue& root) {
  const OptionValue* sweep = find(*root.get<OptionValue::Table>(), "sweep");
  return sweep != nullptr ? read_sweep(*sweep) : std::vector<SweepAxis>();
}

/// Calls visit(section, option, key) for every option of a study of any kind.
template <class Visit>
void each_option(const Visit& visit) {
  for (const Section& section : study_sections()) {
    for (const Option<Study>& o : section.table.options) {
      visit(section, o, section.name.empty() ? o.name : section.name + "." + o.name);
    }
  }
}

/// The value that the condition's key has where a study does not give it.
std::string fallback_of(const OptionCondition& condition) {
  const Study defaults;
  const Option<Study>* found = nullptr;
  each_option([&](const Section&, const Option<Study>& o, const std::string& key) {
    if (key == condition.key) found = &o;
  });
  return found->write(defaults);
}

bool counts(const OptionValue& root, const std::vector<SweepAxis>& axes,
            const OptionCondition& condition) {
  const std::string wanted = quoted_text(condition.value);
  const auto fits = [&wanted](const OptionValue* value) { return text_of(*value) == wanted; };
  const OptionValue* base = value_at(root, condition.key);
  if (base != nullptr ? fits(base) : fallback_of(condition) == wanted) return true;
  const std::vector<const OptionValue*> swept = swept_values(axes, condition.key);
  return std::any_of(swept.begin(), swept.end(), fits);
}

[[noreturn]] void refuse_idle(const OptionValue& value, const std::string& key,
                              const Option<Study>& o) {
  refuse(value, key,
         fmt::format("absent, or {}, its default: it belongs to {} = \"{}\"", o.write(Study()),
                     o.counts_where->key, o.counts_where->value));
}

/// Does the value say what is so without it? That no text is sampled is true of every other task.
bool says_nothing(const OptionValue& value, const std::string& key, const Option<Study>& o) {
  Study study;
  o.read(value, key, study);
  return study.train.sample_tokens == 0 || o.write(study) == o.write(Study());
}

void erase(OptionValue& root, const std::string& section, const std::string& name) {
  for (OptionEntry& entry : *root.get<OptionValue::Table>()) {
    auto* table = entry.key == section ? entry.value.get<OptionValue::Table>() : nullptr;
    if (table != nullptr) std::erase_if(*table, [&](const auto& e) { return e.key == name; });
  }
}

}  // namespace

void drop_keys_made_idle(const OptionValue& before, OptionValue& root) {
  const std::vector<SweepAxis> axes = axes_of(root);
  each_option([&](const Section& section, const Option<Study>& o, const std::string& key) {
    const OptionValue* value = o.counts_where ? value_at(root, key) : nullptr;
    const bool by_hand = value != nullptr && value->place.line == 0;
    if (value == nullptr || by_hand || counts(root, axes, *o.counts_where) ||
        !counts(before, axes_of(before), *o.counts_where)) {
      return;
    }
    erase(root, section.name, o.name);
  });
}

void refuse_idle_keys(const OptionValue& root, const Study& study,
                      const std::vector<TrainRun>& runs) {
  each_option([&](const Section& section, const Option<Study>& o, const std::string& key) {
    const OptionValue* value = value_at(root, key);
    if (!applies(section, study.task.kind())) return;
    const auto belongs = [&o](const TrainRun& run) { return o.belongs(run.study); };
    if (value != nullptr && !o.belongs(study) && std::none_of(runs.begin(), runs.end(), belongs)) {
      refuse(*value, key, "absent: it belongs to " + o.belongs_to);
    }
    if (!o.counts_where || counts(root, study.sweep, *o.counts_where)) return;
    for (const OptionValue* swept : swept_values(study.sweep, key)) {
      refuse_idle(*swept, key, o);
    }
    if (value != nullptr && !says_nothing(*value, key, o)) refuse_idle(*value, key, o);
  });
}

}  // namespace headway
