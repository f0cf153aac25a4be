// A sample result as file and as JSON: every number at its place, undefined ones as NaN or null.
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/result_file.hpp"
#include "headway/sample_results.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study/sweep.hpp"
#include "headway/study_file.hpp"
#include "io/hdf5/input.hpp"
#include "result_builder.hpp"
#include "scratch_directory.hpp"

using namespace headway;
namespace fs = std::filesystem;

namespace {

constexpr Index kChains = 2;
constexpr Index kDraws = 3;

headway::SampledMatrix built_matrix(testing::Numbers& numbers, Index n) {
  headway::SampledMatrix m;
  for (MatrixXd* part : {&m.mean, &m.sd, &m.mcse, &m.rhat, &m.ess_bulk, &m.ess_tail})
    *part = numbers.matrix(n, n);
  m.draws = Tensor({kChains, kDraws, n, n});
  for (double& value : m.draws.values) value = numbers.next();
  return m;
}

headway::SampleResult built_samples(Index outputs) {
  testing::Numbers numbers;
  headway::SampleResult result;
  result.solve = testing::built_result(outputs);
  for (const headway::SolvePoint& solved : result.solve.points) {
    headway::SamplePoint point;
    point.widths = solved.widths;
    point.temperature = solved.temperature;
    point.sampler = "gibbs";
    point.chains = kChains;
    point.draws = kDraws;
    point.order_parameters = {built_matrix(numbers, 6 * outputs),
                              built_matrix(numbers, 3 * outputs)};
    point.readout_order_parameter = built_matrix(numbers, outputs);
    point.predictor = testing::built_report(numbers, 4, outputs);
    point.predictor_mcse = numbers.matrix(4, outputs);
    point.accuracy_mcse = numbers.next();
    point.mean_squared_error_mcse = numbers.next();
    point.rhat_max = numbers.next();
    point.ess_bulk_min = numbers.next();
    point.divergences = 5;
    point.complete = true;
    point.evidence_reason = "only the exact chain gives it";
    point.energies = numbers.matrix(kDraws, kChains);
    point.warnings = {"first", "second"};
    point.weights = numbers.matrix(7, kChains * kDraws);
    point.sampling_seconds = 2.0;
    result.points.push_back(point);
  }
  result.interrupted = true;
  return result;
}

}  // namespace

TEST_CASE("every number of a sample result is in the file") {
  for (const Index outputs : {Index{1}, Index{2}}) {
    const testing::ScratchDirectory folder;
    const headway::SampleResult result = built_samples(outputs);
    io::write_result(folder.file("r.h5"), headway::Study{}, result, testing::built_provenance(),
                     false);
    const io::Hdf5Lock lock;
    const io::Hdf5InputFile file(folder.file("r.h5"));
    REQUIRE(file.text_attribute("/", "kind") == "sample");
    const headway::SamplePoint& point = result.points[1];
    const std::string group = "points/1";
    const auto number = [&](const char* name) { return file.number_attribute(group, name)->at(0); };
    CHECK(number("temperature") == point.temperature);
    CHECK(number("rhat_max") == point.rhat_max);
    CHECK(number("accuracy_mcse") == point.accuracy_mcse);
    CHECK(number("test_mean_squared_error_mcse") == point.mean_squared_error_mcse);
    CHECK(number("divergences") == 5.0);
    CHECK(number("complete") == 1.0);
    CHECK(std::isnan(number("log_evidence")));
    CHECK(number("gp_accuracy") == result.solve.gaussian_process[1].predictor.accuracy);
    CHECK(file.text_attribute(group, "warnings") == "first\nsecond");
    CHECK(file.text_attribute(group, "evidence_reason") == point.evidence_reason);
    const Tensor mean = file.read_array(group + "/order_parameters/layer_2_mean");
    CHECK(mean.shape == std::vector<Index>{3 * outputs, 3 * outputs});
    CHECK(mean.values[1] == point.order_parameters[1].mean(0, 1));  // not transposed
    const Tensor draws = file.read_array(group + "/draws/layer_1");
    CHECK(draws.shape == std::vector<Index>{kChains, kDraws, 6 * outputs, 6 * outputs});
    CHECK(draws.values == point.order_parameters[0].draws.values);
    const Tensor readout = file.read_array(group + "/draws/U_a");
    CHECK(readout.shape == (outputs == 1 ? std::vector<Index>{kChains, kDraws}
                                         : std::vector<Index>{kChains, kDraws, 2, 2}));
    const Tensor energies = file.read_array(group + "/energies");
    CHECK(energies.shape == std::vector<Index>{kDraws, kChains});
    CHECK(energies.values[1] == point.energies(0, 1));
    const Tensor weights = file.read_array(group + "/draws/weights");
    CHECK(weights.shape == std::vector<Index>{kChains, kDraws, 7});
    CHECK(weights.values[static_cast<std::size_t>((1 * kDraws + 2) * 7 + 3)] ==
          point.weights(3, 1 * kDraws + 2));
    const Tensor theory = file.read_array(group + "/theory/order_parameters/layer_1");
    CHECK(theory.values[1] == result.solve.points[1].order_parameters.layers[0](0, 1));
  }
}

TEST_CASE("a sample result that is read is the one that was written") {
  for (const Index outputs : {Index{1}, Index{2}}) {
    const testing::ScratchDirectory folder;
    const std::string file = folder.file("r.h5");
    headway::SampleResult result = built_samples(outputs);
    result.points[0].weights.resize(0, 0);  // weights are kept where they were asked for
    headway::ResultProvenance provenance = testing::built_provenance();
    provenance.partial = true;
    io::write_result(file, headway::Study{}, result, provenance, false);
    const headway::SampleResult read = io::read_sample_result(file);
    CHECK(read.interrupted);
    CHECK(read.seconds == provenance.seconds);
    const std::string solved = folder.file("solve.h5");
    io::write_result(solved, headway::Study{}, result.solve, provenance, false);
    CHECK_THROWS_WITH(
        io::read_sample_result(solved),
        Catch::Matchers::EndsWith("attribute kind: is \"solve\"; allowed here: sample"));
    result.seconds = provenance.seconds;  // a file has them with its provenance
    result.solve.seconds = provenance.seconds;
    result.solve.threads = provenance.threads;
    CHECK(io::result_json(headway::Study{}, read) == io::result_json(headway::Study{}, result));
    REQUIRE(read.points.size() == result.points.size());
    for (std::size_t i = 0; i < read.points.size(); ++i) {
      const headway::SamplePoint &a = read.points[i], &b = result.points[i];
      CHECK(a.widths == b.widths);
      CHECK(a.temperature == b.temperature);
      CHECK(a.sampler == b.sampler);
      REQUIRE(a.order_parameters.size() == 2);
      for (std::size_t l = 0; l < 2; ++l) {
        CHECK(a.order_parameters[l].mean == b.order_parameters[l].mean);
        CHECK(a.order_parameters[l].ess_tail == b.order_parameters[l].ess_tail);
        CHECK(a.order_parameters[l].draws.values == b.order_parameters[l].draws.values);
      }
      CHECK(a.readout_order_parameter.rhat == b.readout_order_parameter.rhat);
      CHECK(a.readout_order_parameter.draws.values == b.readout_order_parameter.draws.values);
      CHECK(a.predictor.mean == b.predictor.mean);
      CHECK(a.predictor_mcse == b.predictor_mcse);
      CHECK(a.rhat_max == b.rhat_max);
      CHECK(a.divergences == 5);
      CHECK(a.warnings == b.warnings);
      CHECK(std::isnan(a.log_evidence));
      CHECK(a.energies == b.energies);
      CHECK(a.weights == b.weights);
      CHECK(read.solve.points[i].action == result.solve.points[i].action);
    }
  }
}

TEST_CASE("the theory of a sample result is read as a solve result") {
  const testing::ScratchDirectory folder;
  const headway::SampleResult result = built_samples(1);
  io::write_result(folder.file("r.h5"), headway::Study{}, result, testing::built_provenance(),
                   false);
  const headway::SolveResult solve = io::read_solve_result(folder.file("r.h5"));
  REQUIRE(solve.points.size() == 2);
  CHECK(solve.points[0].order_parameters.layers[0] ==
        result.solve.points[0].order_parameters.layers[0]);
  CHECK(solve.points[0].corrected.deviation.readout ==
        result.solve.points[0].corrected.deviation.readout);
  CHECK(solve.interrupted);
}

TEST_CASE("JSON has the documented fields and null for what is undefined") {
  const auto object = nlohmann::json::parse(io::result_json(headway::Study{}, built_samples(1)));
  REQUIRE(object["partial"] == true);
  const auto& point = object["points"][0];
  const headway::SamplePoint expected = built_samples(1).points[0];
  for (const char* name :
       {"widths",       "temperature",  "sampler",   "chains",      "draws",
        "U_a_mean",     "U_1_mean",     "U_1_mcse",  "accuracy",    "rhat_max",
        "ess_bulk_min", "ess_tail_min", "ebfmi_min", "divergences", "log_evidence",
        "seconds",      "U_2_mean",     "warnings",  "accuracy_sd", "theory"}) {
    INFO(name);
    CHECK(point.contains(name));
  }
  CHECK(point["U_a_mean"] == expected.readout_order_parameter.mean(0, 0));
  CHECK(point["U_1_mcse"][2][1] == expected.order_parameters[0].mcse(2, 1));
  CHECK(point["log_evidence"].is_null());
  CHECK(point["ess_bulk_min_per_second"] == expected.ess_bulk_min / 2.0);
  CHECK(point["theory"]["corrected"]["U_1"].size() == 6);
  CHECK(object["points"][1]["theory"]["corrected"]["defined"] == false);
}

TEST_CASE("study keys of [sample] survive a round trip, and only some change the draws") {
  const std::string text =
      "[task]\nkind = \"dataset\"\nfile = \"x.h5\"\n[sample]\nsampler = \"mala\"\nchains = 3\n"
      "draws = 77\nwarmup = 0\nthin = 2\nmetric = \"dense\"\ntarget_accept = 0.9\n"
      "max_tree_depth = 7\npredictor_draws = 5\nevidence = false\nkeep_weights = true\n"
      "checkpoint_seconds = 1.5\n";
  const headway::Study study = io::parse_study(text, "s.toml");
  const headway::Study again = io::parse_study(io::write_study(study), "again.toml");
  for (const headway::Study& s : {study, again}) {
    CHECK(s.sample.sampler == headway::Sampler::kMala);
    CHECK(s.sample.chains == 3);
    CHECK(s.sample.draws == 77);
    CHECK(s.sample.warmup == 0);
    CHECK(s.sample.thin == 2);
    CHECK(s.sample.metric == headway::SampleMetric::kDense);
    CHECK(s.sample.target_accept == 0.9);
    CHECK(s.sample.max_tree_depth == 7);
    CHECK(s.sample.predictor_draws == 5);
    CHECK_FALSE(s.sample.evidence);
    CHECK(s.sample.keep_weights);
    CHECK(s.sample.checkpoint_seconds == 1.5);
  }
  headway::Study other = study;
  other.sample.checkpoint_seconds = 9.0;
  other.name = "renamed";
  CHECK(headway::sample_hash(other) == headway::sample_hash(study));
  CHECK(headway::solve_hash(other) == headway::solve_hash(study));
  other.sample.draws = 78;
  CHECK(headway::sample_hash(other) != headway::sample_hash(study));
  CHECK(headway::solve_hash(other) == headway::solve_hash(study));
}
