// Which minima of learned attention count as one, each number that tells them apart by itself.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/posterior/learned_saddle_point.hpp"

using namespace headway;
using posterior::distinct_minima;
using posterior::LearnedMinimum;

namespace {

/// Its largest number beside the action is the norm 5 of U_1, so others may be 0.005 apart.
LearnedMinimum built() {
  LearnedMinimum m;
  m.z = VectorXd{{1.0, 1.0, 1.0, 1.0}};
  m.action = -3.0;
  m.attention = {0.5, 0.75};
  m.of.order_parameters = {{MatrixXd{{3.0, 0.0}, {0.0, 4.0}}, MatrixXd{{2.0, 0.5}, {0.5, 1.0}}},
                           MatrixXd{{1.5}}};
  m.converged = true;
  return m;
}

using Change = std::function<void(LearnedMinimum&)>;

/// The minima that are left of as many as there are changes.
std::vector<LearnedMinimum> left_of(const std::vector<Change>& changes,
                                    model::LearnedKind kind = model::LearnedKind::kSoftmax) {
  std::vector<LearnedMinimum> all;
  for (const Change& change : changes) change(all.emplace_back(built()));
  model::AttentionPrior prior;
  prior.heads = {2};  // each of 2 x 2 weights
  prior.kind = kind;
  return distinct_minima(std::move(all), model::AttentionCoordinates(prior, 2));
}

void keep(LearnedMinimum& /*m*/) {}

/// How many are left of one and a changed one, whichever comes first.
std::size_t count(const Change& change) {
  const std::size_t one = left_of({keep, change}).size();
  CHECK(left_of({change, keep}).size() == one);
  return one;
}

MatrixXd& layer(LearnedMinimum& m, std::size_t l) { return m.of.order_parameters.layers[l]; }

}  // namespace

TEST_CASE("minima that differ in one number are two") {
  const std::vector<std::pair<std::string, Change>> changes = {
      {"action", [](auto& m) { m.action += 4e-6; }},
      {"largest attention", [](auto& m) { m.attention.largest += 0.006; }},
      {"entropy", [](auto& m) { m.attention.entropy += 0.006; }},
      {"no entropy",
       [](auto& m) { m.attention.entropy = std::numeric_limits<double>::quiet_NaN(); }},
      // The norms stay: only the diagonal tells.
      {"diagonal of U_1",
       [](auto& m) {
         layer(m, 0) = MatrixXd{{0.0, 0.0}, {0.0, 5.0}};
       }},
      {"diagonal of U_2",
       [](auto& m) {
         layer(m, 1) = MatrixXd{{1.0, 0.5}, {0.5, -2.0}};
       }},
      {"diagonals turned into each other",
       [](auto& m) {
         layer(m, 0) = MatrixXd{{3.5, 0.5}, {0.5, 3.5}};
       }},
      // The diagonals stay.
      {"rest of U_1", [](auto& m) { layer(m, 0)(0, 1) = layer(m, 0)(1, 0) = 0.3; }},
      {"rest of U_2", [](auto& m) { layer(m, 1)(0, 1) = layer(m, 1)(1, 0) = 0.6; }},
      {"U_a", [](auto& m) { m.of.order_parameters.readout(0, 0) += 0.006; }},
      {"sign of U_a", [](auto& m) { m.of.order_parameters.readout *= -1.0; }},
      {"attention weights", [](auto& m) { m.z *= 1.004; }}};
  for (const auto& [what, change] : changes) {
    INFO(what);
    CHECK(count(change) == 2);
  }
}

TEST_CASE("minima that differ by rounding or by the order of heads are one") {
  const std::vector<std::pair<std::string, Change>> changes = {
      {"nothing", keep},
      {"action", [](auto& m) { m.action += 2e-6; }},
      {"largest attention", [](auto& m) { m.attention.largest += 0.004; }},
      {"entropy", [](auto& m) { m.attention.entropy += 0.004; }},
      {"U_1", [](auto& m) { layer(m, 0)(0, 0) += 0.004; }},
      {"U_a", [](auto& m) { m.of.order_parameters.readout(0, 0) += 0.004; }},
      {"order of U_1", [](auto& m) { layer(m, 0).diagonal().reverseInPlace(); }},
      {"order of U_2", [](auto& m) { layer(m, 1).diagonal().reverseInPlace(); }},
      {"attention weights",
       [](auto& m) {
         m.z = VectorXd{{2.0, 0.0, 0.0, 0.0}};
       }},
      {"its gradient", [](auto& m) { m.gradient_norm = 1e-9; }}};
  for (const auto& [what, change] : changes) {
    INFO(what);
    CHECK(count(change) == 1);
  }
}

TEST_CASE("minima of linear attention are one where a turn of the heads takes one to the other") {
  const auto linear = [](LearnedMinimum& m) {
    m.z = VectorXd{{1.0, 0.5, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0}};
    m.attention.entropy = std::numeric_limits<double>::quiet_NaN();
  };
  const auto turned = [&linear](double angle, double sign) {
    return [=](LearnedMinimum& m) {
      linear(m);
      const double c = std::cos(angle);
      const double s = std::sin(angle);
      const MatrixXd r{{c, -s}, {sign * s, sign * c}};
      const Eigen::Map<const MatrixXd> heads(m.z.data(), 4, 2);
      m.z = MatrixXd(heads * r.transpose()).reshaped();
      layer(m, 0) = r * layer(m, 0) * r.transpose();
      m.attention.largest += 0.1;  // changes with the turn
    };
  };
  const auto also = [&linear](const Change& change) {
    return [=](LearnedMinimum& m) {
      linear(m);
      change(m);
    };
  };
  const auto left = [](const Change& one, const Change& other) {
    return left_of({one, other}, model::LearnedKind::kLinear).size();
  };
  CHECK(left(linear, linear) == 1);
  CHECK(left(linear, turned(0.0, -1.0)) == 1);  // the sign of a head
  CHECK(left(linear, turned(0.7, 1.0)) == 1);
  CHECK(left(turned(0.7, 1.0), turned(2.0, -1.0)) == 1);
  CHECK(left(linear, also([](LearnedMinimum& m) { layer(m, 0)(0, 0) += 0.02; })) == 2);
  CHECK(left(linear, also([](LearnedMinimum& m) { layer(m, 1)(0, 0) += 0.02; })) == 2);
  CHECK(left(linear, also([](LearnedMinimum& m) { m.of.order_parameters.readout *= 1.02; })) == 2);
  CHECK(left(linear, also([](LearnedMinimum& m) { m.z[6] = 2.02; })) == 2);
  // As long as before, but no longer orthogonal.
  CHECK(left(linear,
             also([](LearnedMinimum& m) { m.z.tail(4) = 2.0 * m.z.head(4).normalized(); })) == 2);
  // Softmax has no such symmetry.
  CHECK(left_of({linear, turned(0.7, 1.0)}).size() == 2);
}

TEST_CASE("distinct minima come lowest first, with the starts of all that led there") {
  const auto at = [](double action, int starts, bool converged) {
    return [=](LearnedMinimum& m) {
      m.action = action;
      m.starts = starts;
      m.converged = converged;
    };
  };
  const std::vector<LearnedMinimum> some =
      left_of({at(-1.0, 2, true), at(-3.0, 3, true), at(-1.0, 5, true), at(-4.0, 1, false)});
  REQUIRE(some.size() == 2);  // the lowest did not converge, and others did
  CHECK(some[0].action == -3.0);
  CHECK(some[0].starts == 3);
  CHECK(some[1].action == -1.0);
  CHECK(some[1].starts == 7);
  const std::vector<LearnedMinimum> none =
      left_of({at(-1.0, 2, false), at(-3.0, 3, false), at(-1.0, 5, false), at(-4.0, 1, false)});
  REQUIRE(none.size() == 3);
  CHECK(none[0].action == -4.0);
  CHECK(none[1].action == -3.0);
  CHECK(none[2].action == -1.0);
  CHECK(none[2].starts == 7);
  CHECK(left_of({}).empty());
}
