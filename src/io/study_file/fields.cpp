#include "io/study_file/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headway/core/error.hpp"
#include "headway/core/nearest_word.hpp"
#include "io/study_file/text.hpp"

namespace headway::io::detail {

namespace {

/// "1000000000" reads badly in a message: large numbers are written 1e9, as the README does.
std::string bound_text(double value) {
  std::string text = fmt::format("{:g}", value);
  const std::size_t exponent = text.find("e+0");
  if (exponent == std::string::npos) return text;
  return text.substr(0, exponent + 1) + text.substr(exponent + 3);
}

std::string real_range(double low, double high, Bound lower) {
  const bool from_below = std::isinf(low);
  if (from_below && std::isinf(high)) return "a finite number";
  const char* comparison = lower == Bound::kOpen ? ">" : ">=";
  if (from_below) return fmt::format("a finite number <= {}", bound_text(high));
  if (std::isinf(high)) return fmt::format("a finite number {} {}", comparison, bound_text(low));
  return fmt::format("a number {} {} and <= {}", comparison, bound_text(low), bound_text(high));
}

}  // namespace

void refuse(const Value& value, const std::string& path, const std::string& allowed) {
  throw Error(ErrorKind::kBadStudy,
              fmt::format("{}: {} = {}: must be {}", value.place.text(), printable(path),
                          printable(describe(value)), allowed));
}

void refuse_unknown_key(const Entry& entry, const std::string& where,
                        const std::vector<std::string>& known) {
  const std::string name = printable(clip(entry.key, 60));
  const std::string guess = nearest_word(entry.key, known);
  const std::string full = where.empty() ? name : where + "." + name;
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("{}: {}: unknown key{}; {}: {}", entry.value.place.text(), full,
                  guess.empty() ? "" : fmt::format(", did you mean \"{}\"?", guess),
                  where.empty() ? "a study has" : fmt::format("{} has", where), join(known)));
}

std::string element(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index + 1);
}

template <class T>
Codec<T> integer(std::int64_t low, std::int64_t high) {
  const bool unbounded = high == std::numeric_limits<std::int64_t>::max();
  const std::string allowed = unbounded ? fmt::format("an integer >= {}", low)
                                        : fmt::format("an integer from {} to {}", low,
                                                      bound_text(static_cast<double>(high)));
  return {allowed,
          [=](const Value& value, const std::string& path) {
            const std::int64_t* number = value.get<std::int64_t>();
            if (number == nullptr || *number < low || *number > high) refuse(value, path, allowed);
            return static_cast<T>(*number);
          },
          [](const T& number) { return std::to_string(number); }};
}

template Codec<int> integer<int>(std::int64_t, std::int64_t);
template Codec<std::int64_t> integer<std::int64_t>(std::int64_t, std::int64_t);
template Codec<std::uint64_t> integer<std::uint64_t>(std::int64_t, std::int64_t);

Codec<double> real(double low, double high, Bound lower) {
  const std::string allowed = real_range(low, high, lower);
  return {allowed,
          [=](const Value& value, const std::string& path) {
            double number = std::numeric_limits<double>::quiet_NaN();
            if (const double* as_real = value.get<double>()) number = *as_real;
            if (const std::int64_t* as_integer = value.get<std::int64_t>()) {
              number = static_cast<double>(*as_integer);
            }
            const bool above = lower == Bound::kOpen ? number > low : number >= low;
            if (!std::isfinite(number) || !above || number > high) refuse(value, path, allowed);
            return number;
          },
          [](const double& number) { return toml_number(number); }};
}

Codec<bool> flag() {
  const std::string allowed = "true or false";
  return {allowed,
          [=](const Value& value, const std::string& path) {
            const bool* held = value.get<bool>();
            if (held == nullptr) refuse(value, path, allowed);
            return *held;
          },
          [](const bool& held) { return std::string(held ? "true" : "false"); }};
}

Codec<std::string> text(std::size_t longest, bool may_be_empty) {
  const std::string allowed =
      fmt::format("one line of text, {} to {} bytes", may_be_empty ? 0 : 1, longest);
  return {allowed,
          [=](const Value& value, const std::string& path) {
            const std::string* held = value.get<std::string>();
            const bool fits = held != nullptr && held->size() <= longest &&
                              (may_be_empty || !held->empty()) && printable(*held) == *held;
            if (!fits) refuse(value, path, allowed);
            return *held;
          },
          [](const std::string& held) { return held.empty() ? std::string() : toml_string(held); }};
}

Codec<std::string> word(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& w : words) quoted.push_back(toml_string(w));
  const std::string allowed = (quoted.size() > 1 ? "one of " : "") + join(quoted);
  return {allowed,
          [=](const Value& value, const std::string& path) {
            const std::string* held = value.get<std::string>();
            if (held == nullptr) refuse(value, path, allowed);
            if (std::find(words.begin(), words.end(), *held) == words.end()) {
              const std::string guess = nearest_word(*held, words);
              refuse(value, path,
                     guess.empty() ? allowed
                                   : fmt::format("{} (did you mean \"{}\"?)", allowed, guess));
            }
            return *held;
          },
          [](const std::string& held) { return toml_string(held); }};
}

}  // namespace headway::io::detail
