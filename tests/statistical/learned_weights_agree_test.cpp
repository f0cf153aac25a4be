// The posterior of learned attention over order parameters, against NUTS over all weights: values,
// readout and attention. The same comparison rejects wrong samplers.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "chance.hpp"
#include "headway/posterior/learned_chain.hpp"
#include "headway/sampling/sample.hpp"
#include "larger.hpp"
#include "learned_problems.hpp"
#include "posterior/weight_network.hpp"

using namespace headway;
using headway::testing::learned_data;
using headway::testing::LearnedData;
using headway::testing::LearnedProblem;

namespace {

// Right samplers are compared in 36 means.
const double kLargestZ = testing::largest_chain_z(36);
constexpr double kTemperature = 0.3;
constexpr Index kWidth = 3;

// All weights in units of their prior deviations: attention first, then the network's.
class AllWeights final : public sampling::Target, public posterior::PosteriorTarget {
 public:
  AllWeights(const LearnedProblem& problem, const LearnedData& data)
      : network_(std::make_shared<posterior::WeightNetwork>(
            testing::learned_architecture(problem, kWidth), data.attention->features())),
        attention_(data.attention),
        labels_(data.labels),
        scale_(std::sqrt(1.0 / static_cast<double>(attention_->features() * attention_->paths()))) {
  }

  [[nodiscard]] Index dimension() const override {
    return attention_->dimension() + network_->dimension();
  }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    const VectorXd z = q.head(attention_->dimension());
    const VectorXd w = q.tail(network_->dimension());
    MatrixXd x;
    if (!attention_->path_features(z, scale_, pass_, x)) return std::nan("");
    std::vector<MatrixXd> effective;
    network_->effective_weights(w, 0, effective);
    const MatrixXd slope = (*labels_ - network_->output(x, effective[0])) / kTemperature;
    VectorXd w_gradient(w.size());
    network_->pull_back(w, x, slope, effective, w_gradient);
    const Index n = attention_->features();
    MatrixXd x_slope(x.rows(), x.cols());
    for (Index path = 0; path < attention_->paths(); ++path) {
      x_slope.middleCols(path * n, n) =
          slope * effective[0].middleRows(path * labels_->cols(), labels_->cols());
    }
    VectorXd z_gradient = -z;
    attention_->pull_back(z, scale_, x_slope, pass_, z_gradient);
    gradient << z_gradient, w_gradient - w;
    return -0.5 * q.squaredNorm() - 0.5 * kTemperature * slope.squaredNorm();
  }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<AllWeights>(*this);
  }
  posterior::PosteriorDraw observe(const Eigen::Ref<const VectorXd>& q,
                                   bool /*predictor*/) override {
    const VectorXd z = q.head(attention_->dimension());
    std::vector<MatrixXd> effective;
    network_->effective_weights(q.tail(network_->dimension()), 0, effective);
    posterior::PosteriorDraw draw;
    draw.order_parameters.layers.emplace_back(effective[1] * effective[1].transpose());
    const MatrixXd& top = effective[static_cast<std::size_t>(network_->top())];
    draw.order_parameters.readout = top * top.transpose();
    MatrixXd x;
    static_cast<void>(attention_->path_features(z, scale_, pass_, x));
    draw.mean = network_->output(x, effective[0]);
    const model::AttentionStatistics seen = attention_->statistics(z, pass_);
    draw.attention_entropy = seen.entropy;
    draw.attention_largest = seen.largest;
    return draw;
  }

 private:
  std::shared_ptr<const posterior::WeightNetwork> network_;
  std::shared_ptr<const model::LearnedAttention> attention_;
  std::shared_ptr<const MatrixXd> labels_;
  double scale_;
  model::LearnedAttention::Workspace pass_;
};

class Recorder final : public sampling::DrawRecorder {
 public:
  explicit Recorder(int chains) : draws(static_cast<std::size_t>(chains)) {}
  void record(const sampling::Draw& draw, sampling::Target& target) override {
    const posterior::PosteriorDraw seen =
        dynamic_cast<posterior::PosteriorTarget&>(target).observe(draw.position, true);
    const MatrixXd& u = seen.order_parameters.layers.front();
    const bool predicts = seen.mean.size() > 0;
    draws[static_cast<std::size_t>(draw.chain)].push_back(
        {seen.order_parameters.readout.trace(), u.trace(), u.diagonal().maxCoeff(), u.sum(),
         seen.attention_largest, predicts ? seen.mean(0, 0) : 0.0,
         predicts ? seen.mean(3, 0) : 0.0});
  }
  std::vector<std::vector<std::vector<double>>> draws;
};

std::vector<sampling::QuantityDiagnostics> means(const sampling::Target& target, int replicas,
                                                 int draws = 700) {
  sampling::SamplerOptions options;
  options.chains = 4;
  options.warmup = std::min(300, draws);
  options.draws = draws;
  options.seed = 3;
  options.metric = sampling::MetricKind::kDense;
  options.replicas = replicas;
  options.keep_draws = false;
  Recorder recorder(options.chains);
  sampling::SamplingHooks hooks;
  hooks.recorder = &recorder;
  sampling::sample(target, options, hooks);
  std::vector<sampling::QuantityDiagnostics> all;
  for (std::size_t q = 0; q < recorder.draws[0][0].size(); ++q) {
    MatrixXd series(draws, options.chains);
    for (Index c = 0; c < series.cols(); ++c) {
      for (Index d = 0; d < draws; ++d) {
        series(d, c) = recorder.draws[static_cast<std::size_t>(c)][static_cast<std::size_t>(d)][q];
      }
    }
    all.push_back(sampling::diagnose_quantity(series));
  }
  return all;
}

// Largest |z| between the means of two samplers.
double largest_z(const std::vector<sampling::QuantityDiagnostics>& a,
                 const std::vector<sampling::QuantityDiagnostics>& b) {
  double largest = 0.0;
  for (std::size_t q = 0; q < a.size(); ++q) {
    const double z = std::abs(a[q].mean - b[q].mean) / std::hypot(a[q].mcse_mean, b[q].mcse_mean);
    UNSCOPED_INFO("quantity " << q << ": " << a[q].mean << " +- " << a[q].mcse_mean << ", "
                              << b[q].mean << " +- " << b[q].mcse_mean << ", R-hat " << a[q].rhat
                              << ", " << b[q].rhat);
    largest = headway::testing::larger(largest, z);
  }
  return largest;
}

LearnedProblem problem_of(model::AttentionPriorForm form, model::LearnedKind kind) {
  LearnedProblem problem;
  problem.name = "weights";
  problem.prior = {{2}, form, 4.0, form == model::AttentionPriorForm::kMatrix ? 0 : 1, kind, {}};
  problem.shape = {6, 3, 2};
  return problem;
}

// The posterior with one of several errors.
class Broken final : public sampling::TemperedTarget, public posterior::PosteriorTarget {
 public:
  enum class Fault { kNoJacobian, kFrozenAttention };
  Broken(const posterior::LearnedChain& chain, Fault fault) : chain_(chain), fault_(fault) {}
  [[nodiscard]] Index dimension() const override { return chain_.dimension(); }
  double log_density(const Eigen::Ref<const VectorXd>& q, Eigen::Ref<VectorXd> gradient) override {
    double value = chain_.log_density(q, gradient);
    const Index weights = chain_.weights();
    if (fault_ == Fault::kFrozenAttention) {
      // The attention does not learn: it keeps its prior, and U sees a fixed attention.
      VectorXd changed = q;
      changed.head(weights).setZero();
      value = chain_.log_density(changed, gradient) - 0.5 * q.head(weights).squaredNorm();
      gradient.head(weights) = -q.head(weights);
    } else {
      // Leaves out the Jacobian d B / d x of the readout's coordinate, the first after the
      // attention's.
      const double k = static_cast<double>(kWidth);
      value -= q[weights] / std::sqrt(2.0 * k);
      gradient[weights] -= 1.0 / std::sqrt(2.0 * k);
    }
    return value;
  }
  void set_inverse_temperature(double beta) override { chain_.set_inverse_temperature(beta); }
  double log_likelihood(const Eigen::Ref<const VectorXd>& q) override {
    return chain_.log_likelihood(q);
  }
  double sweep(Rng& rng, Eigen::Ref<VectorXd> q) override { return chain_.sweep(rng, q); }
  bool draw_start(Rng& rng, Eigen::Ref<VectorXd> q) override { return chain_.draw_start(rng, q); }
  [[nodiscard]] std::unique_ptr<Target> clone() const override {
    return std::make_unique<Broken>(*this);
  }
  posterior::PosteriorDraw observe(const Eigen::Ref<const VectorXd>& q, bool predictor) override {
    return chain_.observe(q, predictor);
  }

 private:
  posterior::LearnedChain chain_;
  Fault fault_;
};

}  // namespace

// A small problem. Each mean has about 1,800 effective draws, and an error of a fortieth of its
// deviation.
TEST_CASE("the posterior over order parameters is that over all weights") {
  for (const auto form :
       {model::AttentionPriorForm::kMatrix, model::AttentionPriorForm::kQueriesKeys}) {
    for (const auto kind : {model::LearnedKind::kSoftmax, model::LearnedKind::kLinear}) {
      const LearnedProblem problem = problem_of(form, kind);
      const LearnedData data = learned_data(problem);
      const auto all = means(AllWeights(problem, data), 1);
      const auto chain = means(testing::learned_chain(problem, data, kTemperature, kWidth), 5);
      CHECK(largest_z(all, chain) < kLargestZ);
      if (form != model::AttentionPriorForm::kMatrix) continue;
      const Broken broken(testing::learned_chain(problem, data, kTemperature, kWidth),
                          Broken::Fault::kNoJacobian);
      CHECK(largest_z(all, means(broken, 1)) > kLargestZ);
    }
  }
}

TEST_CASE("attention that does not learn is noticed") {
  LearnedProblem problem =
      problem_of(model::AttentionPriorForm::kMatrix, model::LearnedKind::kSoftmax);
  problem.prior.variance = 25.0;
  problem.shape = {12, 4, 2};
  LearnedData data = learned_data(problem);
  // The label is the first feature of the token with the largest second one: attention can learn
  // it.
  std::vector<double> inputs(12 * 4 * 2);
  data.examples->read_inputs(0, 12, inputs.data());
  MatrixXd labels(12, 1);
  for (Index i = 0; i < 12; ++i) {
    const Eigen::Map<const RowMatrixXd> tokens(inputs.data() + i * 8, 4, 2);
    Index chosen = 0;
    tokens.col(1).maxCoeff(&chosen);
    labels(i, 0) = 2.0 * tokens(chosen, 0);
  }
  data.labels = std::make_shared<MatrixXd>(labels);
  const posterior::LearnedChain chain = testing::learned_chain(problem, data, 0.1, kWidth);
  const Broken broken(chain, Broken::Fault::kFrozenAttention);
  CHECK(largest_z(means(chain, 5, 200), means(broken, 1, 200)) > kLargestZ);
}

TEST_CASE("without data the posterior is the prior") {
  LearnedProblem problem =
      problem_of(model::AttentionPriorForm::kMatrix, model::LearnedKind::kSoftmax);
  problem.shape.examples = 0;
  const auto sampled =
      means(testing::learned_chain(problem, learned_data(problem), kTemperature, kWidth), 1, 2000);
  CHECK(std::abs(sampled[0].mean - 1.0) < kLargestZ * sampled[0].mcse_mean);  // s_a^2
  CHECK(std::abs(sampled[1].mean - 2.0) < kLargestZ * sampled[1].mcse_mean);  // p s_1^2 s_a^2
}

TEST_CASE("a prior of nearly no variance has the posterior of uniform attention") {
  LearnedProblem problem =
      problem_of(model::AttentionPriorForm::kMatrix, model::LearnedKind::kSoftmax);
  problem.prior.variance = 1e-12;
  const LearnedData data = learned_data(problem);
  auto learned = means(testing::learned_chain(problem, data, kTemperature, kWidth), 1);
  LearnedProblem uniform = problem;  // both heads given, with W = 0
  uniform.prior.frozen = {{0, 0}, {0, 1}};
  LearnedData given = learned_data(uniform);
  given.given[0].weights.assign(2, MatrixXd::Zero(2, 2));
  given.attention = std::make_shared<model::LearnedAttention>(*given.examples, uniform.prior,
                                                              given.given, uniform.readout);
  auto fixed = means(testing::learned_chain(uniform, given, kTemperature, kWidth), 1);
  for (auto* quantities : {&learned, &fixed}) {  // given attention is a constant without an error
    CHECK(std::abs((*quantities)[4].mean - 1.0 / 3.0) < 1e-5);
    quantities->erase(quantities->begin() + 4);
  }
  CHECK(largest_z(learned, fixed) < kLargestZ);
}
