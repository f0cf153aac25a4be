#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_value.hpp"
#include "headway/core/text.hpp"
#include "headway/core/utf8.hpp"

using namespace headway;

TEST_CASE("quoted text escapes quotes, backslashes and every control character") {
  CHECK(quoted_text("a\"b\\c\n\t\r") == R"("a\"b\\c\n\t\r")");
  CHECK(quoted_text("\x1f \x7f") == R"("\u001F \u007F")");
}

TEST_CASE("a flag is described as true or false") {
  OptionValue yes, no;
  yes.data = true;
  no.data = false;
  CHECK(describe(yes) == "true");
  CHECK(describe(no) == "false");
}

TEST_CASE("what cannot be printed is shown as question marks, and nothing else is changed") {
  CHECK(printable("plain \xC3\xA9 text") == "plain \xC3\xA9 text");
  CHECK(printable("a\nb\x7f"
                  "c") == "a?b?c");
  CHECK(printable("bad \xC3 byte") == "bad ? byte");
  CHECK(printable("").empty());
}

TEST_CASE("text for a terminal keeps its lines and shows control characters and odd bytes") {
  CHECK(printable_lines("two\nlines\r\n\tand \xC3\xA9") == "two\nlines\r\n\tand \xC3\xA9");
  CHECK(printable_lines(std::string_view("a\0\x1B[2J\x7F", 7)) == "a\\x00\\x1B[2J\\x7F");
  CHECK(printable_lines("over\rwritten") == "over\\x0Dwritten");
  CHECK(printable_lines("\xC2\x9B \xC2\xA0 \xFF") == "\\xC2\\x9B \xC2\xA0 \\xFF");
}

TEST_CASE("words are joined with what is asked for between them") {
  CHECK(join(std::vector<std::string>{}).empty());
  CHECK(join({"a"}) == "a");
  CHECK(join({"a", "b", "c"}) == "a, b, c");
  CHECK(join({"a", "b"}, " or ") == "a or b");
  CHECK(join(std::vector<double>{1.0, 2.5, 1e-5, 0.1}) == "1, 2.5, 1e-05, 0.1");
  CHECK(join(std::vector<long>{-3, 4000000000}, ",") == "-3,4000000000");
}

TEST_CASE("text is split at each separator, and joined again") {
  using Words = std::vector<std::string>;
  CHECK(split("", ',').empty());
  CHECK(split("a", ',') == Words{"a"});
  CHECK(split("a,bc,d", ',') == Words{"a", "bc", "d"});
  CHECK(split(",a,,b", ',') == Words{"", "a", "", "b"});
  CHECK(split("a,b,", ',') == Words{"a", "b"});  // an empty last word is dropped
  CHECK(split(",", ',') == Words{""});
}

TEST_CASE("numbers are written with the digits that read back to them, and look like no integers") {
  CHECK(number_text(0.5) == "0.5");
  CHECK(number_text(3.0) == "3.0");
  CHECK(number_text(-0.0) == "-0.0");
  CHECK(number_text(0.1) == "0.1");
  CHECK(short_number_text(1.0125) == "1.012");
  CHECK(short_number_text(1000.0) == "1000.000");
  CHECK(short_number_text(6744475883888558.0) == "6.744e+15");
  CHECK(number_text(1e-7) == "1e-07");
  CHECK(number_text(1e300) == "1e+300");
  CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(number_text(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(number_text(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(std::stod(number_text(1.0 / 3.0)) == 1.0 / 3.0);
}

TEST_CASE("text is clipped to so many bytes, and never through a character") {
  CHECK(clip("abcdef", 6) == "abcdef");
  CHECK(clip("abcdef", 5) == "abcde...");
  CHECK(clip("", 0).empty());
  CHECK(clip("ab", 0) == "...");
  const std::string greek = "a\u03b1\u03b2";  // bytes 1 to 2, and 3 to 4
  CHECK(clip(greek, 5) == greek);
  CHECK(clip(greek, 4) == "a\u03b1...");
  CHECK(clip(greek, 3) == "a\u03b1...");
  CHECK(clip(greek, 2) == "a...");
  CHECK(clip(greek, 1) == "a...");
  CHECK(clip("\u03b1b", 1) == "...");
}

TEST_CASE("text that cannot be shown says why, and where") {
  CHECK(text_fault("plain \u00e9", false).empty());
  CHECK(text_fault("", false).empty());
  CHECK(text_fault(" ~", false).empty());
  CHECK(text_fault("a\n\t\rb", true).empty());
  const std::string allowed = "; allowed: printable text";
  CHECK(text_fault("ab\nc", false) == "contains the control character 10 (byte 2)" + allowed);
  CHECK(text_fault("\t", false) == "contains the control character 9 (byte 0)" + allowed);
  CHECK(text_fault("a\r", false) == "contains the control character 13 (byte 1)" + allowed);
  for (const bool lines : {false, true}) {
    CHECK(text_fault("\u00e9\x1f", lines) ==
          "contains the control character 31 (byte 2)" + allowed);
    CHECK(text_fault("abc\x7f", lines) == "contains the control character 127 (byte 3)" + allowed);
    CHECK(text_fault(std::string(1, '\0'), lines) ==
          "contains the control character 0 (byte 0)" + allowed);
    CHECK(text_fault("\u00e9\xff", lines) == "is not UTF-8 text (byte 2)");
    // Terminals obey U+009B, str.splitlines() U+0085, and U+202E turns the rest of a row around.
    const std::vector<std::pair<std::string, std::string>> controls = {{"U+0085", "\xC2\x85"},
                                                                       {"U+009B", "\xC2\x9B"},
                                                                       {"U+2028", "\xE2\x80\xA8"},
                                                                       {"U+202E", "\xE2\x80\xAE"},
                                                                       {"U+2067", "\xE2\x81\xA7"}};
    for (const auto& [name, control] : controls) {
      CHECK(text_fault("a" + control + "b", lines) ==
            "contains the control character " + name + " (byte 1)" + allowed);
      CHECK(printable("a" + control + "b") == "a?b");
    }
    for (const auto* text : {"\u00a0", "\u00ad", "\u2027", "\u202f", "\u2065", "\u206a"}) {
      CHECK(text_fault(text, lines).empty());
    }
  }
}

TEST_CASE("bytes that are no UTF-8 are told, and replaced one by one") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a\u00e9\u20ac\U0001F600"));
  CHECK(with_replacements("a\u00e9\u20ac\U0001F600b") == "a\u00e9\u20ac\U0001F600b");
  const std::string lost = "\xEF\xBF\xBD";
  for (const std::string bad : {"\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98"}) {
    CHECK_FALSE(is_utf8("a" + bad));
    CHECK_FALSE(is_utf8(bad + "a"));
    std::string each;
    for (std::size_t i = 0; i < bad.size(); ++i) each += lost;
    CHECK(with_replacements("a" + bad + "b") == "a" + each + "b");
    CHECK(with_replacements(bad) == each);
  }
}

TEST_CASE("a count of one has no plural") {
  CHECK(count_text(0, "point") == "0 points");
  CHECK(count_text(1, "point") == "1 point");
  CHECK(count_text(1.0, "path") == "1 path");
  CHECK(count_text(std::string("1"), "output") == "1 output");
  CHECK(count_text(21, "test example") == "21 test examples");
}

TEST_CASE("a shell command quotes what a shell would not take as it is") {
  CHECK(shell_command({}).empty());
  CHECK(shell_command({"headway", "solve", "a.toml"}) == "headway solve a.toml");
  CHECK(shell_command({"--set", "model.widths=[3, 4]"}) == "--set 'model.widths=[3, 4]'");
  CHECK(shell_command({"", "a"}) == "'' a");
  CHECK(shell_command({"it's"}) == "'it'\\''s'");
  CHECK(shell_command({"a/b_c-d.e=f,g:h+i@j%k", "0Z9"}) == "a/b_c-d.e=f,g:h+i@j%k 0Z9");
  for (const char c : std::string(" $\"\\*?;&|<>()[]{}~#!`^\n")) {
    CHECK(shell_command({std::string("x") + c}) == std::string("'x") + c + "'");
  }
}
