// Value networks against saddle points and kernels of an independent solver.
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/dataset.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/predictor.hpp"
#include "headway/theory/value_saddle.hpp"
#include "io/hdf5/input.hpp"

using namespace headway;

namespace {

const char* const kFile = HEADWAY_TEST_DATA "/golden/value_network.h5";
constexpr double kGoldenPrecision = 1e-6;  // of the solver that made the file
// Where N_a is this large, the file's U_a is its prior value, and its entropy is left out.
constexpr double kInfiniteWidth = 1e8;

struct Setting {
  std::string name;
  model::ValueNetwork network;
  Readout readout;
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
  explicit Golden(const Setting& setting) : name_(setting.name) {
    const Tensor inputs = array("inputs"), attention = array("attention"), labels = array("labels");
    const auto examples = static_cast<Index>(labels.values.size());
    const Index others = inputs.shape[0] - examples;
    heads_ = {static_cast<int>(attention.shape[1])};
    const auto sites = [&](Index begin, Index count) {
      Observer observer;
      const tasks::MemoryExamples part_of(part(inputs, begin, count), {}, {part(attention, begin, count)});
      return model::value_sites(setting.network, part_of, heads_, {}, setting.readout,
                                AttentionKind::kSoftmax, observer);
    };
    train = sites(0, examples);
    test = sites(examples, others);
    problem.nonlinearity = setting.network.nonlinearity;
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
    return io::Hdf5InputFile(kFile).read_array(name_ + "/" + what);
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
    return *io::Hdf5InputFile(kFile).number_attribute(name_, key);
  }
  std::string name_;
  std::vector<int> heads_;
};

double distance(const MatrixXd& a, const MatrixXd& b) { return (a - b).cwiseAbs().maxCoeff(); }

void check_saddle(const Golden& golden, const std::string& group, const MatrixXd& s,
                  const theory::SaddlePoint& inner, double feature_entropy) {
  const double u_a = inner.order_parameters.readout(0, 0);
  const double action = golden.action_in_file(inner.evaluation.value + feature_entropy, u_a);
  CHECK(std::abs(action - golden.matrix(group + "/action")(0, 0)) < 1e-6 * std::abs(action));
  CHECK(distance(inner.order_parameters.layers[0], golden.matrix(group + "/U_1")) <
        kGoldenPrecision);
  CHECK(std::abs(u_a - golden.matrix(group + "/U_a")(0, 0)) < kGoldenPrecision);
  CHECK(distance(s, golden.matrix(group + "/S")) < kGoldenPrecision);
  const theory::ValueFeatures features =
      theory::value_features(golden.problem.nonlinearity, golden.train, golden.test, s, 1);
  const theory::Action at(
      golden.problem.architecture, golden.problem.temperature,
      theory::make_path_kernels(features.train, golden.problem.labels, golden.train.readouts()));
  const theory::Action::Evaluation evaluation = at.evaluate(inner.order_parameters);
  REQUIRE(evaluation.energy);
  const theory::Prediction prediction = evaluation.energy->predict(features.other);
  CHECK(distance(prediction.mean, golden.matrix(group + "/mean")) < kGoldenPrecision);
  CHECK(distance(prediction.variance, golden.matrix(group + "/variance")) < kGoldenPrecision);
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
    const MatrixXd kernel = model::value_kernel(setting.network.nonlinearity, white, 2);
    const Tensor expected = golden.array("kernel");
    const Index readouts = golden.train.readouts(), examples = golden.train.examples();
    double worst = 0.0;
    std::size_t at = 0;
    for (Index r = 0; r < readouts; ++r) {
      for (Index q = 0; q < readouts; ++q) {
        for (Index i = 0; i < examples; ++i) {
          for (Index k = 0; k < examples; ++k)
            worst = std::max(worst, std::abs(kernel(r * examples + i, q * examples + k) -
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
