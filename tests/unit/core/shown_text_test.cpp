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
