#include "catch.hpp"
#include "headway/core/option_value.hpp"
#include "headway/core/text.hpp"

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

TEST_CASE("words are joined with what is asked for between them") {
  CHECK(join({}).empty());
  CHECK(join({"a"}) == "a");
  CHECK(join({"a", "b", "c"}) == "a, b, c");
  CHECK(join({"a", "b"}, " or ") == "a or b");
}
