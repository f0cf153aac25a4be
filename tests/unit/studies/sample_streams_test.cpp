// Sweep points of `sample` draw from streams of their own, whatever the seed.
#include "catch.hpp"
#include "headway/studies/verbs.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

tasks::Dataset small_dataset() {
  Rng rng(5, StreamPurpose::kTests);
  tasks::Dataset data;
  data.name = "random";
  data.heads = {2};
  data.features = 3;
  data.layers = random_weight_layers(data.heads, data.features, rng);
  data.train.examples = std::make_shared<tasks::MemoryExamples>(random_tensor({8, 4, 3}, rng));
  data.train.labels = MatrixXd(VectorXd{{1, -1, 1, 1, -1, -1, 1, -1}});
  data.content_hash = "none";
  return data;
}

/// The same posterior twice.
studies::SampleResult sample_twice(std::uint64_t seed) {
  studies::Study study;
  study.seed = seed;
  study.threads = 1;
  study.model.widths = {{10}};
  study.model.temperatures = {0.1, 0.1};
  study.sample.chains = 2;
  study.sample.draws = 100;
  study.sample.warmup = 100;
  Observer quiet;
  return studies::sample(study, small_dataset(), quiet);
}

}  // namespace

TEST_CASE("the second point of a seed is not the first point of the next seed") {
  const studies::SampleResult one = sample_twice(1);
  const studies::SampleResult two = sample_twice(2);
  const auto draws = [](const studies::SamplePoint& point) {
    return point.readout_order_parameter.draws.values;
  };
  REQUIRE(one.points.size() == 2);
  CHECK(draws(one.points[0]) == draws(sample_twice(1).points[0]));
  CHECK(draws(one.points[0]) != draws(one.points[1]));
  CHECK(draws(one.points[1]) != draws(two.points[0]));
  CHECK(one.points[1].log_evidence != two.points[0].log_evidence);
}
