#include "headway/jobs/train_watch.hpp"

#include "catch.hpp"

using namespace headway::jobs;

TEST_CASE("the work of a study counts all runs, those of earlier calls too") {
  headway::Study study;
  study.train.run.steps = 10;
  headway::TrainedRun run;
  run.cost.flops_per_step = 2.0;
  TrainWatch progress;
  progress.start(3, 60.0, 0.0);
  run.state.step = 10;  // done before
  progress.begin(0, run, study);
  progress.end(0);
  run.state.step = 4;  // resumed
  progress.begin(1, run, study);
  progress.progress(1, 7.0, 10.0);
  progress.progress(1, 30.0, 100.0);  // an evaluation
  CHECK(progress.work().done == 34.0);
  headway::training::TrainRecord record;
  for (const int step : {9, 2}) {  // a record of an earlier step takes nothing back
    record.step = step;
    progress.record(1, record);
  }
  CHECK(progress.work().done == 38.0);
  CHECK(progress.work().earlier == 28.0);
  CHECK(progress.work().all == 60.0);
}
