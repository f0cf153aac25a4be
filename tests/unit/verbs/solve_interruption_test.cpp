// A point whose saddle is found, but not what follows it, is no point of the result.
#include <string_view>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "random_examples.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using headway::Study;

namespace {

/// Says stop from the first progress of a stage on.
class StopAt final : public Observer {
 public:
  explicit StopAt(std::string_view stage) : stage_(stage) {}
  void progress(std::string_view stage, double /*done*/, double /*total*/) override {
    if (stage == stage_) stopped_ = true;
  }
  [[nodiscard]] bool interrupted() const override { return stopped_; }
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  std::string_view stage_;
  bool stopped_ = false;
};

tasks::Dataset small_dataset() {
  Rng rng(5, StreamPurpose::kTests, 1);
  return random_dataset({2, 2}, {12, 4, 3}, rng);
}

Study small_study() {
  Study study;
  study.model.widths = {{20}};
  study.model.temperatures = {0.1};
  study.solve.corrections = headway::When::kOn;
  study.threads = 1;
  return study;
}

}  // namespace

TEST_CASE("a point that is stopped in its correction is not in the result") {
  const Study study = small_study();
  const tasks::Dataset data = small_dataset();
  Observer quiet;
  const headway::SolveResult whole = headway::solve(study, data, quiet);
  REQUIRE(whole.points.size() == 1);
  CHECK_FALSE(whole.interrupted);
  CHECK(whole.points[0].corrected.defined);
  StopAt correction("1/N correction");
  const headway::SolveResult cut = headway::solve(study, data, correction);
  REQUIRE(correction.stopped());
  CHECK(cut.points.empty());
  CHECK(cut.interrupted);
}
