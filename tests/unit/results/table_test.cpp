#include "headway/results/table.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "catch.hpp"

using namespace headway;

TEST_CASE("a value has the decimals of its error") {
  CHECK(measured_text(12.998, 0.044) == "13.00 +- 0.04");
  CHECK(measured_text(0.80421, 0.0323) == "0.804 +- 0.032");
  CHECK(measured_text(0.80421, 0.0354) == "0.804 +- 0.035");
  CHECK(measured_text(0.80421, 0.0356) == "0.80 +- 0.04");
  CHECK(measured_text(0.80421, 0.096) == "0.80 +- 0.10");
  CHECK(measured_text(-140.7444, 1.3) == "-140.7 +- 1.3");
  CHECK(measured_text(1234.5, 67.0) == "1234 +- 67");
  CHECK(measured_text(0.0123, 0.0004, "{:+.4f}") == "+0.0123 +- 0.0004");
  CHECK(measured_text(2.04e-6, 3.7e-8) == "(2.04 +- 0.04)e-06");
}

TEST_CASE("a value without an error, or with none, is shown as it is") {
  const double undefined = std::numeric_limits<double>::quiet_NaN();
  CHECK(measured_text(0.5, undefined) == "0.5000");
  CHECK(measured_text(0.5, 0.0) == "0.5000 +- 0");
  CHECK(measured_text(1.0 - 7e-16, 1.8e-16) == "1.0000 +- 0");
  CHECK(measured_text(2.0, 3e-12) == "(2.0000000000000 +- 0.0000000000030)e+00");
  CHECK(deviation_text(1.0 - 7e-16, 1.8e-16) == "1 +- 0");
  CHECK(measured_text(undefined, 0.1) == "-");
  CHECK(measured_text(-3.25, undefined, "{:.3f}") == "-3.250");
}

TEST_CASE("a deviation has two digits") {
  CHECK(deviation_text(14.76, 8.83) == "14.8 +- 8.8");
  CHECK(deviation_text(0.618, 0.2812) == "0.62 +- 0.28");
  CHECK(deviation_text(0.5, std::numeric_limits<double>::infinity()) == "0.5");
}

TEST_CASE("columns are as wide as their characters, whatever bytes these take") {
  Table table({"name<", "value"});
  table.add({"K\xC3\xB6pf \xC3\xA9", "1"});
  table.add({"plain", "22"});
  CHECK(table.text() == "name    value\nK\xC3\xB6pf \xC3\xA9      1\nplain      22\n");
}

TEST_CASE("no number but zero looks like zero") {
  CHECK(small_cell(0.0412) == "0.0412");
  CHECK(small_cell(0.0010) == "0.0010");
  CHECK(small_cell(0.00042) == "0.00042");
  CHECK(small_cell(2e-6) == "2e-06");
  CHECK(small_cell(2e-6, "{:+.4f}") == "+2e-06");
  CHECK(small_cell(-2e-6, "{:+.4f}") == "-2e-06");
  CHECK(small_cell(0.0) == "0.0000");
  CHECK(small_cell(7.0, "{:.3g}") == "7");
}

TEST_CASE("lines break between words and keep their column") {
  CHECK(indented("one two three", 4, 11) == "one two\n    three");
  CHECK(indented("one two three", 4, 0) == "one two three");
  CHECK(indented("averylongword x", 2, 6) == "averylongword\n  x");
  CHECK(values_line("name", 6, "0.1") == "  name  0.1\n");
}
