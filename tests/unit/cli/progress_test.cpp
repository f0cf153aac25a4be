#include <string>

#include "catch.hpp"
#include "terminal.hpp"

using namespace headway::cli;

TEST_CASE("a line of progress has a bar and what fits", "[not_sanitized]") {
  const std::string line = bar_line("train", 0.437, 720.0, {"run 3 of 9", "loss 0.12"}, 79);
  CHECK(line == "train [########           ] 43 %, 12 min left, run 3 of 9, loss 0.12");
  CHECK(bar_line("train", 0.437, 720.0, {"run 3 of 9", "loss 0.12"}, 59) ==
        "train [######        ] 43 %, 12 min left, run 3 of 9");
  CHECK(bar_line("train", 0.437, 0.0, {"run 3 of 9"}, 30) == "train 43 %, run 3 of 9");
  CHECK(bar_line("a long name of a stage", 0.5, 0.0, {}, 10) == "a long nam");
  CHECK(bar_line("solve", 0.999, 0.0, {}, 79).find(" 99 %") != std::string::npos);
  CHECK(bar_line("solve", 1.0, 0.0, {}, 39) == "solve [#########] 100 %");
  // Which replica moves fits beside a short bar.
  CHECK(bar_line("sampling, point 1 of 1", 0.26, 720.0, {"chain 1 replica 3 of 12", "beta 0.41"},
                 79, 8) ==
        "sampling, point 1 of 1 [##      ] 26 %, 12 min left, chain 1 replica 3 of 12");
}

TEST_CASE("what an earlier call has done says nothing about the speed", "[not_sanitized]") {
  Pace fresh, resumed;
  fresh.begin(0.0, 0.0);
  resumed.begin(0.0, 0.0);
  fresh.advance(10.0, 0.0);
  resumed.advance(110.0, 100.0);
  CHECK(fresh.seconds_left(20.0) > 0.0);
  CHECK(resumed.seconds_left(110.0) == 0.0);
  CHECK(resumed.rate() < 2.0 * fresh.rate());  // of ten both, at about the same time
  Pace none;
  none.begin(50.0, 0.0);
  CHECK(none.seconds_left(100.0) == 0.0);
}
