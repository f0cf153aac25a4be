#include "headway/core/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/whole_number.hpp"
#include "headway/core/nearest_word.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"

namespace headway {
namespace {

constexpr std::size_t kLongestShown = 60;

/// "1000000000" reads badly in a message: large round numbers are written 1e9, as the README does.
std::string bound_text(double value) {
  std::string text = fmt::format("{:g}", value);
  const std::size_t exponent = text.find("e+0");
  if (exponent == std::string::npos) return text;
  return text.substr(0, exponent + 1) + text.substr(exponent + 3);
}

std::string real_range(double low, double high, Ends ends) {
  const char* above = ends == Ends::kOpenBelow || ends == Ends::kOpen ? ">" : ">=";
  const char* below = ends == Ends::kOpenAbove || ends == Ends::kOpen ? "<" : "<=";
  if (std::isinf(low) && std::isinf(high)) return "a finite number";
  if (std::isinf(low)) return fmt::format("a finite number {} {}", below, bound_text(high));
  if (std::isinf(high)) return fmt::format("a finite number {} {}", above, bound_text(low));
  return fmt::format("a number {} {} and {} {}", above, bound_text(low), below, bound_text(high));
}

bool in_range(double number, double low, double high, Ends ends) {
  if (!std::isfinite(number)) return false;
  const bool open_below = ends == Ends::kOpenBelow || ends == Ends::kOpen;
  const bool open_above = ends == Ends::kOpenAbove || ends == Ends::kOpen;
  return (open_below ? number > low : number >= low) &&
         (open_above ? number < high : number <= high);
}

}  // namespace

void refuse(const OptionValue& value, const std::string& path, const std::string& allowed) {
  throw OptionError(
      fmt::format("{} = {}: must be {}", printable(path), printable(describe(value)), allowed),
      {path})
      .at(value.place.text());
}

void refuse(const std::string& value, const std::string& path, const std::string& allowed) {
  throw OptionError(
      fmt::format("{} = {}: must be {}", path, printable(clip(value, kLongestShown)), allowed),
      {path});
}

void refuse_unknown_key(const OptionEntry& entry, const std::string& where,
                        const std::vector<std::string>& known) {
  const std::string name = printable(clip(entry.key, kLongestShown));
  const std::string guess = nearest_word(entry.key, known);
  const std::string full = where.empty() ? name : where + "." + name;
  throw OptionError(fmt::format("{}: unknown key{}; {}: {}", full,
                                guess.empty() ? "" : fmt::format(", did you mean \"{}\"?", guess),
                                where.empty() ? "a study has" : where + " has", join(known)),
                    {full})
      .at(entry.value.place.text());
}

std::string element(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index + 1);
}

AnyOption::AnyOption() = default;
AnyOption::AnyOption(const AnyOption&) = default;
AnyOption::AnyOption(AnyOption&&) noexcept = default;
AnyOption& AnyOption::operator=(const AnyOption&) = default;
AnyOption& AnyOption::operator=(AnyOption&&) noexcept = default;
AnyOption::~AnyOption() = default;

AnyOption AnyOption::of_part(const std::function<void*(void*)>& part,
                             const std::function<const void*(const void*)>& const_part) const {
  AnyOption out = *this;
  out.read_ = [part, read = read_](const OptionValue& value, const std::string& path, void* owner) {
    read(value, path, part(owner));
  };
  out.write_ = [const_part, write = write_](const void* owner) { return write(const_part(owner)); };
  out.check_ = [const_part, check = check_](const void* owner, const std::string& path) {
    check(const_part(owner), path);
  };
  if (belongs_) {
    out.belongs_ = [const_part, belongs = belongs_](const void* owner) {
      return belongs(const_part(owner));
    };
  }
  return out;
}

AnyOption AnyOption::only_where(const std::function<bool(const void*)>& belongs,
                                const std::string& owners,
                                const std::function<std::string()>& by_default) const {
  AnyOption out = *this;
  out.belongs_ = belongs;
  out.belongs_to = owners;
  // A sweep may make an owner of the other kind: what was set is written all the same.
  out.write_ = [belongs, by_default, write = write_](const void* owner) {
    std::string value = write(owner);
    return belongs(owner) || value != by_default() ? value : std::string();
  };
  out.check_ = [belongs, owners, write = out.write_, check = check_](const void* owner,
                                                                     const std::string& path) {
    if (belongs(owner)) return check(owner, path);
    const std::string value = write(owner);
    if (!value.empty()) refuse(value, path, "absent: it belongs to " + owners);
  };
  return out;
}

template <class T>
OptionType<T> integer(std::int64_t low, std::int64_t high) {
  const bool unbounded = high == std::numeric_limits<std::int64_t>::max();
  const std::string allowed = low == high ? std::to_string(low)
                              : unbounded ? fmt::format("an integer >= {}", low)
                                          : fmt::format("an integer from {} to {}", low,
                                                        bound_text(static_cast<double>(high)));
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            const std::optional<std::int64_t> number = whole_number(value);
            if (!number || *number < low || *number > high) refuse(value, path, allowed);
            return static_cast<T>(*number);
          },
          [](const T& number) { return std::to_string(number); },
          [=](const T& number, const std::string& path) {
            if (std::cmp_less(number, low) || std::cmp_greater(number, high)) {
              refuse(std::to_string(number), path, allowed);
            }
          }};
}

template OptionType<int> integer<int>(std::int64_t, std::int64_t);
template OptionType<std::int64_t> integer<std::int64_t>(std::int64_t, std::int64_t);
template OptionType<std::uint64_t> integer<std::uint64_t>(std::int64_t, std::int64_t);
#if PTRDIFF_MAX < INT64_MAX  // Index is neither of them, as in WebAssembly
template OptionType<std::ptrdiff_t> integer<std::ptrdiff_t>(std::int64_t, std::int64_t);
#endif

OptionType<double> real(double low, double high, Ends ends) {
  const std::string allowed = real_range(low, high, ends);
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            double number = std::numeric_limits<double>::quiet_NaN();
            if (const double* as_real = value.get<double>()) number = *as_real;
            if (const auto* as_integer = value.get<std::int64_t>()) {
              number = static_cast<double>(*as_integer);
            }
            if (!in_range(number, low, high, ends)) refuse(value, path, allowed);
            return number;
          },
          [](const double& number) { return number_text(number); },
          [=](const double& number, const std::string& path) {
            if (!in_range(number, low, high, ends)) refuse(number_text(number), path, allowed);
          }};
}

OptionType<bool> flag() {
  const std::string allowed = "true or false";
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            const bool* held = value.get<bool>();
            if (held == nullptr) refuse(value, path, allowed);
            return *held;
          },
          [](const bool& held) { return std::string(held ? "true" : "false"); },
          [](const bool&, const std::string&) {}};
}

OptionType<std::string> text(std::size_t longest, bool may_be_empty) {
  const std::string allowed =
      fmt::format("one line of text, {} to {} bytes", may_be_empty ? 0 : 1, longest);
  const auto fits = [longest](const std::string& held) {
    return held.size() <= longest && printable(held) == held;
  };
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            const auto* held = value.get<std::string>();
            if (held == nullptr || !fits(*held) || (held->empty() && !may_be_empty)) {
              refuse(value, path, allowed);
            }
            return *held;
          },
          [](const std::string& held) { return held.empty() ? std::string() : quoted_text(held); },
          [=](const std::string& held, const std::string& path) {
            if (!fits(held)) refuse(quoted_text(held), path, allowed);
          }};
}

OptionType<std::string> word(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& w : words) quoted.push_back(quoted_text(w));
  const std::string allowed = (quoted.size() > 1 ? "one of " : "") + join(quoted);
  const auto known = [words](const std::string& held) {
    return std::find(words.begin(), words.end(), held) != words.end();
  };
  const auto allowed_near = [words, allowed](const std::string& held) {
    const std::string guess = nearest_word(held, words);
    return guess.empty() ? allowed : fmt::format("{} (did you mean \"{}\"?)", allowed, guess);
  };
  return {allowed,
          [=](const OptionValue& value, const std::string& path) {
            const auto* held = value.get<std::string>();
            if (held == nullptr) refuse(value, path, allowed);
            if (!known(*held)) refuse(value, path, allowed_near(*held));
            return *held;
          },
          [](const std::string& held) { return quoted_text(held); },
          [=](const std::string& held, const std::string& path) {
            if (!known(held)) refuse(quoted_text(held), path, allowed_near(held));
          }};
}

OptionType<std::string> optional_word(const std::vector<std::string>& words) {
  OptionType<std::string> type = word(words);
  type.write = [write = type.write](const std::string& held) {
    return held.empty() ? std::string() : write(held);
  };
  type.check = [check = type.check](const std::string& held, const std::string& path) {
    if (!held.empty()) check(held, path);
  };
  return type;
}

}  // namespace headway
