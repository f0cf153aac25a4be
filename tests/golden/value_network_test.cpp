// Value networks against saddle points and kernels of independent solvers.
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/posterior/value_chain.hpp"
#include "headway/predictor.hpp"
#include "headway/sampling/diagnostics.hpp"
#include "headway/sampling/sample.hpp"
#include "headway/theory/value_saddle.hpp"
#include "io/hdf5/input.hpp"
#include "larger.hpp"

using namespace headway;

namespace {

const char* const kFile = HEADWAY_TEST_DATA "/golden/value_network.h5";
/// Saddle points of deepbays, made by tests/data/make_renormalisation.py.
const char* const kDeepbaysFile = HEADWAY_TEST_DATA "/golden/renormalisation.h5";
constexpr double kGoldenPrecision = 1e-6;  // of the solver that made the file
// Where N_a is this large, the file's U_a is its prior value, and its entropy is left out.
constexpr double kInfiniteWidth = 1e8;

struct Setting {
  std::string name;
  model::ValueNetwork network;
  Readout readout;
  const char* file = kFile;
};

const std::vector<Setting> kSettings = {
    {"hyla_relu", {model::ValueForm::kHyla, numerics::Nonlinearity::kRelu}, Readout::kLastToken},
    {"before_relu",
     {model::ValueForm::kBeforeAttention, numerics::Nonlinearity::kRelu},
     Readout::kMean},
    {"after_relu",
     {model::ValueForm::kAfterAttention, numerics::Nonlinearity::kRelu},
     Readout::kMean},
};

/// Examples [begin, begin + count) of all.
Tensor part(const Tensor& all, Index begin, Index count) {
  std::vector<Index> shape = all.shape;
  shape[0] = count;
  Tensor out(shape);
  const Index size = static_cast<Index>(out.values.size()) / count;
  std::copy_n(all.values.begin() + begin * size, count * size, out.values.begin());
  return out;
}

class Golden {
 public:
  explicit Golden(const Setting& setting) : name_(setting.name), file_(setting.file) {
    const Tensor inputs = array("inputs"), attention = array("attention"), labels = array("labels");
    const auto examples = static_cast<Index>(labels.values.size());
    const Index others = inputs.shape[0] - examples;
    heads_ = {static_cast<int>(attention.shape[1])};
    const auto sites = [&](Index begin, Index count) {
      Observer observer;
      const tasks::MemoryExamples part_of(part(inputs, begin, count), {},
                                          {part(attention, begin, count)});
      return model::value_sites(setting.network, part_of, heads_, {}, {.readout = setting.readout},
                                observer);
    };
    train = sites(0, examples);
    test = sites(examples, others);
    problem.architecture.heads = {static_cast<int>(train.readouts())};
    for (const double n : numbers("widths"))
      problem.architecture.widths.push_back(static_cast<Index>(n));
    problem.architecture.variances = numbers("variances");
    problem.temperature = numbers("T")[0];
    problem.labels = Eigen::Map<const VectorXd>(labels.values.data(), examples);
    problem.sites = &train;
    problem.kernels.threads = 1;
  }
  Golden(const Golden&) = delete;
  Golden& operator=(const Golden&) = delete;

  [[nodiscard]] Tensor array(const std::string& what) const {
    const io::Hdf5Lock lock;
    return io::Hdf5InputFile(file_).read_array(name_ + "/" + what);
  }
  [[nodiscard]] MatrixXd matrix(const std::string& what) const {
    const Tensor t = array(what);
    const Index rows = t.shape.empty() ? 1 : t.shape[0];
    return Eigen::Map<const RowMatrixXd>(t.values.data(), rows,
                                         static_cast<Index>(t.values.size()) / rows);
  }
  /// The action without the readout's entropy, where the file leaves it out.
  [[nodiscard]] double action_in_file(double action, double u_a) const {
    const double n_a = problem.architecture.width(2), s_a = problem.architecture.variance(2);
    return n_a < kInfiniteWidth ? action : action - n_a * (u_a / s_a - std::log(u_a));
  }

  model::ValueSites train, test;
  theory::ValueProblem problem;

 private:
  [[nodiscard]] std::vector<double> numbers(const char* key) const {
    const io::Hdf5Lock lock;
    return *io::Hdf5InputFile(file_).number_attribute(name_, key);
  }
  std::string name_;
  const char* file_;
  std::vector<int> heads_;
};

double distance(const MatrixXd& a, const MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
}

void check_prediction(const Golden& golden, const std::string& group, const MatrixXd& s,
                      const theory::SaddlePoint& inner) {
  const theory::ValueFeatures features = theory::value_features(golden.train, golden.test, s, 1);
  const theory::Action at(
      golden.problem.architecture, golden.problem.temperature,
      theory::make_path_kernels(features.train, golden.problem.labels, golden.train.readouts()));
  const theory::Action::Evaluation evaluation = at.evaluate(inner.order_parameters);
  REQUIRE(evaluation.energy);
  const theory::Prediction prediction = evaluation.energy->predict(features.other);
  CHECK(distance(prediction.mean, golden.matrix(group + "/mean")) < kGoldenPrecision);
  CHECK(distance(prediction.variance, golden.matrix(group + "/variance")) < kGoldenPrecision);
}

void check_saddle(const Golden& golden, const std::string& group, const MatrixXd& s,
                  const theory::SaddlePoint& inner, double feature_entropy) {
  const double u_a = inner.order_parameters.readout(0, 0);
  const double action = golden.action_in_file(inner.evaluation.value + feature_entropy, u_a);
  CHECK(std::abs(action - golden.matrix(group + "/action")(0, 0)) < 1e-6 * std::abs(action));
  CHECK(distance(inner.order_parameters.layers[0], golden.matrix(group + "/U_1")) <
        kGoldenPrecision);
  CHECK(std::abs(u_a - golden.matrix(group + "/U_a")(0, 0)) < kGoldenPrecision);
  CHECK(distance(s, golden.matrix(group + "/S")) < kGoldenPrecision);
  check_prediction(golden, group, s, inner);
}

/// U_1, U_a, S and the predictor's mean of every draw, in the order of quantities().
class Recorder final : public sampling::DrawRecorder {
 public:
  explicit Recorder(int chains) : rows(static_cast<std::size_t>(chains)) {}

  void record(const sampling::Draw& draw, sampling::Target& target) override {
    const posterior::PosteriorDraw seen =
        dynamic_cast<posterior::ValueChain&>(target).observe(draw.position, true);
    std::vector<double> row = {seen.order_parameters.readout(0, 0)};
    for (const MatrixXd& m :
         {seen.order_parameters.layers.front(), seen.feature_covariance, seen.mean})
      row.insert(row.end(), m.reshaped().begin(), m.reshaped().end());
    rows[static_cast<std::size_t>(draw.chain)].push_back(std::move(row));
  }
  [[nodiscard]] MatrixXd series(std::size_t quantity) const {
    MatrixXd out(static_cast<Index>(rows.front().size()), static_cast<Index>(rows.size()));
    for (Index c = 0; c < out.cols(); ++c) {
      for (Index d = 0; d < out.rows(); ++d)
        out(d, c) = rows[static_cast<std::size_t>(c)][static_cast<std::size_t>(d)][quantity];
    }
    return out;
  }

  std::vector<std::vector<std::vector<double>>> rows;  // chain, draw, quantity
};

/// Posterior means of the file, or their Monte Carlo errors.
std::vector<double> quantities(const Golden& golden, const std::string& suffix) {
  std::vector<double> all;
  for (const char* name : {"U_a", "U_1", "S", "mean"}) {
    const Tensor t = golden.array(std::string("posterior/") + name + suffix);
    all.insert(all.end(), t.values.begin(), t.values.end());
  }
  return all;
}

}  // namespace

TEST_CASE("kernels of value networks at the prior are those of an independent program") {
  for (const Setting& setting : kSettings) {
    INFO(setting.name);
    const Golden golden(setting);
    const double s0 = golden.problem.architecture.variance(0);
    const Index d = golden.train.directions.cols();
    const MatrixXd factor = std::sqrt(s0) * MatrixXd::Identity(d, d);
    const model::WhitenedSites white(golden.train, factor);
    const MatrixXd kernel = model::value_kernel(white, 2);
    const Tensor expected = golden.array("kernel");
    const Index readouts = golden.train.readouts(), examples = golden.train.examples();
    double worst = 0.0;
    std::size_t at = 0;
    for (Index r = 0; r < readouts; ++r) {
      for (Index q = 0; q < readouts; ++q) {
        for (Index i = 0; i < examples; ++i) {
          for (Index k = 0; k < examples; ++k)
            worst = testing::larger(worst, std::abs(kernel(r * examples + i, q * examples + k) -
                                                    expected.values[at++]));
        }
      }
    }
    // The file's kernel has 12 digits.
    CHECK(worst < 1e-11);
  }
}

TEST_CASE(
    "saddle points of value networks with fixed features are those of an independent solver") {
  for (const Setting& setting : kSettings) {
    INFO(setting.name);
    const Golden golden(setting);
    const Index d = golden.train.directions.cols();
    const MatrixXd s = golden.problem.architecture.variance(0) * MatrixXd::Identity(d, d);
    Observer observer;
    const theory::SaddlePoint saddle = theory::solve_value_saddle(
        golden.problem, s, theory::gaussian_process_order_parameters(golden.problem.architecture),
        {}, observer);
    REQUIRE(saddle.summary.converged);
    check_saddle(golden, "fixed_features", s, saddle,
                 theory::feature_entropy(golden.problem.architecture, s));
  }
}

TEST_CASE(
    "saddle points of value networks with adapted features are those of an independent solver") {
  for (const Setting& setting : kSettings) {
    INFO(setting.name);
    const Golden golden(setting);
    const Index d = golden.train.directions.cols();
    Observer observer;
    const theory::ValueSaddle saddle =
        theory::solve_adapted_saddle(golden.problem, MatrixXd::Zero(d, d), {}, observer);
    INFO(saddle.message << ", " << saddle.iterations << " iterations, " << saddle.evaluations
                        << " evaluations, gradient " << saddle.gradient_norm);
    CHECK(saddle.converged);
    check_saddle(golden, "adapted_features", saddle.s, saddle.inner, saddle.feature_entropy);
  }
}

TEST_CASE("scalar and local renormalisation are value networks with fixed features") {
  const model::ValueNetwork network = {model::ValueForm::kBeforeAttention,
                                       numerics::Nonlinearity::kErf};
  for (const char* name : {"scalar_erf", "local_erf"}) {
    INFO(name);
    const Golden golden({name, network, Readout::kLastToken, kDeepbaysFile});
    const Index d = golden.train.directions.cols();
    const MatrixXd s = golden.problem.architecture.variance(0) * MatrixXd::Identity(d, d);
    Observer observer;
    const theory::SaddlePoint saddle = theory::solve_value_saddle(
        golden.problem, s, theory::gaussian_process_order_parameters(golden.problem.architecture),
        {}, observer);
    REQUIRE(saddle.summary.converged);
    CHECK(distance(saddle.order_parameters.layers[0], golden.matrix("fixed_features/U_1")) <
          kGoldenPrecision);
    check_prediction(golden, "fixed_features", s, saddle);
  }
}

TEST_CASE("the exact posterior of value networks has the means of an independent sampler") {
  // About 90 numbers. Beyond six errors, with errors known to a few per cent, one run in a million
  // fails.
  constexpr double kLargestZ = 6.0;
  for (const Setting& setting : kSettings) {
    const Golden golden(setting);
    const posterior::ValueChain target(golden.problem.architecture, golden.problem.temperature,
                                       std::make_shared<const model::ValueSites>(golden.train),
                                       std::make_shared<const MatrixXd>(golden.problem.labels),
                                       std::make_shared<const model::ValueSites>(golden.test));
    sampling::SamplerOptions options;
    options.chains = 4;
    options.warmup = 200;
    options.draws = 250;
    options.seed = 3;
    options.keep_draws = false;
    Recorder recorder(options.chains);
    sampling::SamplingHooks hooks;
    hooks.recorder = &recorder;
    const sampling::SamplingResult result = sampling::sample(target, options, hooks);
    const std::vector<double> means = quantities(golden, ""), errors = quantities(golden, "_mcse");
    const bool infinite = golden.problem.architecture.width(2) >= kInfiniteWidth;
    for (std::size_t q = infinite ? 1 : 0; q < means.size(); ++q) {
      const sampling::QuantityDiagnostics seen = sampling::diagnose_quantity(recorder.series(q));
      const double z = (seen.mean - means[q]) / std::hypot(seen.mcse_mean, errors[q]);
      INFO(setting.name << ", quantity " << q << ": " << seen.mean << " +- " << seen.mcse_mean
                        << " against " << means[q] << " +- " << errors[q] << ", z = " << z
                        << ", effective draws " << seen.ess_bulk << ", " << result.summary.seconds
                        << " s");
      CHECK(std::abs(z) < kLargestZ);
    }
  }
}
