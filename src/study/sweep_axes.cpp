#include "study/sweep_axes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/study/sections.hpp"

namespace headway {
namespace {

constexpr std::size_t kMostValues = 1'000;

void collect_axes(const OptionValue::Table& table, const std::string& prefix,
                  std::vector<SweepAxis>& out) {
  for (const OptionEntry& entry : table) {
    const std::string key = prefix.empty() ? entry.key : prefix + "." + entry.key;
    if (const auto* inner = entry.value.get<OptionValue::Table>()) {
      collect_axes(*inner, key, out);
      continue;
    }
    const auto* values = entry.value.get<OptionValue::Array>();
    if (values == nullptr || values->empty() || values->size() > kMostValues) {
      refuse(entry.value, "sweep." + key, "a list of 1 to 1000 values of that key");
    }
    std::erase_if(out, [&](const SweepAxis& axis) { return axis.key == key; });
    out.push_back({key, *values, entry.value.place});
  }
}

/// Twins would look like two independent runs, with a standard error of 0.
void refuse_repeated_values(const SweepAxis& axis) {
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_value(axis.values[i], axis.values[j])) continue;
      refuse(all_values(axis), path_of(axis),
             fmt::format("a list of different values; number {} and number {} are both {}", j + 1,
                         i + 1, describe(axis.values[i])));
    }
  }
}

/// The axis that sets the dotted key among others of its table, and the value that does; or nulls.
struct SweptTable {
  const SweepAxis* axis = nullptr;
  const OptionValue* table = nullptr;
};

SweptTable table_that_sets(const std::vector<SweepAxis>& axes, const std::string& key) {
  for (const SweepAxis& axis : axes) {
    for (const OptionValue& value : axis.values) {
      const auto* table = value.get<OptionValue::Table>();
      if (table == nullptr) continue;
      for (const OptionEntry& entry : *table) {
        if (axis.key + "." + entry.key == key) return {&axis, &value};
      }
    }
  }
  return {};
}

std::vector<SweepAxis> axes_of(const OptionValue& root) {
  const OptionValue* sweep = find(*root.get<OptionValue::Table>(), "sweep");
  return sweep != nullptr ? read_sweep(*sweep) : std::vector<SweepAxis>();
}

/// The values that the axes give the dotted `key`, by axes of it and of its whole table.
std::vector<const OptionValue*> swept_values(const std::vector<SweepAxis>& axes,
                                             const std::string& key) {
  std::vector<const OptionValue*> out;
  for (const SweepAxis& axis : axes) {
    for (const OptionValue& value : axis.values) {
      const bool whole = key.starts_with(axis.key + ".");
      const OptionValue* set = whole ? value_at(value, key.substr(axis.key.size() + 1)) : nullptr;
      if (axis.key == key) set = &value;
      if (set != nullptr) out.push_back(set);
    }
  }
  return out;
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
  std::string out;
  each_option([&](const Section&, const Option<Study>& o, const std::string& key) {
    if (key == condition.key) out = o.write(Study());
  });
  return out;
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

/// Whether the value changes nothing: it is the default, or says that no text is sampled, which is
/// true of every task that is not a text.
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

OptionValue all_values(const SweepAxis& axis) { return {axis.values, axis.place}; }

std::string path_of(const SweepAxis& axis) { return "sweep." + axis.key; }

std::vector<SweepAxis> read_sweep(const OptionValue& sweep) {
  const auto* table = sweep.get<OptionValue::Table>();
  if (table == nullptr) refuse(sweep, "sweep", "a table [sweep]");
  std::vector<SweepAxis> axes;
  collect_axes(*table, "", axes);
  for (const SweepAxis& axis : axes) {
    const std::string section = axis.key.substr(0, axis.key.find('.'));
    if (section == "sweep" || section == "schema" || section == "name") {
      refuse(all_values(axis), path_of(axis), "a list of values of another key");
    }
  }
  // The parser sorts keys by name; the file's order is that of their lines.
  std::stable_sort(axes.begin(), axes.end(), [](const SweepAxis& a, const SweepAxis& b) {
    return a.place.line < b.place.line;
  });
  for (const SweepAxis& axis : axes) {
    refuse_repeated_values(axis);
    const SweptTable whole = table_that_sets(axes, axis.key);
    if (whole.table == nullptr) continue;
    refuse(all_values(axis), path_of(axis),
           fmt::format("absent, or {} without it: sweep.{} sets that key, too",
                       describe(*whole.table), whole.axis->key));
  }
  return axes;
}

std::string sweep_text(const std::vector<SweepAxis>& sweep) {
  if (sweep.empty()) return "";
  std::string out = "\n[sweep]\n";
  for (const SweepAxis& axis : sweep) {
    out += fmt::format("{} = {}\n", quoted_text(axis.key), text_of(all_values(axis)));
  }
  return out;
}

void refuse_table_axes_that_set(const OptionValue& root, const std::string& key) {
  const OptionValue* sweep = find(*root.get<OptionValue::Table>(), "sweep");
  const OptionValue* value = value_at(root, key);
  if (sweep == nullptr || value == nullptr) return;
  const std::vector<SweepAxis> axes = read_sweep(*sweep);
  const auto [axis, table] = table_that_sets(axes, key);
  if (table == nullptr) return;
  throw OptionError(
      fmt::format("{}: sweep.{} at {} sets this key, too, in {}: must be set in one place. To "
                  "change the sweep, give another one, for example --set 'sweep.{}=[{{{} = {}}}]'",
                  key, axis->key, table->place.text(), describe(*table), axis->key,
                  key.substr(axis->key.size() + 1), text_of(*value)),
      {key})
      .at(value->place.text());
}

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
