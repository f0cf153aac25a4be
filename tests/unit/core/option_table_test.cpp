#include "headway/core/option_table.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"

using namespace headway;  // NOLINT: a test

namespace {

enum class Colour { kRed, kGreen };
Words<Colour> words_of(Colour) {
  static constexpr Word<Colour> kWords[] = {{"red", Colour::kRed}, {"green", Colour::kGreen}};
  return kWords;
}

struct Paint {
  int coats = 2;
  double share = 0.5;
  Colour colour = Colour::kRed;
  std::vector<int> layers;
  double gloss = 1.0;  // of red paint alone

  static const OptionTable<Paint>& table() {
    static const OptionTable<Paint> table = joined<Paint>(
        {{{option("coats", &Paint::coats, integer<int>(1, 1'000'000), "how often"),
           option("share", &Paint::share, real(0.0, 1.0, Ends::kOpenAbove), "of the pot"),
           option("colour", &Paint::colour, choice<Colour>(), "which"),
           option("layers", &Paint::layers, list(integer<int>(1, 9), "1 to 3 integers", 1, 3),
                  "each")}},
         only_where<Paint>([](const Paint& p) { return p.colour == Colour::kRed; },
                           "paint.colour = \"red\"",
                           {{option("gloss", &Paint::gloss, real(0.0, 2.0), "shine")}})});
    return table;
  }
};

OptionValue table_of(std::vector<OptionEntry> entries) { return {std::move(entries), {}}; }

template <class Action>
OptionError error_of(const Action& action) {
  try {
    action();
  } catch (const OptionError& error) {
    return error;
  }
  FAIL("accepted");
  return OptionError("", {});
}

OptionError fault(const Paint& paint) {
  return error_of([&] { check_options(Paint::table(), paint, "paint"); });
}

}  // namespace

TEST_CASE("members out of their range are refused with key, value and what is allowed") {
  CHECK_NOTHROW(check_options(Paint::table(), Paint{}, "paint"));
  Paint paint;
  paint.coats = 0;
  CHECK(std::string(fault(paint).what()) == "paint.coats = 0: must be an integer from 1 to 1e6");
  CHECK(fault(paint).fields() == std::vector<std::string>{"paint.coats"});
  CHECK(fault(paint).kind() == ErrorKind::kBadStudy);
  CHECK_FALSE(fault(paint).has_place());
  paint = {};
  for (const double share : {1.0, -0.1, std::nan(""), HUGE_VAL}) {
    paint.share = share;
    CHECK(std::string(fault(paint).what()).ends_with("must be a number >= 0 and < 1"));
  }
  paint = {};
  paint.colour = static_cast<Colour>(7);
  CHECK(std::string(fault(paint).what()) == "paint.colour = 7: must be one of \"red\", \"green\"");
  paint = {};
  paint.layers = {1, 10};
  CHECK(fault(paint).fields() == std::vector<std::string>{"paint.layers[2]"});
  paint.layers = {1, 2, 3, 4};
  CHECK(std::string(fault(paint).what()) == "paint.layers = 4 entries: must be 1 to 3 integers");
}

TEST_CASE("an option that only some owners have is not written by the others at its default") {
  const Option<Paint>& gloss = Paint::table().options.back();
  Paint paint;
  CHECK(gloss.write(paint) == "1.0");
  paint.colour = Colour::kGreen;
  CHECK(gloss.write(paint).empty());
  CHECK_NOTHROW(check_options(Paint::table(), paint, "paint"));
  paint.gloss = 0.5;
  CHECK(std::string(fault(paint).what()) ==
        "paint.gloss = 0.5: must be absent: it belongs to paint.colour = \"red\"");
}

TEST_CASE("tables are read with the place of what is wrong") {
  const Place place{std::make_shared<const std::string>("p.toml"), 3};
  const auto fault_of = [&](const std::string& key, OptionValue value) {
    value.place = place;
    return error_of([&] {
      Paint paint;
      read_table(table_of({{key, value}}), "paint", Paint::table(), "a table", paint);
    });
  };
  const OptionError share = fault_of("share", {std::int64_t{1}, {}});
  CHECK(std::string(share.what()) == "p.toml:3: paint.share = 1: must be a number >= 0 and < 1");
  CHECK(share.has_place());
  CHECK(share.fields() == std::vector<std::string>{"paint.share"});
  CHECK(std::string(fault_of("colour", {std::string("gren"), {}}).what())
            .ends_with("(did you mean \"green\"?)"));
  CHECK(std::string(fault_of("shre", {0.5, {}}).what())
            .starts_with("p.toml:3: paint.shre: unknown key, did you mean \"share\"?"));
  Paint paint;
  read_table(table_of({{"layers", {OptionValue::Array{{std::int64_t{4}, {}}}, {}}},
                       {"colour", {std::string("green"), {}}}}),
             "paint", Paint::table(), "a table", paint);
  CHECK(paint.layers == std::vector<int>{4});
  CHECK(paint.colour == Colour::kGreen);
}

TEST_CASE("values are found, compared and written") {
  const OptionValue inner = table_of({{"a", {1.5, {}}}});
  const OptionValue root = table_of({{"s", table_of({{"list", {OptionValue::Array{inner}, {}}}})}});
  REQUIRE(value_at(root, "s.list[1].a") != nullptr);
  CHECK(*value_at(root, "s.list[1].a")->get<double>() == 1.5);
  CHECK(value_at(root, "s.list[2].a") == nullptr);
  CHECK(value_at(root, "s.list[0]") == nullptr);
  CHECK(value_at(root, "s.none") == nullptr);
  CHECK(text_of(root) == "{s = {list = [{a = 1.5}]}}");
  CHECK(same_value({std::int64_t{1}, {}}, {1.0, {}}));
  CHECK_FALSE(same_value({std::int64_t{1}, {}}, {std::string("1"), {}}));
}

TEST_CASE("values are the same whatever the order of their tables, but not of their lists") {
  using Array = OptionValue::Array;
  const auto number = [](double x) { return OptionValue{x, {}}; };
  const auto whole = [](std::int64_t x) { return OptionValue{x, {}}; };
  const OptionValue one = table_of({{"a", whole(1)}, {"b", {Array{number(2.0), whole(3)}, {}}}});
  const OptionValue turned =
      table_of({{"b", {Array{whole(2), number(3.0)}, {}}}, {"a", number(1.0)}});
  CHECK(same_value(one, turned));
  CHECK(same_value(turned, one));
  CHECK_FALSE(same_value(one, table_of({{"a", whole(1)}})));
  CHECK_FALSE(same_value(table_of({{"a", whole(1)}}), one));
  CHECK_FALSE(same_value(one, table_of({{"a", whole(1)}, {"c", whole(2)}})));
  CHECK_FALSE(same_value({Array{whole(1), whole(2)}, {}}, {Array{whole(2), whole(1)}, {}}));
  CHECK_FALSE(same_value({Array{whole(1)}, {}}, {Array{whole(1), whole(1)}, {}}));
  CHECK_FALSE(same_value(whole(1), number(1.5)));
  CHECK_FALSE(same_value({true, {}}, whole(1)));
  CHECK(same_value({true, {}}, {true, {}}));
  CHECK_FALSE(same_value({true, {}}, {false, {}}));
  CHECK_FALSE(same_value({std::string("a"), {}}, {std::string("b"), {}}));
  const OptionValue date{OptionValue::DateTime{"1979-05-27"}, {}};
  CHECK(same_value(date, {OptionValue::DateTime{"1979-05-27"}, {}}));
  CHECK_FALSE(same_value(date, {OptionValue::DateTime{"1979-05-28"}, {}}));
  CHECK_FALSE(same_value(date, {std::string("1979-05-27"), {}}));
  CHECK(text_of(date) == "1979-05-27");
}

TEST_CASE("a child that is not there is made, with its place, and a value on the way gives way") {
  const Place place{std::make_shared<const std::string>("--set a.b=1"), 0}, line{place.source, 7};
  CHECK(place.text() == "--set a.b=1");
  CHECK(line.text() == "--set a.b=1:7");
  CHECK(Place{}.text() == "study");
  OptionValue root{std::int64_t{5}, {}};
  child(child(root, "a", place), "b", line) = {std::int64_t{1}, line};
  CHECK(text_of(root) == "{a = {b = 1}}");
  CHECK(root.place.text() == place.text());
  CHECK(value_at(root, "a")->place.line == 0);
  CHECK(value_at(root, "a.b")->place.line == 7);
  child(root, "a", line).place.line = 9;
  CHECK(value_at(root, "a")->place.line == 9);
  CHECK(text_of(root) == "{a = {b = 1}}");  // nothing was added
  CHECK(text_of(child(root, "c", line)) == "{}");
  CHECK(value_at(root, "c")->place.line == 7);
  CHECK(value_at(root, "a.b.c") == nullptr);
  CHECK(value_at(root, "") == nullptr);
}

TEST_CASE("long values are described by their begin") {
  OptionValue::Array many;
  for (std::int64_t i = 0; i < 100; ++i) many.push_back({i, {}});
  const std::string all = text_of({many, {}});
  CHECK(all.starts_with("[0, 1, 2, "));
  CHECK(all.ends_with("98, 99]"));
  CHECK(describe({many, {}}) == all.substr(0, 60) + "...");
  CHECK(describe({std::string(58, 'x'), {}}) == '"' + std::string(58, 'x') + '"');
  CHECK(describe({std::string(59, 'x'), {}}) == '"' + std::string(59, 'x') + "...");
  OptionValue::Table wide;
  for (int i = 0; i < 30; ++i) wide.push_back({"key", {std::int64_t{i}, {}}});
  CHECK(describe({wide, {}}) == text_of({wide, {}}).substr(0, 60) + "...");
}
