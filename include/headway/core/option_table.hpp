#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/option_value.hpp"
#include "headway/core/words.hpp"

/// Every struct of options has one table beside it, which says of each option its key, member,
/// range and reason. Checking, reading, writing, suggestions and help come from the tables:
///
///   const OptionTable<X>& X::table() {
///     static const OptionTable<X> table = {{
///         option("layers", &X::layers, integer<Index>(1, 1000), "L"),
///         ...
///     }};
///     return table;
///   }
///   void X::validate() const { check_options(table(), *this, "train"); ... }
///
/// A new option is one line there, and its member.
namespace headway {

/// How options of one type are read, written, described and checked.
template <class T>
struct OptionType {
  std::string allowed;  ///< completes "must be ..."
  /// Error{kBadStudy} with the place of the value unless it is allowed; `path` is the dotted key.
  std::function<T(const OptionValue&, const std::string& path)> read;
  std::function<std::string(const T&)> write;  ///< as a study spells it; "": the key is left out
  /// Error{kBadStudy} unless the member is allowed. What write() leaves out is.
  std::function<void(const T&, const std::string& path)> check;
};

/// When an option has an effect: if another key has this value ("train.feed_forward", "mixture").
struct OptionCondition {
  std::string key, value;
};

/// One option of some struct. Only Option<Owner> knows the type of the struct: so the code that
/// works on the hundreds of options of a dozen structs is compiled once.
struct AnyOption {
  std::string name;
  std::string allowed;
  std::string help;
  bool required = false;  ///< in tables within lists: a table without this key is refused
  /// Where the option has an effect. Elsewhere it is allowed at its default, and where some run of
  /// a sweep meets the condition.
  std::optional<OptionCondition> counts_where;
  std::string belongs_to;  ///< the owners that have the option, in words; see only_where()

  AnyOption();
  AnyOption(const AnyOption&);
  AnyOption(AnyOption&&) noexcept;
  AnyOption& operator=(const AnyOption&);
  AnyOption& operator=(AnyOption&&) noexcept;
  ~AnyOption();

  /// The same option as one of a larger struct. `part` and `const_part` return the part of that
  /// struct that has the option: to change it, and to look at it.
  [[nodiscard]] AnyOption of_part(const std::function<void*(void*)>& part,
                                  const std::function<const void*(const void*)>& const_part) const;
  /// The same option, but only for owners for which `belongs` is true; see only_where().
  [[nodiscard]] AnyOption only_where(const std::function<bool(const void*)>& belongs,
                                     const std::string& owners,
                                     const std::function<std::string()>& by_default) const;

 protected:
  std::function<void(const OptionValue&, const std::string& path, void* owner)> read_;
  std::function<std::string(const void* owner)> write_;
  std::function<void(const void* owner, const std::string& path)> check_;
  std::function<bool(const void* owner)> belongs_;  ///< empty: to every owner
};

/// One option of `Owner`: the only place where its key is named.
template <class Owner>
struct Option : AnyOption {
  Option() = default;
  explicit Option(AnyOption any) : AnyOption(std::move(any)) {}
  /// An option that is a member of type T.
  template <class T>
  Option(std::string_view key, T Owner::*member, const OptionType<T>& type, std::string_view why);
  /// An option that is no member: `get` and `set` turn it into what the owner holds.
  template <class T>
  Option(std::string_view key, T (Owner::*get)() const, void (Owner::*set)(T),
         const OptionType<T>& type, std::string_view why);

  void read(const OptionValue& value, const std::string& path, Owner& owner) const {
    read_(value, path, &owner);
  }
  [[nodiscard]] std::string write(const Owner& owner) const { return write_(&owner); }
  void check(const Owner& owner, const std::string& path) const { check_(&owner, path); }
  [[nodiscard]] bool belongs(const Owner& owner) const { return !belongs_ || belongs_(&owner); }
};

template <class Owner>
struct OptionTable {
  std::vector<Option<Owner>> options;
};

/// Throws Error{kBadStudy}: "study.toml:12: model.temperature = -1: must be <allowed>".
[[noreturn]] void refuse(const OptionValue& value, const std::string& path,
                         const std::string& allowed);
/// Throws Error{kBadStudy}: "model.temperature = -1.0: must be <allowed>", without a place.
[[noreturn]] void refuse(const std::string& value, const std::string& path,
                         const std::string& allowed);
/// Throws Error{kBadStudy} for a key that the table `where` does not have, with the nearest one.
[[noreturn]] void refuse_unknown_key(const OptionEntry& entry, const std::string& where,
                                     const std::vector<std::string>& known);

/// "[3]" appended to a path; entries of lists are counted from 1, as heads and layers are.
std::string element(const std::string& path, std::size_t index);

// --- one option ----------------------------------------------------------------------------------

/// Never inline: tables call it hundreds of times, once a run.
template <class Owner, class T>
[[gnu::noinline]] Option<Owner> option(std::string_view name, T Owner::*member,
                                       const OptionType<T>& type, std::string_view help) {
  return Option<Owner>(name, member, type, help);
}

template <class Owner>
Option<Owner> required(Option<Owner> option) {
  option.required = true;
  return option;
}

template <class Owner>
Option<Owner> counts_where(std::string key, std::string value, Option<Owner> option) {
  option.counts_where = {std::move(key), std::move(value)};
  return option;
}

// --- types of options ----------------------------------------------------------------------------

/// An integer from `low` to `high`.
template <class T>
OptionType<T> integer(std::int64_t low, std::int64_t high);
extern template OptionType<int> integer<int>(std::int64_t, std::int64_t);
extern template OptionType<std::int64_t> integer<std::int64_t>(std::int64_t, std::int64_t);
extern template OptionType<std::uint64_t> integer<std::uint64_t>(std::int64_t, std::int64_t);

/// Which ends of a range belong to it.
enum class Ends { kClosed, kOpenBelow, kOpenAbove, kOpen };

/// A finite number in the range; integers are taken too. An end may be infinite.
OptionType<double> real(double low, double high, Ends ends = Ends::kClosed);
OptionType<bool> flag();
/// One line of text of at most `longest` bytes. Without `may_be_empty` a study may not give an
/// empty one; a member that is empty was not given.
OptionType<std::string> text(std::size_t longest, bool may_be_empty);
/// One of some words, kept as the word.
OptionType<std::string> word(const std::vector<std::string>& words);
/// The same, or nothing: the key is then left out.
OptionType<std::string> optional_word(const std::vector<std::string>& words);

/// One of the words of an enumeration.
template <class E>
OptionType<E> choice() {
  const OptionType<std::string> words = word(all_words<E>());
  return {words.allowed,
          [words](const OptionValue& value, const std::string& path) {
            return parse_word<E>(path, words.read(value, path));
          },
          [words](const E& value) { return words.write(std::string(word_of(value))); },
          [words](const E& value, const std::string& path) {
            for (const Word<E>& known : words_of(E{})) {
              if (known.value == value) return;
            }
            refuse(std::to_string(static_cast<int>(value)), path, words.allowed);
          }};
}

template <class T>
OptionType<std::optional<T>> optional(OptionType<T> inner) {
  return {
      inner.allowed,
      [inner](const OptionValue& value, const std::string& path) {
        return std::optional<T>(inner.read(value, path));
      },
      [inner](const std::optional<T>& held) { return held ? inner.write(*held) : std::string(); },
      [inner](const std::optional<T>& held, const std::string& path) {
        if (held) inner.check(*held, path);
      }};
}

template <class T>
std::string write_list(const std::vector<T>& items, const OptionType<T>& inner) {
  std::string out;
  for (const T& item : items) out += (out.empty() ? "" : ", ") + inner.write(item);
  return "[" + out + "]";
}

/// A list of `shortest` to `longest` entries; an empty member is left out when written.
template <class T>
OptionType<std::vector<T>> list(OptionType<T> inner, std::string allowed, std::size_t shortest,
                                std::size_t longest) {
  const auto fits = [=](std::size_t count) { return count >= shortest && count <= longest; };
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            const auto* array = value.get<OptionValue::Array>();
            if (array == nullptr || !fits(array->size())) refuse(value, path, allowed);
            std::vector<T> out;
            for (std::size_t i = 0; i < array->size(); ++i) {
              out.push_back(inner.read((*array)[i], element(path, i)));
            }
            return out;
          },
          [=](const std::vector<T>& items) {
            return items.empty() ? std::string() : write_list(items, inner);
          },
          [=](const std::vector<T>& items, const std::string& path) {
            if (!items.empty() && !fits(items.size())) {
              refuse(std::to_string(items.size()) + " entries", path, allowed);
            }
            for (std::size_t i = 0; i < items.size(); ++i) inner.check(items[i], element(path, i));
          }};
}

/// A single value, or a list of them; a list of one is written as the value.
template <class T>
OptionType<std::vector<T>> one_or_list(OptionType<T> inner, std::string allowed,
                                       std::size_t longest) {
  const OptionType<std::vector<T>> many = list(inner, allowed, 1, longest);
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            if (value.get<OptionValue::Array>() != nullptr) return many.read(value, path);
            if (value.get<OptionValue::Table>() != nullptr) refuse(value, path, allowed);
            return std::vector<T>{inner.read(value, path)};
          },
          [=](const std::vector<T>& items) {
            return items.size() == 1 ? inner.write(items.front()) : many.write(items);
          },
          [=](const std::vector<T>& items, const std::string& path) {
            if (items.size() == 1) return inner.check(items.front(), path);
            many.check(items, path);
          }};
}

/// Exactly N values.
template <class T, std::size_t N>
OptionType<std::array<T, N>> exactly(OptionType<T> inner, std::string allowed) {
  const OptionType<std::vector<T>> many = list(inner, allowed, N, N);
  const auto items = [](const std::array<T, N>& held) {
    return std::vector<T>(held.begin(), held.end());
  };
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            const std::vector<T> read = many.read(value, path);
            std::array<T, N> out{};
            for (std::size_t i = 0; i < N; ++i) out[i] = read[i];
            return out;
          },
          [=](const std::array<T, N>& held) { return many.write(items(held)); },
          [=](const std::array<T, N>& held, const std::string& path) {
            many.check(items(held), path);
          }};
}

// --- tables --------------------------------------------------------------------------------------

/// Error{kBadStudy} naming `section`.key, value and what is allowed, for the first member of
/// `owner` that is out of its range.
template <class Owner>
void check_options(const OptionTable<Owner>& table, const Owner& owner,
                   const std::string& section) {
  for (const Option<Owner>& o : table.options) {
    o.check(owner, section.empty() ? o.name : section + "." + o.name);
  }
}

template <class Owner>
std::vector<std::string> names_of(const OptionTable<Owner>& table) {
  std::vector<std::string> names;
  for (const Option<Owner>& o : table.options) names.push_back(o.name);
  return names;
}

/// The options of a part of `Owner` as options of `Owner`. `part` returns the part of an Owner, and
/// the const part of a const Owner.
template <class Owner, class Part, class Access>
OptionTable<Owner> options_of_part(Access part, const OptionTable<Part>& table) {
  const auto any_part = [part](void* owner) -> void* {
    Part& of_owner = part(*static_cast<Owner*>(owner));
    return &of_owner;
  };
  const auto const_part = [part](const void* owner) -> const void* {
    const Part& of_owner = part(*static_cast<const Owner*>(owner));
    return &of_owner;
  };
  OptionTable<Owner> out;
  for (const Option<Part>& o : table.options) {
    out.options.emplace_back(o.of_part(any_part, const_part));
  }
  return out;
}

/// The tables one after the other.
template <class Owner>
OptionTable<Owner> joined(std::vector<OptionTable<Owner>> tables) {
  OptionTable<Owner> out;
  for (OptionTable<Owner>& table : tables) {
    for (Option<Owner>& o : table.options) out.options.push_back(std::move(o));
  }
  return out;
}

/// Options that only those Owners have for which `belongs` is true; `belongs_to` says in words
/// which. The others keep the defaults and do not write these keys.
template <class Owner>
OptionTable<Owner> only_where(const std::function<bool(const Owner&)>& belongs,
                              const std::string& belongs_to, OptionTable<Owner> table) {
  const auto any_belongs = [belongs](const void* owner) {
    return belongs(*static_cast<const Owner*>(owner));
  };
  for (Option<Owner>& o : table.options) {
    const auto by_default = [unbound = o] { return unbound.write(Owner()); };
    o = Option<Owner>(o.only_where(any_belongs, belongs_to, by_default));
  }
  return table;
}

/// Reads the entries of a table into `owner`. An entry that no option names is an error.
template <class Owner>
void read_table(const OptionValue& value, const std::string& path, const OptionTable<Owner>& table,
                const std::string& allowed, Owner& owner) {
  const auto* entries = value.get<OptionValue::Table>();
  if (entries == nullptr) refuse(value, path, allowed);
  for (const OptionEntry& entry : *entries) {
    const Option<Owner>* found = nullptr;
    for (const Option<Owner>& o : table.options) {
      if (o.name == entry.key) found = &o;
    }
    if (found == nullptr) refuse_unknown_key(entry, path, names_of(table));
    found->read(entry.value, path + "." + entry.key, owner);
  }
  for (const Option<Owner>& o : table.options) {
    if (!o.required || find(*entries, o.name) != nullptr) continue;
    refuse(value, path, allowed + "; " + o.name + " is missing: " + o.allowed);
  }
}

/// A table within a value: "{a = 1, b = 2}". `table` must outlive the type.
template <class Owner>
OptionType<Owner> record(const OptionTable<Owner>& table, const std::string& allowed) {
  return {
      allowed,
      [&table, allowed](const OptionValue& value, const std::string& path) {
        Owner out;
        read_table(value, path, table, allowed, out);
        return out;
      },
      [&table](const Owner& owner) {
        std::string out;
        for (const Option<Owner>& o : table.options) {
          const std::string text = o.write(owner);
          if (!text.empty()) out += (out.empty() ? "" : ", ") + o.name + " = " + text;
        }
        return "{" + out + "}";
      },
      [&table](const Owner& owner, const std::string& path) { check_options(table, owner, path); }};
}

}  // namespace headway

#include "headway/core/option_member.hpp"
