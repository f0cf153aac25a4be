// The exact chain in layers narrower than the number of paths, on few data. Chains that started in
// different places agree. In trapezoidal coordinates alone R-hat is 1.5 here.
#include <cstdio>
#include <string>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/sample.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/study_file.hpp"

using namespace headway;

TEST_CASE("exact chains agree at widths below the number of paths") {
  headway::Study study =
      io::read_study(HEADWAY_SOURCE_DIR "/data/studies/hmm-four-paths.toml").study;
  study.task.as<tasks::HiddenMarkovChainOptions>().train_examples = 60;
  study.task.as<tasks::HiddenMarkovChainOptions>().features = 8;
  study.task.as<tasks::HiddenMarkovChainOptions>().test_examples = 1;
  study.model.widths = {{2}, {3}};
  study.sample.sampler = Sampler::kExact;
  study.sample.draws = 500;
  study.sample.warmup = 500;
  study.sample.predictor_draws = 0;
  Observer observer;
  const headway::SampleResult result =
      headway::sample(study, headway::make_dataset(study), observer);
  for (const headway::SamplePoint& point : result.points) {
    std::printf("N=%-3.0f R-hat %.4f   ESS %.0f   log p(y) %.2f +- %.2f\n",
                static_cast<double>(point.widths.front()), point.rhat_max, point.ess_bulk_min,
                point.log_evidence, point.log_evidence_error);
    // How many draws are effective is a matter of luck here, from a hundred to a thousand. Of a
    // hundred that agree R-hat is below 1.4.
    CHECK(point.rhat_max < headway::testing::largest_rhat(100.0, study.sample.chains, 1));
    CHECK(point.evidence_reason.empty());
  }
}
