// The exact chain against posterior means from a sampler that shares no code with it, and, where
// U_1 is singular, against importance sampling from the prior.
#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/dataset_file.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/results/lookup.hpp"
#include "headway/sample.hpp"
#include "headway/sampling/sample.hpp"
#include "headway/solve.hpp"
#include "headway/study.hpp"
#include "io/hdf5/input.hpp"
#include "theory_problems.hpp"

using namespace headway;

namespace {

// Some 200 means are compared in this file.
const double kLargestZ = headway::testing::largest_chain_z(200);

/// The numbers of one posterior in a golden file.
struct Expected {
  std::vector<Index> widths;
  std::vector<double> variances;
  double temperature = 0.0, readout_mean = 0.0, readout_error = 0.0, accuracy = 0.0;
  MatrixXd mean, error;  // U_1
  VectorXd predictor;
};

MatrixXd square(const Tensor& tensor) {
  return Eigen::Map<const RowMatrixXd>(tensor.values.data(), tensor.shape.at(0),
                                       tensor.shape.at(1));
}

Expected read_expected(const std::string& path, const std::string& group) {
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  const auto number = [&](const char* name) { return file.number_attribute(group, name)->at(0); };
  Expected e;
  const std::vector<double> widths = *file.number_attribute(group, "widths");
  for (const double w : widths) e.widths.push_back(static_cast<Index>(w));
  e.variances = *file.number_attribute(group, "variances");
  e.temperature = number("temperature");
  e.readout_mean = number("U_a_mean");
  e.readout_error = number("U_a_standard_error");
  e.accuracy = number("accuracy");
  e.mean = square(file.read_array(group + "/U_1_mean"));
  e.error = square(file.read_array(group + "/U_1_standard_error"));
  const Tensor predictor = file.read_array(group + "/predictor_mean");
  e.predictor = Eigen::Map<const VectorXd>(predictor.values.data(),
                                           static_cast<Index>(predictor.values.size()));
  return e;
}

/// 4 chains of 2000 draws with the program's defaults for the rest.
headway::SamplePoint sample_golden(const std::string& path, const Expected& expected,
                                   const char* readout) {
  headway::Study study;
  study.task.set_kind(headway::TaskKind::kDataset);
  study.task.as<headway::DatasetOptions>().file = path;
  study.seed = 20;
  study.model.widths = {expected.widths};
  study.model.variances = expected.variances;
  study.model.temperatures = {expected.temperature};
  if (std::string(readout) == "mean") study.model.readout = Readout::kMean;
  study.sample.draws = 2000;
  study.sample.predictor_draws = 100;
  study.sample.evidence = false;
  Observer quiet;
  const headway::SampleResult result = headway::sample(study, io::read_dataset(path), quiet);
  REQUIRE(result.points.size() == 1);
  return result.points.front();
}

void check_against(const Expected& expected, const headway::SamplePoint& point) {
  REQUIRE(headway::sampling_fault(point).empty());
  const double entries_compared = static_cast<double>(point.order_parameters.front().mean.size());
  const double effective = std::min(point.ess_bulk_min, point.ess_tail_min);
  CHECK(point.rhat_max < headway::testing::largest_rhat(effective, 4, entries_compared));
  CHECK(point.divergences <= 8);  // a thousandth of the draws
  const headway::SampledMatrix& u = point.order_parameters.front();
  double squares = 0.0;
  Index entries = 0;
  for (Index i = 0; i < u.mean.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      const double z =
          (u.mean(i, j) - expected.mean(i, j)) / std::hypot(u.mcse(i, j), expected.error(i, j));
      INFO("U_1(" << i << ", " << j << ") = " << u.mean(i, j) << " against " << expected.mean(i, j)
                  << ": z = " << z);
      CHECK(std::abs(z) < kLargestZ);
      squares += z * z;
      ++entries;
    }
  }
  // Fails when many entries are off. They move together, but not as fewer than four would.
  CHECK(squares / static_cast<double>(entries) < headway::testing::mean_square_of_z(4).most);
  const headway::SampledMatrix& readout = point.readout_order_parameter;
  CHECK(std::abs(readout.mean(0, 0) - expected.readout_mean) <
        kLargestZ * std::hypot(readout.mcse(0, 0), expected.readout_error));
  // The file has no error of the predictor. It is a mean over some hundred draws.
  CHECK((point.predictor.mean.col(0) - expected.predictor)
            .cwiseAbs()
            .maxCoeff<Eigen::PropagateNaN>() < 0.15);
  CHECK(std::abs(point.predictor.accuracy - expected.accuracy) < 0.051);
}

/// A draw of all U from the Wishart chain in its plainest form: N_l Gaussian vectors of covariance
/// s_l^2 (I kron U_{l+1}) / N_l. Returns U_1.
MatrixXd draw_first_order_parameter(const model::Architecture& a, Rng& rng) {
  MatrixXd u = MatrixXd::Identity(1, 1);
  for (int l = a.layers() + 1; l >= 1; --l) {
    const Index heads = l > a.layers() ? 1 : a.heads[static_cast<std::size_t>(l - 1)];
    const Index width = a.widths[static_cast<std::size_t>(l - 1)];
    const double variance = a.variances[static_cast<std::size_t>(l)];
    const MatrixXd repeated = theory::repeat_diagonal(u, heads);
    const Eigen::SelfAdjointEigenSolver<MatrixXd> spectrum(repeated);
    const MatrixXd root =
        spectrum.eigenvectors() * spectrum.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
    const MatrixXd vectors = root * test::random_matrix(root.cols(), width, rng);
    u = variance / static_cast<double>(width) * vectors * vectors.transpose();
  }
  return u;
}

struct Reference {
  MatrixXd mean, error;
  double effective = 0.0;
};

/// E[U_1 | data] = E_prior[U_1 w] / E_prior[w], w = p(y | U_1), with the error of the ratio.
Reference importance_sampling(const test::TheoryCase& c, double temperature,
                              const theory::PathKernels& kernels) {
  constexpr int kDraws = 200000;
  Rng rng(77, StreamPurpose::kTests);
  const Index p = c.architecture.paths();
  std::vector<MatrixXd> u(kDraws);
  VectorXd log_weight(kDraws);
  for (int d = 0; d < kDraws; ++d) {
    u[d] = draw_first_order_parameter(c.architecture, rng);
    MatrixXd covariance = kernels.kernel(u[d]);
    covariance.diagonal().array() += temperature;
    const Eigen::LLT<MatrixXd> factor(covariance);
    const MatrixXd lower = factor.matrixL();
    log_weight[d] = -lower.diagonal().array().log().sum() -
                    0.5 * lower.triangularView<Eigen::Lower>().solve(c.labels).squaredNorm();
  }
  VectorXd w = (log_weight.array() - log_weight.maxCoeff()).exp();
  w /= w.sum();
  Reference r{MatrixXd::Zero(p, p), MatrixXd::Zero(p, p), 1.0 / w.squaredNorm()};
  for (int d = 0; d < kDraws; ++d) r.mean += w[d] * u[d];
  for (int d = 0; d < kDraws; ++d) {
    r.error += (w[d] * w[d]) * (u[d] - r.mean).cwiseAbs2();
  }
  r.error = r.error.cwiseSqrt();
  return r;
}

/// Keeps U_1 of every draw.
class FirstLayer final : public sampling::DrawRecorder {
 public:
  explicit FirstLayer(int chains) : draws(static_cast<std::size_t>(chains)) {}
  void record(const sampling::Draw& draw, sampling::Target& target) override {
    auto& chain = dynamic_cast<posterior::ExactChain&>(target);
    draws[static_cast<std::size_t>(draw.chain)].push_back(
        chain.observe(draw.position, false).order_parameters.layers.front());
  }
  std::vector<std::vector<MatrixXd>> draws;
};

/// The exact chain's mean of U_1 against a reference with its own error.
void check_sampled(const test::TheoryCase& c, double temperature,
                   std::shared_ptr<const theory::PathKernels> kernels, const Reference& reference,
                   sampling::MetricKind metric) {
  const posterior::ExactChain target(c.architecture, temperature, std::move(kernels),
                                     std::make_shared<MatrixXd>(0, c.features.cols()));
  sampling::SamplerOptions options;
  options.draws = 2000;
  options.seed = 4;
  options.metric = metric;
  FirstLayer recorder(options.chains);
  sampling::SamplingHooks hooks;
  hooks.recorder = &recorder;
  const sampling::SamplingResult result = sampling::sample(target, options, hooks);
  REQUIRE(result.summary.rhat_max <
          headway::testing::largest_rhat(
              std::min(result.summary.ess_bulk_min, result.summary.ess_tail_min), options.chains,
              static_cast<double>(target.dimension())));
  for (Index i = 0; i < reference.mean.rows(); ++i) {
    for (Index j = 0; j <= i; ++j) {
      MatrixXd series(options.draws, options.chains);
      for (Index k = 0; k < options.chains; ++k) {
        for (Index d = 0; d < options.draws; ++d) {
          series(d, k) =
              recorder.draws[static_cast<std::size_t>(k)][static_cast<std::size_t>(d)](i, j);
        }
      }
      const sampling::QuantityDiagnostics q = sampling::diagnose_quantity(series);
      const double z =
          (q.mean - reference.mean(i, j)) / std::hypot(q.mcse_mean, reference.error(i, j));
      INFO(sampling::metric_name(metric) << ", U_1(" << i << ", " << j << ") = " << q.mean
                                         << " against " << reference.mean(i, j));
      CHECK(std::abs(z) < kLargestZ);
    }
  }
}

}  // namespace

TEST_CASE("U_1, U_a and the predictor of the hidden-Markov task at N = 10 agree in every entry") {
  const std::string path = HEADWAY_TEST_DATA "/golden/hmm4_paths.h5";
  const Expected expected = read_expected(path, "exact_posterior/case_0_10_10_10");
  check_against(expected, sample_golden(path, expected, ""));
}

TEST_CASE("three layers of unequal widths and variances agree, with N_1 = 6 below p_1 = 12") {
  const std::string path = HEADWAY_TEST_DATA "/golden/toy3.h5";
  const Expected expected = read_expected(path, "exact_posterior/case_0_6_5_4_7");
  REQUIRE(expected.mean.rows() > expected.widths.front());
  check_against(expected, sample_golden(path, expected, "mean"));
}

TEST_CASE("a singular U_1 has the mean that importance sampling from the prior gives") {
  const std::vector<std::vector<Index>> widths = {{1, 3, 2}, {2, 1, 1}};
  for (const std::vector<Index>& w : widths) {
    test::TheoryCase c = test::random_case({2, 2}, 1, 6, 4, 23);
    c.architecture.widths = w;
    const double temperature = 0.5;
    const auto kernels = test::kernels_of(c, theory::KernelForm::kStored);
    const Reference reference = importance_sampling(c, temperature, *kernels);
    REQUIRE(reference.effective > 2000.0);

    check_sampled(c, temperature, kernels, reference, sampling::MetricKind::kDense);
    theory::PathKernelOptions compact;  // also with the kernels that large problems take
    compact.form = theory::KernelForm::kStored;
    compact.energy_tolerance = 1e-3;
    compact.compact_above_bytes = 0.0;
    check_sampled(c, temperature, theory::make_path_kernels(c.features, c.labels, 4, compact),
                  reference, sampling::MetricKind::kInformation);
  }
}
