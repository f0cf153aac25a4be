// A point whose saddle is found, but not what follows it, is no point of the result.
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
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

TEST_CASE("solve tells its points, and keeps those that were finished before a stop") {
  class Share final : public Observer {
   public:
    explicit Share(double most) : most_(most) {}
    void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
      CHECK(stage == "solve");
      CHECK(total == 4.0);
      told.push_back(done);
    }
    [[nodiscard]] bool interrupted() const override {
      return !told.empty() && told.back() >= most_;
    }
    std::vector<double> told;

   private:
    double most_;
  };
  Study study = small_study();
  study.model.widths = {{20}, {40}};
  study.model.temperatures = {0.1, 0.4};
  Share all(5.0);
  const headway::SolveResult whole = headway::solve(study, small_dataset(), all);
  CHECK(all.told == std::vector<double>{0, 1, 2, 3, 4});
  CHECK(whole.threads == 1);
  REQUIRE(whole.points.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(whole.points[i].widths == std::vector<Index>(3, i < 2 ? 20 : 40));
    CHECK(whole.points[i].temperature == study.model.temperatures[i % 2]);
  }
  Share stopped(2.0);
  const headway::SolveResult part = headway::solve(study, small_dataset(), stopped);
  CHECK(stopped.told == std::vector<double>{0, 1, 2});
  REQUIRE(part.points.size() == 2);  // of the first temperature, the wider one first
  CHECK(part.interrupted);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(part.points[i].temperature == 0.1);
    CHECK(part.points[i].action == whole.points[2 * i].action);
  }
}
