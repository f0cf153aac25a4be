#include "headway/model/value_kernel.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/dataset.hpp"
#include "headway/error.hpp"
#include "headway/path_features.hpp"
#include "headway/path_kernels.hpp"
#include "random_examples.hpp"
#include "theory_problems.hpp"

using namespace headway;
using model::ValueForm;
using model::ValueSites;
using numerics::Nonlinearity;
using tasks::MemoryExamples;
using testing::random_tensor;

namespace {

constexpr ValueForm kForms[] = {ValueForm::kHyla, ValueForm::kPerHead, ValueForm::kBeforeAttention,
                                ValueForm::kAfterAttention};
constexpr Nonlinearity kNonlinearities[] = {Nonlinearity::kRelu, Nonlinearity::kErf,
                                            Nonlinearity::kIdentity};
constexpr Index kExamples = 5, kTokens = 4, kFeatures = 3;
constexpr int kHeads = 2;

ValueSites sites_of(const ExampleSource& examples, const model::ValueNetwork& network,
                    Readout readout = Readout::kMean, const std::vector<int>& heads = {kHeads}) {
  Observer observer;
  return model::value_sites(network, examples, heads, {}, {.readout = readout}, observer);
}

/// Examples with signed attention, whose rows sum to nothing in particular.
struct Drawn {
  explicit Drawn(Rng& rng)
      : inputs(random_tensor({kExamples, kTokens, kFeatures}, rng)),
        attention(random_tensor({kExamples, kHeads, kTokens, kTokens}, rng)) {}

  [[nodiscard]] ValueSites sites(ValueForm form, Nonlinearity phi, Readout readout) const {
    return sites_of(MemoryExamples(inputs, {}, {attention}), {form, phi}, readout);
  }
  [[nodiscard]] double a(Index i, int h, Index q, Index t) const {
    return attention
        .values[static_cast<std::size_t>(((i * kHeads + h) * kTokens + q) * kTokens + t)];
  }
  [[nodiscard]] VectorXd x(Index i, Index t) const {
    return Eigen::Map<const VectorXd>(inputs.values.data() + (i * kTokens + t) * kFeatures,
                                      kFeatures);
  }

  Tensor inputs, attention;
};

double query_weight(Readout readout, Index q) {
  if (readout == Readout::kMean) return 1.0 / kTokens;
  return q == (readout == Readout::kLastToken ? kTokens - 1 : 0) ? 1.0 : 0.0;
}

/// What each hidden unit with weights v gives the readout: sum_m A_rm phi(psi_m . v), straight from
/// the definitions.
VectorXd hidden(const Drawn& data, ValueForm form, Readout readout, Nonlinearity phi, Index i,
                const VectorXd& v) {
  const double side_by_side = std::sqrt(static_cast<double>(kHeads * kFeatures));
  const double alone = std::sqrt(static_cast<double>(kFeatures));
  VectorXd out = VectorXd::Zero(form == ValueForm::kAfterAttention ? 1 : kHeads);
  const auto slot = [&](int h) { return v.segment(h * kFeatures, kFeatures); };
  for (Index q = 0; q < kTokens; ++q) {
    const double w = query_weight(readout, q);
    double after = 0.0;
    for (Index t = 0; t < kTokens; ++t) {
      double mixed = 0.0;  // of all heads; before attention there are no slots
      for (int h = 0; h < kHeads && form != ValueForm::kBeforeAttention; ++h)
        mixed += data.a(i, h, q, t) * data.x(i, t).dot(slot(h));
      after += mixed;
      for (int h = 0; h < kHeads; ++h) {
        const double share = w * data.a(i, h, q, t);
        if (form == ValueForm::kHyla)
          out[h] += share * numerics::apply_nonlinearity(phi, mixed / side_by_side);
        if (form == ValueForm::kPerHead)
          out[h] += share * numerics::apply_nonlinearity(phi, data.x(i, t).dot(slot(h)) / alone);
        if (form == ValueForm::kBeforeAttention)
          out[h] += share * numerics::apply_nonlinearity(phi, data.x(i, t).dot(v) / alone);
      }
    }
    if (form == ValueForm::kAfterAttention)
      out[0] += w * numerics::apply_nonlinearity(phi, after / side_by_side);
  }
  return out;
}

MatrixXd kernel_of(const ValueSites& sites, const MatrixXd& s, int threads = 1) {
  const MatrixXd factor = numerics::SpdFactor::factor(s)->lower();
  return model::value_kernel(model::WhitenedSites(sites, factor), threads);
}

MatrixXd random_covariance(ValueForm form, Rng& rng) {
  return test::random_spd(model::value_inputs(form, {kHeads}, kFeatures), rng);
}

}  // namespace

TEST_CASE("the kernel of a value network is the covariance of drawn hidden units") {
  Rng rng(5, StreamPurpose::kTests);
  const Drawn data(rng);
  constexpr Index kDraws = 2000;
  // 4 forms x 3 nonlinearities x up to 100 entries: beyond 6.5 errors one run in ten million fails.
  constexpr double kLargestZ = 6.5;
  for (const ValueForm form : kForms) {
    for (const Nonlinearity phi : kNonlinearities) {
      for (const Readout readout : {Readout::kLastToken, Readout::kMean}) {
        const ValueSites sites = data.sites(form, phi, readout);
        const Index r = sites.readouts(), n = r * kExamples;
        const MatrixXd s = random_covariance(form, rng);
        const MatrixXd factor = numerics::SpdFactor::factor(s)->lower();
        const MatrixXd kernel = kernel_of(sites, s);
        MatrixXd sum = MatrixXd::Zero(n, n), squares = MatrixXd::Zero(n, n);
        for (Index draw = 0; draw < kDraws; ++draw) {
          VectorXd z(s.rows());
          for (double& x : z) x = rng.normal();
          const VectorXd v = factor * z;
          VectorXd all(n);
          for (Index i = 0; i < kExamples; ++i) {
            const VectorXd h = hidden(data, form, readout, phi, i, v);
            for (Index k = 0; k < r; ++k) all[k * kExamples + i] = h[k];
          }
          const MatrixXd product = all * all.transpose() / static_cast<double>(r);
          sum += product;
          squares += product.cwiseAbs2();
        }
        const MatrixXd mean = sum / kDraws;
        const MatrixXd error = ((squares / kDraws - mean.cwiseAbs2()) / kDraws).cwiseSqrt();
        INFO(word_of(form) << " " << word_of(phi));
        REQUIRE(((kernel - mean).array().abs() / error.array()).maxCoeff<Eigen::PropagateNaN>() <
                kLargestZ);
      }
    }
  }
}

TEST_CASE("kernels do not depend on threads or tiles, and are symmetric") {
  Rng rng(6, StreamPurpose::kTests);
  Tensor inputs = random_tensor({90, kTokens, kFeatures}, rng);
  Tensor attention = random_tensor({90, kHeads, kTokens, kTokens}, rng);
  // 16 sites an example: several tiles.
  const ValueSites all =
      sites_of(MemoryExamples(inputs, {}, {attention}), {ValueForm::kHyla, Nonlinearity::kRelu});
  const MatrixXd s = random_covariance(ValueForm::kHyla, rng);
  const MatrixXd factor = numerics::SpdFactor::factor(s)->lower();
  const model::WhitenedSites white(all, factor);
  const MatrixXd one = model::value_kernel(white, 1);
  REQUIRE(one == model::value_kernel(white, 3));
  REQUIRE(one == one.transpose());
  const double largest = one.cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
  const MatrixXd between = model::value_kernel(white, white, 2);
  REQUIRE((one - between).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13 * largest);
  const MatrixXd diagonal = model::value_kernel_diagonal(white);
  for (const Index i : {Index{0}, Index{47}, Index{89}}) {
    for (Index r = 0; r < kHeads; ++r) {
      for (Index q = 0; q < kHeads; ++q)
        REQUIRE(std::abs(diagonal(i * kHeads + r, q) - one(r * 90 + i, q * 90 + i)) <
                1e-13 * largest);
    }
  }
  const MatrixXd b = test::random_symmetric(one.rows(), rng);
  const MatrixXd slope = model::value_kernel_slope(white, b, 1);
  REQUIRE(slope == model::value_kernel_slope(white, b, 3));
}

TEST_CASE("the slope of a kernel over S is its finite difference") {
  Rng rng(7, StreamPurpose::kTests);
  const Drawn data(rng);
  for (const ValueForm form : kForms) {
    for (const Nonlinearity phi : kNonlinearities) {
      const ValueSites sites = data.sites(form, phi, Readout::kMean);
      const MatrixXd s = random_covariance(form, rng);
      const MatrixXd b = test::random_symmetric(sites.readouts() * kExamples, rng);
      const MatrixXd factor = numerics::SpdFactor::factor(s)->lower();
      const MatrixXd slope = model::value_kernel_slope(model::WhitenedSites(sites, factor), b, 1);
      const MatrixXd direction = test::random_symmetric(s.rows(), rng);
      const double h = 1e-5;
      const double expected =
          (kernel_of(sites, s + h * direction) - kernel_of(sites, s - h * direction))
              .cwiseProduct(b)
              .sum() /
          (2.0 * h);
      INFO(word_of(form) << " " << word_of(phi));
      REQUIRE(std::abs(slope.cwiseProduct(direction).sum() - expected) <
              1e-7 * std::max(1.0, std::abs(expected)));
    }
  }
}

TEST_CASE("before attention, the identity gives the path kernels of linear values") {
  Rng rng(8, StreamPurpose::kTests);
  const Tensor inputs = random_tensor({kExamples, kTokens, kFeatures}, rng);
  const std::vector<int> heads = {2, 3};
  std::vector<Tensor> attention;
  for (const int h : heads)
    attention.push_back(random_tensor({kExamples, h, kTokens, kTokens}, rng));
  const MemoryExamples examples(inputs, {}, attention);
  Observer observer;
  const ValueSites sites = sites_of(
      examples, {ValueForm::kBeforeAttention, Nonlinearity::kIdentity}, Readout::kMean, heads);
  const MatrixXd kernel = kernel_of(sites, 1.3 * MatrixXd::Identity(kFeatures, kFeatures));
  const MatrixXd features = theory::PathKernels::scale_features(
      model::path_features(examples, heads, {}, {.readout = Readout::kMean}, observer), 6, 1.3);
  for (Index a = 0; a < 6; ++a) {
    for (Index b = 0; b < 6; ++b) {
      const MatrixXd expected = features.middleCols(a * kFeatures, kFeatures) *
                                features.middleCols(b * kFeatures, kFeatures).transpose();
      REQUIRE((kernel.block(a * kExamples, b * kExamples, kExamples, kExamples) - expected)
                  .cwiseAbs()
                  .maxCoeff<Eigen::PropagateNaN>() <
              1e-14 * (1.0 + expected.cwiseAbs().maxCoeff<Eigen::PropagateNaN>()));
    }
  }
}

TEST_CASE("forms of one layer refuse data of several, by name") {
  Rng rng(9, StreamPurpose::kTests);
  const Tensor inputs = random_tensor({2, 3, 2}, rng);
  const MemoryExamples examples(
      inputs, {}, {random_tensor({2, 1, 3, 3}, rng), random_tensor({2, 1, 3, 3}, rng)});
  REQUIRE_THROWS_WITH(
      sites_of(examples, {ValueForm::kHyla, Nonlinearity::kRelu}, Readout::kMean, {1, 1}),
      Catch::Matchers::ContainsSubstring("model.value_network.form = \"hyla\"") &&
          Catch::Matchers::ContainsSubstring("before_attention"));
}
