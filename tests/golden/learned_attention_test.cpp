// Learned attention against posterior means by importance sampling from the prior, from a program
// that shares no code with this one.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/dataset.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/posterior/learned_chain.hpp"
#include "headway/posterior/tempered_evidence.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/sample.hpp"
#include "io/hdf5/input.hpp"

using namespace headway;

namespace {

// How far apart the answers may be, in standard errors of both. There are 31 means and six
// differences of evidence. A long run must agree within three in every mean.
const double kLargestZ = headway::testing::largest_chain_z(37);
constexpr double kLargestZOfLongRun = 3.0;
const char* const kFile = HEADWAY_TEST_DATA "/golden/learned_attention.h5";

struct Golden {
  std::vector<int> heads;
  std::vector<Index> widths;
  double variance = 1.0, weight_variance = 1.0, temperature = 1.0;
  double log_evidence = 0.0, log_evidence_error = 0.0;
  Tensor inputs, test_inputs;
  MatrixXd labels;
  std::vector<double> mean, error;
};

// Examples [begin, begin + count) of all.
Tensor part(const Tensor& all, Index begin, Index count) {
  Tensor out({count, all.shape[1], all.shape[2]});
  const Index size = all.shape[1] * all.shape[2];
  std::copy_n(all.values.begin() + begin * size, count * size, out.values.begin());
  return out;
}

Golden read_golden(const std::string& name) {
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(kFile);
  const auto numbers = [&](const char* key) { return *file.number_attribute(name, key); };
  Golden g;
  for (const double h : numbers("heads")) g.heads.push_back(static_cast<int>(h));
  for (const double n : numbers("widths")) g.widths.push_back(static_cast<Index>(n));
  g.variance = numbers("s2")[0];
  g.weight_variance = numbers("sw2")[0];
  g.temperature = numbers("T")[0];
  g.log_evidence = numbers("log_evidence")[0];
  g.log_evidence_error = numbers("log_evidence_error")[0];
  const auto examples = static_cast<Index>(numbers("P")[0]);
  const Tensor inputs = file.read_array(name + "/inputs");
  g.inputs = part(inputs, 0, examples);
  g.test_inputs = part(inputs, examples, inputs.shape[0] - examples);
  const Tensor labels = file.read_array(name + "/labels");
  g.labels = Eigen::Map<const VectorXd>(labels.values.data(), examples);
  g.mean = file.read_array(name + "/mean").values;
  g.error = file.read_array(name + "/standard_error").values;
  return g;
}

// The table's quantities of every draw, in the order of the file.
class Recorder final : public sampling::DrawRecorder {
 public:
  explicit Recorder(int chains) : draws(static_cast<std::size_t>(chains)) {}

  void record(const sampling::Draw& draw, sampling::Target& target) override {
    auto& chain = dynamic_cast<posterior::LearnedChain&>(target);
    const posterior::PosteriorDraw seen = chain.observe(draw.position, true);
    const MatrixXd& u = seen.order_parameters.layers.front();
    VectorXd diagonal = u.diagonal();
    std::sort(diagonal.begin(), diagonal.end());
    std::vector<double> row = {seen.order_parameters.readout(0, 0), u.trace(), u.squaredNorm()};
    row.insert(row.end(), diagonal.begin(), diagonal.end());
    row.push_back(seen.attention_largest);
    row.push_back(seen.attention_entropy);
    const model::AttentionCoordinates& weights = chain.coordinates();
    const std::vector<int>& heads = weights.prior().heads;
    const VectorXd z = draw.position.head(chain.weights());
    const Index n = weights.features();
    double rms = 0.0;
    double trace = 0.0;
    for (int h = 0; h < heads.back(); ++h) {
      const MatrixXd w = weights.weights(z, heads.size() - 1, h);
      rms += w.norm() / static_cast<double>(n) / heads.back();
      trace += w.trace();
    }
    MatrixXd first = MatrixXd::Zero(n, n);
    for (int h = 0; h < heads.front(); ++h) first += weights.weights(z, 0, h) / heads.front();
    row.push_back(rms);
    row.push_back(first.squaredNorm());
    row.push_back(trace);
    for (const double f : seen.mean.col(0)) row.push_back(f);
    draws[static_cast<std::size_t>(draw.chain)].push_back(std::move(row));
  }

  std::vector<std::vector<std::vector<double>>> draws;  // chain, draw, quantity
};

void check_golden(const std::string& name, int draws_of_chain, double largest_z) {
  const Golden golden = read_golden(name);
  model::Architecture architecture;
  architecture.heads = golden.heads;
  architecture.widths = golden.widths;
  architecture.variances.assign(golden.heads.size() + 2, golden.variance);
  model::AttentionPrior prior;
  prior.heads = golden.heads;
  prior.variance = golden.weight_variance;
  const auto attention = [&](const Tensor& inputs) {
    return std::make_shared<const model::LearnedAttention>(
        tasks::MemoryExamples(inputs), prior, std::vector<LayerHeads>{}, Readout::kLastToken);
  };
  const posterior::LearnedChain target(architecture, golden.temperature, attention(golden.inputs),
                                       std::make_shared<MatrixXd>(golden.labels),
                                       attention(golden.test_inputs));
  sampling::SamplerOptions options;
  options.chains = 4;
  options.warmup = 300;
  options.draws = draws_of_chain;
  options.seed = 5;
  options.replicas = 6;
  options.metric = sampling::MetricKind::kDense;
  options.target_accept = 0.7;
  options.keep_draws = false;
  Recorder recorder(options.chains);
  sampling::SamplingHooks hooks;
  hooks.recorder = &recorder;
  const sampling::SamplingResult result = sampling::sample(target, options, hooks);
  const auto draws = static_cast<Index>(options.draws);
  double squares = 0.0;
  for (std::size_t q = 0; q < golden.mean.size(); ++q) {
    MatrixXd series(draws, options.chains);
    for (Index c = 0; c < series.cols(); ++c) {
      for (Index d = 0; d < draws; ++d) {
        series(d, c) = recorder.draws[static_cast<std::size_t>(c)][static_cast<std::size_t>(d)][q];
      }
    }
    const sampling::QuantityDiagnostics seen = sampling::diagnose_quantity(series);
    const double z = (seen.mean - golden.mean[q]) / std::hypot(seen.mcse_mean, golden.error[q]);
    INFO(name << ", quantity " << q << ": " << seen.mean << " +- " << seen.mcse_mean << " against "
              << golden.mean[q] << " +- " << golden.error[q] << ", z = " << z << ", R-hat "
              << seen.rhat << ", effective draws " << seen.ess_bulk);
    CHECK(std::abs(z) < largest_z);
    const double effective = std::min(seen.ess_bulk, seen.ess_tail);
    CHECK(seen.rhat < headway::testing::largest_rhat(effective, options.chains, 31));
    squares += z * z;
  }
  // Fails when many means are off. They move together, but not as fewer than four would.
  CHECK(squares / static_cast<double>(golden.mean.size()) <
        headway::testing::mean_square_of_z(4).most);

  std::vector<posterior::TemperedDraws> tempered;
  for (const sampling::ChainState& chain : result.state.chains) {
    posterior::TemperedDraws one{chain.ladder.inverse_temperatures,
                                 MatrixXd(draws, options.replicas)};
    const auto column = [&](Index k, const std::vector<double>& l) {
      one.log_likelihoods.col(k) = Eigen::Map<const VectorXd>(l.data(), draws);
    };
    column(0, chain.log_likelihoods);
    for (std::size_t k = 0; k < chain.replicas.size(); ++k) {
      column(static_cast<Index>(k) + 1, chain.replicas[k].log_likelihoods);
    }
    tempered.push_back(std::move(one));
  }
  const posterior::TemperedEvidence evidence = posterior::tempered_evidence(tempered);
  const double constant =
      -0.5 * static_cast<double>(golden.labels.size()) * std::log(2.0 * std::numbers::pi);
  INFO("bridge " << evidence.bridge + constant << " +- " << evidence.bridge_error << ", integral "
                 << evidence.integral + constant << " +- " << evidence.integral_error << " against "
                 << golden.log_evidence << " +- " << golden.log_evidence_error);
  CHECK(std::abs(evidence.bridge + constant - golden.log_evidence) <
        kLargestZ * std::hypot(evidence.bridge_error, golden.log_evidence_error));
  CHECK(std::abs(evidence.integral + constant - golden.log_evidence) <
        kLargestZ * std::hypot(evidence.integral_error, golden.log_evidence_error));
  CHECK(std::abs(evidence.integral - evidence.bridge) <
        kLargestZ * std::hypot(evidence.integral_error, evidence.bridge_error));
  CHECK(evidence.bridge_error < 0.05);
  CHECK(evidence.integral_error < 0.1);
}

}  // namespace

TEST_CASE("one layer of learned heads has the posterior of importance sampling") {
  check_golden("one_layer", 900, kLargestZ);
}

TEST_CASE("two layers of learned heads have the posterior of importance sampling") {
  check_golden("two_layers", 900, kLargestZ);
}

// Minutes, so it runs only if asked for: golden_tests "[long]"
TEST_CASE("learned heads agree with importance sampling within three errors", "[.][long]") {
  for (const std::string name : {"one_layer", "two_layers"}) {
    check_golden(name, 8000, kLargestZOfLongRun);
  }
}
