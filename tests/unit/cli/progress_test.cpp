#include <string>

#include "catch.hpp"
#include "terminal.hpp"
#include "train_progress.hpp"

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

TEST_CASE("the work of a study counts all runs, those of earlier calls too", "[not_sanitized]") {
  headway::Study study;
  study.train.run.steps = 10;
  headway::TrainedRun run;
  run.cost.flops_per_step = 2.0;
  TrainProgress progress(true, 3, 60.0, 0.0);
  run.state.step = 10;  // done before
  progress.begin(0, run, study);
  progress.end(0);
  run.state.step = 4;  // resumed
  progress.begin(1, run, study);
  progress.progress(1, 7.0, 10.0);
  progress.progress(1, 30.0, 100.0);  // an evaluation
  CHECK(progress.work().done == 34.0);
  CHECK(progress.work().earlier == 28.0);
  CHECK(progress.work().all == 60.0);
}
