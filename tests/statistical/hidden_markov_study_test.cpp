// The paper's hidden-Markov study over eight seeds against the reference means and spreads of other
// seeds (data/studies/README.md, "Hidden Markov chains": an independent generator and solver).
// Prints mean and spread. Nothing is left to chance: the seeds fix the data, and rounding does not
// change the sign of a predictor.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/study_file.hpp"

using namespace headway;

namespace {

struct Reference {
  std::string quantity;
  double mean, sd;
};

constexpr int kSeeds = 8;  // in the reference too

/// Accuracies of the Gaussian process and of every width, for each seed.
std::vector<std::vector<double>> accuracies(const std::string& study_name) {
  headway::Study study =
      io::read_study(HEADWAY_SOURCE_DIR "/data/studies/" + study_name + ".toml").study;
  study.model.widths = {{10}, {100}, {1000}};
  study.solve.hessian = study.solve.corrections = headway::When::kOff;
  study.task.seed.reset();
  std::vector<std::vector<double>> result(4);
  Observer observer;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    study.seed = static_cast<std::uint64_t>(seed);
    const headway::SolveResult r = headway::solve(study, headway::make_dataset(study), observer);
    result[0].push_back(r.gaussian_process[0].predictor.accuracy);
    for (std::size_t i = 0; i < 3; ++i) {
      REQUIRE(r.points[i].summary.converged);
      result[i + 1].push_back(r.points[i].predictor.accuracy);
    }
  }
  return result;
}

void check(const std::string& study_name, const std::vector<Reference>& references) {
  const std::vector<std::vector<double>> seen = accuracies(study_name);
  const std::vector<std::string> names = {"GP", "N=10", "N=100", "N=1000"};
  for (const Reference& reference : references) {
    for (std::size_t q = 0; q < names.size(); ++q) {
      if (names[q] != reference.quantity) continue;
      double mean = 0.0;
      for (double a : seen[q]) mean += a / kSeeds;
      double variance = 0.0;
      for (double a : seen[q]) variance += (a - mean) * (a - mean) / (kSeeds - 1);
      const double z =
          (mean - reference.mean) / std::sqrt((variance + reference.sd * reference.sd) / kSeeds);
      std::printf("%s %-7s %.3f +- %.3f   reference %.3f +- %.3f   z = %.1f\n", study_name.c_str(),
                  names[q].c_str(), mean, std::sqrt(variance), reference.mean, reference.sd, z);
      REQUIRE(std::abs(z) < 4.0);
    }
  }
}

}  // namespace

TEST_CASE("accuracies with four paths are those of the reference") {
  check("hmm-four-paths",
        {{"GP", .846, .013}, {"N=10", .957, .006}, {"N=100", .922, .016}, {"N=1000", .857, .013}});
}

TEST_CASE("accuracies with two paths and out-of-plane noise are those of the reference") {
  check("hmm-two-paths-hard", {{"GP", .818, .023}, {"N=10", .948, .008}});
}
