#include "headway/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/study/sections.hpp"

namespace headway {
namespace {

constexpr std::size_t kMostRuns = 1'000;
constexpr std::size_t kMostValues = 1'000;

std::string path_of(const SweepAxis& axis) { return "sweep." + axis.key; }

OptionValue all_values(const SweepAxis& axis) { return {axis.values, axis.place}; }

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

/// Puts `value` at the dotted `key`; a table is merged into what is there.
void put(OptionValue& root, const std::string& key, const OptionValue& value) {
  OptionValue* at = &root;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    at = &child(*at, key.substr(begin, end - begin), value.place);
    begin = end + 1;
  }
  if (const auto* table = value.get<OptionValue::Table>()) {
    for (const OptionEntry& entry : *table) child(*at, entry.key, value.place) = entry.value;
  } else {
    *at = value;
  }
}

/// One combination: what it sets, as a tree of sections.
struct Combination {
  std::vector<Setting> settings;
  OptionValue tree{OptionValue::Table{}, {}};
};

std::vector<Combination> combinations(const std::vector<SweepAxis>& sweep) {
  std::vector<Combination> all(1);
  for (const SweepAxis& axis : sweep) {
    if (all.size() * axis.values.size() > kMostRuns) {
      refuse(all_values(axis), path_of(axis),
             fmt::format("shorter: a sweep has at most {} runs", kMostRuns));
    }
    std::vector<Combination> longer;
    for (const Combination& combination : all) {
      for (const OptionValue& value : axis.values) {
        longer.push_back(combination);
        put(longer.back().tree, axis.key, value);
        longer.back().settings.push_back({axis.key, text_of(value)});
      }
    }
    all = std::move(longer);
  }
  return all;
}

TrainRun make_run(const Study& base, Combination combination) {
  TrainRun run{std::move(combination.settings), base};
  run.study.sweep.clear();
  read_sections(combination.tree, run.study);
  try {
    check_study(run.study);
  } catch (const OptionError& error) {
    for (const std::string& field : error.fields()) {
      const OptionValue* swept = value_at(combination.tree, field);
      if (swept != nullptr && !error.has_place()) throw error.at(swept->place.text());
    }
    throw;
  }
  return run;
}

/// Takes the axis `key` out of [sweep], where `table` is what stands below `prefix`.
void drop_axis(OptionValue::Table& table, const std::string& prefix, const std::string& key) {
  const auto name = [&prefix](const OptionEntry& entry) {
    return prefix.empty() ? entry.key : prefix + "." + entry.key;
  };
  for (OptionEntry& entry : table) {
    if (auto* inner = entry.value.get<OptionValue::Table>()) drop_axis(*inner, name(entry), key);
  }
  std::erase_if(table, [&](const OptionEntry& entry) {
    return entry.value.get<OptionValue::Array>() != nullptr && name(entry) == key;
  });
}

}  // namespace

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

std::vector<TrainRun> train_runs(const Study& study) {
  std::vector<TrainRun> runs;
  for (Combination& combination : combinations(study.sweep)) {
    runs.push_back(make_run(study, std::move(combination)));
  }
  return runs;
}

std::string sweep_text(const std::vector<SweepAxis>& sweep) {
  if (sweep.empty()) return "";
  std::string out = "\n[sweep]\n";
  for (const SweepAxis& axis : sweep) {
    out += fmt::format("{} = {}\n", quoted_text(axis.key), text_of(all_values(axis)));
  }
  return out;
}

void drop_axes(OptionValue& root, const std::string& key, const OptionValue& set) {
  std::vector<std::string> keys = {key};
  if (const auto* table = set.get<OptionValue::Table>()) {
    for (const OptionEntry& entry : *table) keys.push_back(key + "." + entry.key);
  }
  for (OptionEntry& entry : *root.get<OptionValue::Table>()) {
    auto* sweep = entry.key == "sweep" ? entry.value.get<OptionValue::Table>() : nullptr;
    if (sweep == nullptr) continue;
    for (const std::string& swept : keys) drop_axis(*sweep, "", swept);
  }
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

std::vector<std::string> setting_words(const std::vector<Setting>& settings) {
  std::vector<std::string> words;
  for (const Setting& setting : settings) words.insert(words.end(), {setting.key, setting.value});
  return words;
}

std::vector<Setting> settings_of(const std::vector<std::string>& words) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2)
    settings.push_back({words[i], words[i + 1]});
  return settings;
}

}  // namespace headway
