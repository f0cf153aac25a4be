// The warning that a network is too narrow for the theory: which layer, how much, and how often.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/observer.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;  // NOLINT: a test

namespace {

class Warnings final : public Observer {
 public:
  void warning(std::string_view text) override { found.emplace_back(text); }
  std::vector<std::string> found;
};

/// Layers of 6 and 2 paths, one output, a readout: the ratios are 7 / N_1, 3 / N_2 and 2 / N_a.
SolvePoint point(std::vector<Index> widths, double temperature = 0.5) {
  SolvePoint out;
  out.widths = std::move(widths);
  out.temperature = temperature;
  out.order_parameters = {{MatrixXd::Identity(6, 6), MatrixXd::Identity(2, 2)},
                          MatrixXd::Identity(1, 1)};
  return out;
}

/// A 1/N correction that moves one entry of the second layer by so many deviations.
SolvePoint shifted(double deviations) {
  SolvePoint out = point({100, 100, 100});
  out.corrected.defined = true;
  out.corrected.mean = out.corrected.deviation = out.order_parameters;
  for (MatrixXd& m : out.corrected.deviation.layers) m.setConstant(0.5);
  out.corrected.deviation.readout.setConstant(0.5);
  out.corrected.mean.layers[1](1, 1) -= 0.5 * deviations;
  return out;
}

std::vector<std::string> warnings(std::vector<SolvePoint> points) {
  SolveResult result;
  result.points = std::move(points);
  Warnings observer;
  warn_of_range(result, observer);
  return observer.found;
}

std::string warned(const std::string& which, const std::string& why) {
  return which + ": the theory is out of its range: " + why + ". headway sample is exact there";
}

}  // namespace

TEST_CASE("the layer with the largest term that the theory drops is named") {
  CHECK(warnings({point({100, 100, 100}), point({7, 3, 2})}).empty());  // ratios of 1 at most
  CHECK(warnings({point({2, 3, 2})}) ==
        std::vector{warned("widths 2,3,2, temperature 0.5", "(C p_1 + 1)/N_1 = 3.5 is not small")});
  CHECK(warnings({point({6, 1, 1})}) ==
        std::vector{warned("widths 6,1,1, temperature 0.5", "(C p_2 + 1)/N_2 = 3 is not small")});
  CHECK(warnings({point({7, 3, 1})}) ==
        std::vector{warned("widths 7,3,1, temperature 0.5", "(C + 1)/N_a = 2 is not small")});
}

TEST_CASE("a correction by more than a deviation is a warning, too") {
  CHECK(warnings({shifted(0.99)}).empty());
  CHECK(warnings({shifted(1.5)}) ==
        std::vector{warned("widths 100,100,100, temperature 0.5",
                           "the 1/N correction moves U by 1.5 of its standard deviations")});
}

TEST_CASE("the worst of a network's temperatures is told, and at how many it is out of range") {
  const auto at = [](double deviations, double temperature) {
    SolvePoint out = shifted(deviations);
    out.temperature = temperature;
    return out;
  };
  CHECK(warnings({at(1.5, 0.1), at(3.0, 0.2), at(0.5, 0.3)}) ==
        std::vector{warned("widths 100,100,100, 2 of 3 temperatures, 0.1 to 0.2",
                           "at worst the 1/N correction moves U by 3 of its standard deviations")});
}

TEST_CASE("a network is named once, with its temperatures, and at most three lines are printed") {
  const std::vector<std::string> swept =
      warnings({point({2, 9, 9}), point({2, 9, 9}, 0.1), point({3, 9, 9}), point({2, 9, 9}, 2.0)});
  REQUIRE(swept.size() == 2);
  CHECK(swept[0] == warned("widths 2,9,9, 3 of 3 temperatures, 0.1 to 2",
                           "at worst (C p_1 + 1)/N_1 = 3.5 is not small"));
  const std::vector<std::string> many =
      warnings({point({2, 9, 9}), point({3, 9, 9}), point({4, 9, 9}), point({5, 9, 9})});
  REQUIRE(many.size() == 3);
  CHECK(many[1].starts_with("widths 3,9,9"));
  CHECK(many[2] == "the theory is out of its range at 2 further widths, too");
}
