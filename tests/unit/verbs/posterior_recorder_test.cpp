// At which draws the recorder asks for the predictor, and what it adds up.
#include "verbs/theory/posterior_recorder.hpp"

#include <vector>

#include "catch.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)

namespace {

constexpr double kOffset = 1e8;  // beside it the spread of the draws is small

/// One path; its predictor is the number of the draw, and the offset.
class CountingTarget final : public sampling::Target, public posterior::PosteriorTarget {
 public:
  [[nodiscard]] Index dimension() const override { return 1; }
  double log_density(const Eigen::Ref<const VectorXd>& /*position*/,
                     Eigen::Ref<VectorXd> gradient) override {
    gradient.setZero();
    return 0.0;
  }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<CountingTarget>(*this);
  }
  posterior::PosteriorDraw observe(const Eigen::Ref<const VectorXd>& position,
                                   bool predictor) override {
    posterior::PosteriorDraw draw;
    draw.order_parameters.layers = {MatrixXd::Ones(1, 1)};
    draw.order_parameters.readout = MatrixXd::Ones(1, 1);
    if (!predictor) return draw;
    asked.push_back(static_cast<int>(position[0]));
    draw.mean = MatrixXd::Constant(2, 1, kOffset + position[0]);
    draw.variance = MatrixXd::Zero(2, 1);
    return draw;
  }
  std::vector<int> asked;
};

std::vector<int> asked_of(Index draws, Index predictor_draws, Index examples = 2) {
  headway::Evaluation evaluation;
  evaluation.test_labels = MatrixXd::Ones(examples, 1);
  std::vector<headway::ChainRecord> records(1);
  headway::PosteriorRecorder recorder(records, false, draws, predictor_draws, evaluation);
  CountingTarget target;
  for (Index d = 0; d < draws; ++d) {
    const VectorXd position = VectorXd::Constant(1, static_cast<double>(d));
    recorder.record({0, d, 0.0, false, position}, target);
  }
  const headway::ChainRecord& chain = records.front();
  REQUIRE(chain.draws == draws);
  REQUIRE(chain.predictors.count == static_cast<Index>(target.asked.size()));
  if (target.asked.empty()) return target.asked;
  const VectorXd asked = Eigen::Map<const Eigen::VectorXi>(target.asked.data(),
                                                           static_cast<Index>(target.asked.size()))
                             .cast<double>();
  const double mean = kOffset + asked.mean();
  const double squares = (asked.array() - asked.mean()).square().sum();
  REQUIRE_THAT(chain.predictors.mean(1, 0), Catch::Matchers::WithinRel(mean, 1e-15));
  REQUIRE_THAT(chain.predictors.squares(1, 0), Catch::Matchers::WithinAbs(squares, 1e-5));
  return target.asked;
}

}  // namespace

TEST_CASE("the predictor is made at as many draws as asked for, evenly spaced") {
  REQUIRE(asked_of(12, 4) == std::vector<int>{2, 5, 8, 11});
  REQUIRE(asked_of(7, 4) == std::vector<int>{1, 3, 5, 6});  // no stride divides 7
  REQUIRE(asked_of(175, 100).size() == 100);
  REQUIRE(asked_of(3, 500) == std::vector<int>{0, 1, 2});
  REQUIRE(asked_of(5, 1) == std::vector<int>{4});
  REQUIRE(asked_of(5, 0).empty());
  REQUIRE(asked_of(5, 5, 0).empty());  // nothing to predict
}
