#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headway {

/// Where a value was written, for messages: "study.toml:12", or "--set model.widths=3" (line 0).
struct Place {
  std::shared_ptr<const std::string> source;
  int line = 0;
  [[nodiscard]] std::string text() const;
};

struct OptionEntry;

/// The value of an option as someone wrote it, before it is known whether the option takes it, with
/// its place. Studies are trees of them: a table of sections, each a table of options.
struct OptionValue {
  using Array = std::vector<OptionValue>;
  using Table = std::vector<OptionEntry>;
  /// Dates and times, which no option takes; kept as words for messages.
  struct DateTime {
    std::string text;
  };
  std::variant<bool, std::int64_t, double, std::string, Array, Table, DateTime> data;
  Place place;

  template <class T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&data);
  }
  template <class T>
  [[nodiscard]] T* get() {
    return std::get_if<T>(&data);
  }
};

struct OptionEntry {
  std::string key;
  OptionValue value;
};

/// The value of `key`, or null.
const OptionValue* find(const OptionValue::Table& table, std::string_view key);

/// The value at the dotted `key` of a table, also within lists ("train.heads",
/// "task.layers[2].heads[1]", counted from 1), or null.
const OptionValue* value_at(const OptionValue& root, std::string_view key);

/// The value at `key` of `parent`. If there is none, an empty table with this `place` is added. A
/// parent that is no table becomes one.
OptionValue& child(OptionValue& parent, std::string_view key, const Place& place);

/// The value as a study spells it (TOML).
std::string text_of(const OptionValue& value);

/// text_of(), cut to about 60 characters.
std::string describe(const OptionValue& value);

/// Equal as values of an option: 1 and 1.0 are, and tables in any order; places do not count.
bool same_value(const OptionValue& a, const OptionValue& b);

}  // namespace headway
