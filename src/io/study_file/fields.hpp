#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/study_file/value.hpp"

namespace headway::io::detail {

/// How one type of study value is read, written and described. `allowed` completes "must be ...".
template <class T>
struct Codec {
  std::string allowed;
  std::function<T(const Value&, const std::string& path)> read;
  std::function<std::string(const T&)> write;  ///< TOML text; "" means: leave the key out
};

/// One key of a table, bound to a member of `Owner`: the only place where the key is named.
template <class Owner>
struct Key {
  std::string name;
  std::string allowed;
  std::string help;
  std::function<void(const Value&, const std::string& path, Owner&)> read;
  std::function<std::string(const Owner&)> write;
};

/// Throws Error{kBadStudy}: "study.toml:12: model.temperature = -1: must be <allowed>".
[[noreturn]] void refuse(const Value& value, const std::string& path, const std::string& allowed);

/// Throws Error{kBadStudy} for a key that the table `where` does not have, with the nearest one.
[[noreturn]] void refuse_unknown_key(const Entry& entry, const std::string& where,
                                     const std::vector<std::string>& known);

/// "[3]" appended to a path; entries of arrays are counted from 1, as heads and layers are.
std::string element(const std::string& path, std::size_t index);

template <class Owner, class T>
Key<Owner> key(std::string name, T Owner::*member, Codec<T> codec, std::string help) {
  return {std::move(name), codec.allowed, std::move(help),
          [member, codec](const Value& value, const std::string& path, Owner& owner) {
            owner.*member = codec.read(value, path);
          },
          [member, codec](const Owner& owner) { return codec.write(owner.*member); }};
}

// --- scalars
// --------------------------------------------------------------------------------------

/// An integer from `low` to `high`.
template <class T>
Codec<T> integer(std::int64_t low, std::int64_t high);
extern template Codec<int> integer<int>(std::int64_t, std::int64_t);
extern template Codec<std::int64_t> integer<std::int64_t>(std::int64_t, std::int64_t);
extern template Codec<std::uint64_t> integer<std::uint64_t>(std::int64_t, std::int64_t);

enum class Bound { kClosed, kOpen };  ///< whether the lower end itself is allowed

/// A finite number from (or above) `low` to `high`; integers are taken too.
Codec<double> real(double low, double high, Bound lower = Bound::kClosed);
Codec<bool> flag();
/// One line of text of at most `longest` bytes; may it be empty?
Codec<std::string> text(std::size_t longest, bool may_be_empty);
/// One of some words, kept as the word.
Codec<std::string> word(const std::vector<std::string>& words);

/// One of some words, kept as an enumerator.
template <class E>
Codec<E> choice(std::vector<std::pair<std::string, E>> options) {
  std::vector<std::string> words;
  for (const auto& option : options) words.push_back(option.first);
  const Codec<std::string> as_word = word(words);
  return {as_word.allowed,
          [as_word, options](const Value& value, const std::string& path) {
            const std::string chosen = as_word.read(value, path);
            E result = options.front().second;
            for (const auto& [name, enumerator] : options) {
              if (name == chosen) result = enumerator;
            }
            return result;
          },
          [as_word, options](const E& enumerator) {
            std::string name;
            for (const auto& option : options) {
              if (option.second == enumerator) name = option.first;
            }
            return as_word.write(name);
          }};
}

// --- compounds
// ------------------------------------------------------------------------------------

template <class T>
Codec<std::optional<T>> optional(Codec<T> inner) {
  return {
      inner.allowed,
      [inner](const Value& value, const std::string& path) {
        return std::optional<T>(inner.read(value, path));
      },
      [inner](const std::optional<T>& held) { return held ? inner.write(*held) : std::string(); }};
}

template <class T>
std::string write_list(const std::vector<T>& items, const Codec<T>& inner) {
  std::string out;
  for (const T& item : items) out += (out.empty() ? "" : ", ") + inner.write(item);
  return "[" + out + "]";
}

/// A list of `shortest` to `longest` entries; an empty member is left out when written.
template <class T>
Codec<std::vector<T>> list(Codec<T> inner, std::string allowed, std::size_t shortest,
                           std::size_t longest) {
  return {allowed,
          [=](const Value& value, const std::string& path) {
            const Value::Array* array = value.get<Value::Array>();
            if (array == nullptr || array->size() < shortest || array->size() > longest) {
              refuse(value, path, allowed);
            }
            std::vector<T> out;
            for (std::size_t i = 0; i < array->size(); ++i) {
              out.push_back(inner.read((*array)[i], element(path, i)));
            }
            return out;
          },
          [=](const std::vector<T>& items) {
            return items.empty() ? std::string() : write_list(items, inner);
          }};
}

/// A single value, or a list of them; a list of one is written as the value.
template <class T>
Codec<std::vector<T>> one_or_list(Codec<T> inner, std::string allowed, std::size_t longest) {
  const Codec<std::vector<T>> many = list(inner, allowed, 1, longest);
  return {allowed,
          [=](const Value& value, const std::string& path) {
            if (value.get<Value::Array>() != nullptr) return many.read(value, path);
            if (value.get<Value::Table>() != nullptr) refuse(value, path, allowed);
            return std::vector<T>{inner.read(value, path)};
          },
          [=](const std::vector<T>& items) {
            return items.size() == 1 ? inner.write(items.front()) : many.write(items);
          }};
}

/// Exactly N values.
template <class T, std::size_t N>
Codec<std::array<T, N>> exactly(Codec<T> inner, std::string allowed) {
  const Codec<std::vector<T>> many = list(inner, allowed, N, N);
  return {allowed,
          [=](const Value& value, const std::string& path) {
            const std::vector<T> items = many.read(value, path);
            std::array<T, N> out{};
            for (std::size_t i = 0; i < N; ++i) out[i] = items[i];
            return out;
          },
          [=](const std::array<T, N>& items) {
            return many.write(std::vector<T>(items.begin(), items.end()));
          }};
}

/// Reads the entries of `table` into `owner`. An entry that no key names is an error.
template <class Owner>
void read_table(const Value& value, const std::string& path, const std::vector<Key<Owner>>& keys,
                const std::string& allowed, Owner& owner) {
  const Value::Table* table = value.get<Value::Table>();
  if (table == nullptr) refuse(value, path, allowed);
  std::vector<std::string> names;
  for (const Key<Owner>& k : keys) names.push_back(k.name);
  for (const Entry& entry : *table) {
    const Key<Owner>* found = nullptr;
    for (const Key<Owner>& k : keys) {
      if (k.name == entry.key) found = &k;
    }
    if (found == nullptr) refuse_unknown_key(entry, path, names);
    found->read(entry.value, path + "." + entry.key, owner);
  }
}

/// "{a = 1, b = 2}"
template <class Owner>
std::string write_inline_table(const std::vector<Key<Owner>>& keys, const Owner& owner) {
  std::string out;
  for (const Key<Owner>& k : keys) {
    const std::string text = k.write(owner);
    if (!text.empty()) out += (out.empty() ? "" : ", ") + k.name + " = " + text;
  }
  return "{" + out + "}";
}

}  // namespace headway::io::detail
