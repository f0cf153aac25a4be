// How options of each type are read, written, described and checked.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"

using namespace headway;  // NOLINT: a test

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

OptionValue integer_value(std::int64_t x) { return {x, {}}; }
OptionValue real_value(double x) { return {x, {}}; }
OptionValue text_value(const std::string& x) { return {x, {}}; }
OptionValue list_of(std::vector<OptionValue> values) { return {std::move(values), {}}; }

/// The refusal of a value of the key "a.b", or "none".
template <class T>
std::string refusal(const OptionType<T>& type, const OptionValue& value) {
  try {
    type.read(value, "a.b");
  } catch (const OptionError& error) {
    CHECK(error.fields().front().starts_with("a.b"));
    const std::string words = error.what();
    REQUIRE(words.starts_with("study: a.b"));  // the place of a value that has none
    return words.substr(7);
  }
  return "none";
}

/// The refusal of a member.
template <class T>
std::string fault(const OptionType<T>& type, const T& member) {
  try {
    type.check(member, "a.b");
  } catch (const OptionError& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("integers are told their range, and taken at its ends") {
  const auto few = integer<int>(-2, 3);
  CHECK(few.allowed == "an integer from -2 to 3");
  for (const int x : {-2, 0, 3}) {
    CHECK(few.read(integer_value(x), "a.b") == x);
    CHECK(few.write(x) == std::to_string(x));
    CHECK(fault(few, x) == "none");
  }
  for (const int x : {-3, 4}) {
    const std::string words = "a.b = " + std::to_string(x) + ": must be an integer from -2 to 3";
    CHECK(refusal(few, integer_value(x)) == words);
    CHECK(fault(few, x) == words);
  }
  CHECK(few.read(real_value(3.0), "a.b") == 3);  // whole, however it is written
  CHECK(integer<std::int64_t>(1, 1'000'000'000).read(real_value(1e9), "a.b") == 1'000'000'000);
  CHECK(refusal(few, real_value(4.0)) == "a.b = 4.0: must be an integer from -2 to 3");
  CHECK(refusal(few, real_value(1.5)) == "a.b = 1.5: must be an integer from -2 to 3");
  CHECK(refusal(few, real_value(1e300)) == "a.b = 1e+300: must be an integer from -2 to 3");
  CHECK(refusal(few, real_value(std::nan(""))).ends_with(": must be an integer from -2 to 3"));
  CHECK(refusal(few, text_value("1")) == "a.b = \"1\": must be an integer from -2 to 3");
  CHECK(refusal(few, {true, {}}) == "a.b = true: must be an integer from -2 to 3");
  CHECK(integer<int>(5, 5).allowed == "5");
  CHECK(integer<int>(1, 1'000'000).allowed == "an integer from 1 to 1e6");
  CHECK(integer<std::int64_t>(1, 2'500'000'000).allowed == "an integer from 1 to 2.5e9");
  const auto seed = integer<std::uint64_t>(0, std::numeric_limits<std::int64_t>::max());
  CHECK(seed.allowed == "an integer >= 0");
  CHECK(seed.read(integer_value(std::numeric_limits<std::int64_t>::max()), "a.b") ==
        std::uint64_t{9223372036854775807U});
  CHECK(fault(seed, std::uint64_t{1} << 63U) ==
        "a.b = 9223372036854775808: must be an integer >= 0");
  CHECK(refusal(seed, integer_value(-1)) == "a.b = -1: must be an integer >= 0");
}

TEST_CASE("numbers are told their range, and whether its ends belong to it") {
  struct Range {
    Ends ends;
    bool low, high;
    std::string allowed, above, below;
  };
  const std::vector<Range> ranges = {{Ends::kClosed, true, true, "a number >= 0 and <= 2",
                                      "a finite number >= 0", "a finite number <= 2"},
                                     {Ends::kOpenBelow, false, true, "a number > 0 and <= 2",
                                      "a finite number > 0", "a finite number <= 2"},
                                     {Ends::kOpenAbove, true, false, "a number >= 0 and < 2",
                                      "a finite number >= 0", "a finite number < 2"},
                                     {Ends::kOpen, false, false, "a number > 0 and < 2",
                                      "a finite number > 0", "a finite number < 2"}};
  for (const Range& range : ranges) {
    CAPTURE(range.allowed);
    const auto type = real(0.0, 2.0, range.ends);
    CHECK(type.allowed == range.allowed);
    CHECK(real(0.0, kInfinity, range.ends).allowed == range.above);
    CHECK(real(-kInfinity, 2.0, range.ends).allowed == range.below);
    CHECK(real(-kInfinity, kInfinity, range.ends).allowed == "a finite number");
    const std::string must = ": must be " + range.allowed;
    const auto check = [&](double x, bool taken, const std::string& written) {
      CHECK(refusal(type, real_value(x)) == (taken ? "none" : "a.b = " + written + must));
      CHECK(fault(type, x) == (taken ? "none" : "a.b = " + written + must));
    };
    check(0.0, range.low, "0.0");
    check(2.0, range.high, "2.0");
    check(std::nextafter(0.0, -1.0), false, "-5e-324");
    check(std::nextafter(0.0, 1.0), true, "");
    check(std::nextafter(2.0, 1.0), true, "");
    check(2.5, false, "2.5");
    check(kInfinity, false, "inf");
    check(-kInfinity, false, "-inf");
    check(std::nan(""), false, "nan");
    CHECK(type.read(integer_value(1), "a.b") == 1.0);
    CHECK(refusal(type, integer_value(3)) == "a.b = 3" + must);
    CHECK(refusal(type, text_value("1")) == "a.b = \"1\"" + must);
  }
  CHECK(real(0.0, 1e6).allowed == "a number >= 0 and <= 1e6");
  CHECK(real(1e-300, 0.25).allowed == "a number >= 1e-300 and <= 0.25");
  CHECK(real(0.0, 1.0).write(0.5) == "0.5");
  CHECK(real(0.0, 1.0).write(1.0) == "1.0");
}

TEST_CASE("flags, texts and words are taken as they are, and nothing else for them") {
  CHECK(flag().allowed == "true or false");
  CHECK(flag().read({true, {}}, "a.b"));
  CHECK_FALSE(flag().read({false, {}}, "a.b"));
  CHECK(refusal(flag(), integer_value(1)) == "a.b = 1: must be true or false");
  CHECK(flag().write(true) == "true");
  CHECK(flag().write(false) == "false");

  for (const bool may_be_empty : {true, false}) {
    const auto line = text(4, may_be_empty);
    const std::string must =
        std::string(": must be one line of text, ") + (may_be_empty ? "0" : "1") + " to 4 bytes";
    CHECK(line.read(text_value("a\"bc"), "a.b") == "a\"bc");
    CHECK(line.write("a\"bc") == "\"a\\\"bc\"");
    CHECK(line.write("").empty());
    CHECK(fault(line, std::string()) == "none");
    CHECK(refusal(line, text_value("")) == (may_be_empty ? "none" : "a.b = \"\"" + must));
    CHECK(refusal(line, text_value("abcde")) == "a.b = \"abcde\"" + must);
    CHECK(fault(line, std::string("abcde")) == "a.b = \"abcde\"" + must);
    CHECK(refusal(line, text_value("a\nb")) == "a.b = \"a\\nb\"" + must);
    CHECK(fault(line, std::string("\xff")) == "a.b = \"?\"" + must);
    CHECK(refusal(line, integer_value(1)) == "a.b = 1" + must);
  }

  const auto colour = word({"red", "green"});
  CHECK(colour.allowed == "one of \"red\", \"green\"");
  CHECK(word({"red"}).allowed == "\"red\"");
  CHECK(colour.read(text_value("green"), "a.b") == "green");
  CHECK(colour.write("green") == "\"green\"");
  const std::string must = ": must be one of \"red\", \"green\"";
  const std::string near = " (did you mean \"green\"?)";
  CHECK(refusal(colour, text_value("gren")) == "a.b = \"gren\"" + must + near);
  CHECK(fault(colour, std::string("gren")) == "a.b = \"gren\"" + must + near);
  CHECK(refusal(colour, text_value("pink_and")) == "a.b = \"pink_and\"" + must);
  CHECK(refusal(colour, integer_value(1)) == "a.b = 1" + must);
  CHECK(fault(colour, std::string()) == "a.b = \"\"" + must);
  const auto maybe = optional_word({"red", "green"});
  CHECK(maybe.write("").empty());
  CHECK(maybe.write("red") == "\"red\"");
  CHECK(fault(maybe, std::string()) == "none");
  CHECK(fault(maybe, std::string("gren")) == "a.b = \"gren\"" + must + near);
  CHECK(refusal(maybe, text_value("")) == "a.b = \"\"" + must);
}

TEST_CASE("lists have so many entries, each named by its place") {
  using Integers = std::vector<int>;
  const auto some = list(integer<int>(1, 9), "2 or 3 integers", 2, 3);
  CHECK(some.read(list_of({integer_value(1), integer_value(9)}), "a.b") == Integers{1, 9});
  CHECK(some.write({4, 5, 6}) == "[4, 5, 6]");
  CHECK(some.write({}).empty());
  CHECK(fault(some, Integers{}) == "none");  // it was not given
  CHECK(fault(some, Integers{1, 2, 3}) == "none");
  CHECK(fault(some, Integers{1}) == "a.b = 1 entries: must be 2 or 3 integers");
  CHECK(fault(some, Integers{1, 2, 3, 4}) == "a.b = 4 entries: must be 2 or 3 integers");
  CHECK(fault(some, Integers{1, 0}) == "a.b[2] = 0: must be an integer from 1 to 9");
  CHECK(refusal(some, list_of({})) == "a.b = []: must be 2 or 3 integers");
  CHECK(refusal(some, list_of({integer_value(1)})) == "a.b = [1]: must be 2 or 3 integers");
  CHECK(refusal(some, list_of({integer_value(10), integer_value(1)})) ==
        "a.b[1] = 10: must be an integer from 1 to 9");
  CHECK(refusal(some, integer_value(1)) == "a.b = 1: must be 2 or 3 integers");

  const auto one = one_or_list(integer<int>(1, 9), "an integer or a list of at most 3", 3);
  CHECK(one.read(integer_value(4), "a.b") == Integers{4});
  CHECK(one.read(list_of({integer_value(4)}), "a.b") == Integers{4});
  CHECK(one.read(list_of({integer_value(4), integer_value(5)}), "a.b") == Integers{4, 5});
  CHECK(one.write({4}) == "4");
  CHECK(one.write({4, 5}) == "[4, 5]");
  CHECK(one.write({}).empty());
  CHECK(fault(one, Integers{0}) == "a.b = 0: must be an integer from 1 to 9");
  CHECK(fault(one, Integers{1, 0}) == "a.b[2] = 0: must be an integer from 1 to 9");
  CHECK(fault(one, Integers{1, 2, 3, 4}) ==
        "a.b = 4 entries: must be an integer or a list of at most 3");
  CHECK(refusal(one, integer_value(0)) == "a.b = 0: must be an integer from 1 to 9");
  CHECK(refusal(one, list_of({})) == "a.b = []: must be an integer or a list of at most 3");
  CHECK(refusal(one, {OptionValue::Table{}, {}}) ==
        "a.b = {}: must be an integer or a list of at most 3");

  const auto pair = exactly<double, 2>(real(0.0, 1.0), "two numbers");
  CHECK(pair.read(list_of({real_value(0.25), integer_value(1)}), "a.b") ==
        std::array<double, 2>{0.25, 1.0});
  CHECK(pair.write({0.25, 1.0}) == "[0.25, 1.0]");
  CHECK(refusal(pair, list_of({real_value(0.25)})) == "a.b = [0.25]: must be two numbers");
  CHECK(fault(pair, std::array<double, 2>{0.0, 1.5}) ==
        "a.b[2] = 1.5: must be a number >= 0 and <= 1");

  const auto perhaps = optional(integer<int>(1, 9));
  CHECK(perhaps.allowed == "an integer from 1 to 9");
  CHECK(perhaps.read(integer_value(3), "a.b") == 3);
  CHECK(perhaps.write(std::nullopt).empty());
  CHECK(perhaps.write(3) == "3");
  CHECK(fault(perhaps, std::optional<int>()) == "none");
  CHECK(fault(perhaps, std::optional<int>(0)) == "a.b = 0: must be an integer from 1 to 9");
}

namespace {

struct Brush {
  int width = 1;
  std::string name;
  static const OptionTable<Brush>& table() {
    static const OptionTable<Brush> table = {
        {required(option("width", &Brush::width, integer<int>(1, 9), "in mm")),
         option("name", &Brush::name, text(20, true), "for tables")}};
    return table;
  }
};

}  // namespace

TEST_CASE("records have the keys of their table, all that are required, and no others") {
  const auto type = record(Brush::table(), "a brush");
  const auto table_of = [](std::vector<OptionEntry> entries) {
    return OptionValue{std::move(entries), {}};
  };
  const Brush read =
      type.read(table_of({{"name", text_value("flat")}, {"width", integer_value(4)}}), "a.b");
  CHECK(read.width == 4);
  CHECK(read.name == "flat");
  CHECK(type.write(read) == "{width = 4, name = \"flat\"}");
  CHECK(type.write(Brush{}) == "{width = 1}");
  CHECK(refusal(type, integer_value(4)) == "a.b = 4: must be a brush");
  CHECK(refusal(type, table_of({{"name", text_value("flat")}})) ==
        "a.b = {name = \"flat\"}: must be a brush; width is missing: an integer from 1 to 9");
  CHECK(refusal(type, table_of({{"width", integer_value(0)}})) ==
        "a.b.width = 0: must be an integer from 1 to 9");
  CHECK(refusal(type, table_of({{"width", integer_value(1)}, {"widht", integer_value(1)}})) ==
        "a.b.widht: unknown key, did you mean \"width\"?; a.b has: width, name");
  CHECK(refusal(type, table_of({{"width", integer_value(1)}, {"colour", integer_value(1)}})) ==
        "a.b.colour: unknown key; a.b has: width, name");
  Brush broad;
  broad.width = 10;
  CHECK(fault(type, broad) == "a.b.width = 10: must be an integer from 1 to 9");
  CHECK(names_of(Brush::table()) == std::vector<std::string>{"width", "name"});
  OptionEntry long_key{std::string(70, 'k'), integer_value(1)};
  CHECK_THROWS_WITH(refuse_unknown_key(long_key, "", {"a"}),
                    "study: " + std::string(60, 'k') + "...: unknown key; a study has: a");
}
