// log p(y) about the saddle point against that of the exact chain, on the paper's hidden-Markov
// study. The difference falls as 1/N, and at N = 1000 it is within the sampling error.
#include <cmath>
#include <cstdio>
#include <string>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/sample.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/study_file.hpp"

using namespace headway;

TEST_CASE("the saddle point's evidence differs from that of samples by O(1/N)") {
  headway::Study study =
      io::read_study(HEADWAY_SOURCE_DIR "/data/studies/hmm-four-paths.toml").study;
  study.model.widths = {{10}, {1000}};
  study.sample.draws = 300;
  study.sample.warmup = 400;
  study.sample.predictor_draws = 0;
  Observer observer;
  const headway::SampleResult result =
      headway::sample(study, headway::make_dataset(study), observer);
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const headway::SamplePoint& exact = result.points[i];
    const headway::SolvePoint& theory = result.solve.points[i];
    const double width = static_cast<double>(exact.widths.front());
    const double difference = theory.evidence.log_evidence - exact.log_evidence;
    const double leading = theory.evidence.leading_order - exact.log_evidence;
    std::printf("N=%-5.0f exact %.3f +- %.3f   Laplace %+.4f   leading order %+.3f\n", width,
                exact.log_evidence, exact.log_evidence_error, difference, leading);
    REQUIRE(theory.evidence.method == "laplace");
    REQUIRE(exact.log_evidence_error < 0.08);
    const double by_chance = testing::largest_chain_z(2) * exact.log_evidence_error;
    CHECK(std::abs(difference) < by_chance + 4.0 / width);  // 0.29 at N = 10
    CHECK(std::abs(leading) > std::abs(difference));
  }
  const double gaussian = result.solve.gaussian_process[0].log_evidence;
  CHECK(gaussian < result.points[1].log_evidence);  // the wider, the less the labels fit
  CHECK(result.points[1].log_evidence < result.points[0].log_evidence);
}
