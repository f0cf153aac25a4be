// The hidden-Markov study in a page: its data once, then a point for each position of the sliders.
// The functions that the page calls are at the end. They return 0, or 1 when live_error() says what
// is wrong.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "headway/error.hpp"
#include "headway/path_features.hpp"
#include "headway/predictor.hpp"
#include "headway/saddle_point.hpp"
#include "live_study.hpp"  // made by live_page.py: study_task(), kSeed, kMostTrain

namespace headway {
namespace {

/// Two digits more than the program's default: one more step, and U has 9 digits even where the
/// action is flat.
constexpr double kGradientTolerance = 1e-12;

/// Examples [begin, begin + count) of another source.
class Block final : public ExampleSource {
 public:
  Block(const ExampleSource& whole, Index begin, Index count)
      : whole_(whole), begin_(begin), count_(count) {}
  [[nodiscard]] Index size() const override { return count_; }
  [[nodiscard]] Index tokens() const override { return whole_.tokens(); }
  [[nodiscard]] Index features() const override { return whole_.features(); }
  void read_inputs(Index begin, Index count, double* out) const override {
    whole_.read_inputs(begin_ + begin, count, out);
  }

 private:
  const ExampleSource& whole_;
  Index begin_, count_;
};

/// The first examples of a split, whose path features with all heads are made bit by bit.
class Drawn {
 public:
  Drawn() = default;
  Drawn(tasks::Dataset data, const tasks::Split& split, Index count)
      : data_(std::move(data)), source_(split.examples), features_(count, 0) {
    Index paths = 1;
    for (const int heads : data_.heads) paths *= heads;
    features_.resize(count, paths * data_.features);
  }
  /// Draws up to `count` more, and says how many of those are left.
  Index draw(Index count) {
    count = std::min(count, left());
    Observer observer;
    features_.middleRows(done_, count) =
        model::path_features(Block(*source_, done_, count), data_.heads, data_.layers,
                             model::PathFeatureOptions{}, observer);
    done_ += count;
    return count;
  }
  [[nodiscard]] Index left() const { return features_.rows() - done_; }
  [[nodiscard]] Index size() const { return features_.rows(); }
  [[nodiscard]] const RowMatrixXd& features() const { return features_; }
  [[nodiscard]] const tasks::Dataset& data() const { return data_; }

 private:
  tasks::Dataset data_;
  std::shared_ptr<const ExampleSource> source_;
  RowMatrixXd features_;
  Index done_ = 0;
};

/// Some heads of some examples, and everything about them that no width or temperature changes.
struct Network {
  Index train = 0;
  unsigned heads = 0;  // a bit for each head of each layer, layer 1 first
  std::vector<int> heads_left;
  MatrixXd test;  // scaled features
  std::shared_ptr<const theory::PathKernels> kernels;
};

/// What the page shows. The order of `numbers` is that of NUMBERS in worker.js.
struct Point {
  std::vector<double> numbers;
  MatrixXd u, mean, gaussian_mean;
};

class Study {
 public:
  explicit Study(std::uint64_t seed) {
    tasks::HiddenMarkovChainOptions task = study_task();
    const std::array<double, 2> stay = task.stay_probability;
    task.train_examples = kMostTrain;
    tasks::Dataset data = tasks::make_hidden_markov_chain(task, seed);
    labels_ = data.test->labels;
    test_ = Drawn(data, *data.test, labels_.rows());
    // P decides which class an example has, and the class what is drawn for it. So each may have
    // either.
    for (std::size_t c = 0; c < stay.size(); ++c) {
      task.stay_probability = {stay[c], stay[c]};
      data = tasks::make_hidden_markov_chain(task, seed);
      // The first half of a training set has the first class.
      train_.at(c) = Drawn(data, data.train, c == 0 ? (kMostTrain + 1) / 2 : kMostTrain);
    }
  }

  [[nodiscard]] Index left() const { return test_.left() + train_[0].left() + train_[1].left(); }
  void draw(Index count) {
    for (Drawn* drawn : {&train_[0], &train_[1], &test_}) count -= drawn->draw(count);
  }
  [[nodiscard]] const MatrixXd& labels() const { return labels_; }

  void solve(double width, double temperature, Index train, unsigned heads) {
    if (left() > 0) throw Error(ErrorKind::kInternal, "the examples are not drawn yet");
    use(train, heads);
    const model::Architecture architecture =
        model::uniform_architecture(network_.heads_left, static_cast<Index>(width));
    const theory::OrderParameters limit = theory::gaussian_process_order_parameters(architecture);
    const theory::Action action(architecture, temperature, network_.kernels);
    Observer observer;
    theory::SaddlePointOptions options;
    options.gradient_tolerance = kGradientTolerance;
    const theory::SaddlePoint saddle = theory::solve_saddle_point(action, limit, options, observer);
    point_.u = saddle.order_parameters.layers.front();
    point_.mean =
        theory::mean_from_dual(network_.test, saddle.evaluation.energy->projected_dual(), point_.u);
    const auto state = network_.kernels->evaluate(limit.layers.front(), temperature);
    if (!state) throw Error(ErrorKind::kBadStudy, "K + T I is not positive definite: raise T");
    point_.gaussian_mean =
        theory::mean_from_dual(network_.test, state->projected_dual(), limit.layers.front());
    const auto finite = theory::predictor_statistics({point_.mean, {}}, labels_);
    const auto infinite = theory::predictor_statistics({point_.gaussian_mean, {}}, labels_);
    point_.numbers = {finite.accuracy,
                      infinite.accuracy,
                      finite.mean_squared_error,
                      infinite.mean_squared_error,
                      saddle.evaluation.value / architecture.largest_width(),
                      saddle.order_parameters.readout(0, 0),
                      saddle.summary.converged ? 1.0 : 0.0,
                      static_cast<double>(saddle.summary.iterations),
                      static_cast<double>(point_.u.rows())};
  }
  [[nodiscard]] const Point& point() const { return point_; }

  /// Path features of P training examples with all heads on, then of the test examples.
  [[nodiscard]] RowMatrixXd features(Index train) const {
    RowMatrixXd all(train + test_.size(), test_.features().cols());
    const Index first = train - train / 2;  // examples of the first class
    all.topRows(first) = train_[0].features().topRows(first);
    all.middleRows(first, train - first) = train_[1].features().middleRows(first, train - first);
    all.bottomRows(test_.size()) = test_.features();
    return all;
  }

 private:
  void use(Index train, unsigned heads) {
    if (network_.kernels && network_.train == train && network_.heads == heads) return;
    if (train < 2 || train > kMostTrain) {
      throw Error(ErrorKind::kBadStudy, "P = " + std::to_string(train) + ": must be from 2 to " +
                                            std::to_string(kMostTrain));
    }
    network_ = {train, heads, {}, {}, nullptr};
    const tasks::Dataset& data = test_.data();
    std::vector<Index> paths = {0};
    for (const int all : data.heads) {
      std::vector<Index> longer;
      for (const Index path : paths) {
        for (int h = 0; h < all; ++h) {
          if ((heads >> h & 1U) != 0) longer.push_back(path * all + h);
        }
      }
      network_.heads_left.push_back(std::popcount(heads & ((1U << all) - 1)));
      if (longer.empty()) throw Error(ErrorKind::kBadStudy, "a layer without heads: leave one on");
      paths = longer;
      heads >>= all;
    }
    const RowMatrixXd all = features(train);
    RowMatrixXd some(all.rows(), static_cast<Index>(paths.size()) * data.features);
    for (std::size_t a = 0; a < paths.size(); ++a) {
      some.middleCols(static_cast<Index>(a) * data.features, data.features) =
          all.middleCols(paths[a] * data.features, data.features);
    }
    const auto count = static_cast<Index>(paths.size());
    const MatrixXd scaled = theory::PathKernels::scale_features(some, count, 1.0);
    network_.test = scaled.bottomRows(test_.size());
    MatrixXd labels = MatrixXd::Constant(train, 1, -1.0);
    labels.topRows(train - train / 2).setOnes();
    theory::PathKernelOptions options;
    options.smallest_temperature = kSmallestTemperature;
    network_.kernels =
        theory::make_path_kernels(scaled.topRows(train), std::move(labels), count, options);
  }

  Drawn test_;
  std::array<Drawn, 2> train_;  // of each class
  MatrixXd labels_;
  Network network_;
  Point point_;
};

std::unique_ptr<Study> study;
RowMatrixXd shown_features;
std::string fault;

template <class Work>
int guarded(const Work& work) {
  try {
    work();
    return 0;
  } catch (const std::exception& error) {
    fault = error.what();
    return 1;
  }
}

}  // namespace
}  // namespace headway

extern "C" {

/// The text of the last fault.
[[gnu::used]] const char* live_error() { return headway::fault.c_str(); }

/// Draws the heads of the study with a seed, 0 for the study's own. Examples come by live_draw().
[[gnu::used]] int live_begin(unsigned seed) {
  return headway::guarded(
      [&] { headway::study = std::make_unique<headway::Study>(seed > 0 ? seed : headway::kSeed); });
}

/// How many examples are still to be drawn.
[[gnu::used]] int live_left() { return static_cast<int>(headway::study->left()); }

/// Draws some more examples and their path features.
[[gnu::used]] int live_draw(int count) {
  return headway::guarded([&] { headway::study->draw(count); });
}

/// Solves the theory at one width N, temperature T and number of examples P with some heads, and
/// the Gaussian process.
[[gnu::used]] int live_solve(double width, double temperature, int train, unsigned heads) {
  return headway::guarded([&] { headway::study->solve(width, temperature, train, heads); });
}

/// Of the last point: numbers, U_1, means of the theory and of the Gaussian process on the test
/// examples; and their labels.
[[gnu::used]] const double* live_numbers() { return headway::study->point().numbers.data(); }
[[gnu::used]] const double* live_u() { return headway::study->point().u.data(); }
[[gnu::used]] const double* live_mean() { return headway::study->point().mean.data(); }
[[gnu::used]] const double* live_gaussian_mean() {
  return headway::study->point().gaussian_mean.data();
}
[[gnu::used]] const double* live_labels() { return headway::study->labels().data(); }
[[gnu::used]] int live_test_examples() { return static_cast<int>(headway::study->labels().rows()); }

/// Path features of P training examples and of all test examples, row by row: for the test alone.
[[gnu::used]] const double* live_features(int train) {
  headway::shown_features = headway::study->features(train);
  return headway::shown_features.data();
}
}
