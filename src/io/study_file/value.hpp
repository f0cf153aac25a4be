#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace headway::io::detail {

/// Where a value was written, for messages: "study.toml:12", or "--set model.widths=3" (line 0).
struct Place {
  std::shared_ptr<const std::string> source;
  int line = 0;
  [[nodiscard]] std::string text() const;
};

struct Entry;

/// A parsed TOML value that remembers its place. Keeps toml++ inside one source file.
struct Value {
  using Array = std::vector<Value>;
  using Table = std::vector<Entry>;
  /// TOML's dates and times, which no study key takes; kept as words for messages.
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

struct Entry {
  std::string key;
  Value value;
};

/// The value of `key`, or null.
const Value* find(const Value::Table& table, std::string_view key);

/// The value at the dotted `key` ("train.heads") of a table, or null.
const Value* value_at(const Value& root, const std::string& key);

/// The value as a user would write it, cut to about 60 characters.
std::string describe(const Value& value);

/// Parses TOML text into a table. `source` names it in messages. Error{kBadStudy} with the line on
/// a syntax error.
Value parse_toml(std::string_view text, const std::string& source);

/// Applies one `section.key=value` to a parsed study: a TOML value, else a string. Tables on the
/// way are made. Gives its key, as overlay_key(). Error{kUsage} when it has no '=' or no key.
std::string apply_overlay(Value& root, const std::string& overlay);

/// "section.key" of `section.key=value`, without blanks and quotes. Error{kUsage} as apply_overlay.
std::string overlay_key(const std::string& overlay);

}  // namespace headway::io::detail
