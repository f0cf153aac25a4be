#include "headway/tasks/in_context_regression.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "headway/core/option_table.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/sha256.hpp"
#include "tasks/drawn_features.hpp"

namespace headway::tasks {
namespace {

constexpr Index kLargestPromptSplit = 1'000'000;
constexpr Index kLargestPromptDimension = 200;
constexpr Index kLongestContext = 100'000;
constexpr double kLargestPromptNoise = 1e6;
constexpr const char* kSeenTasks = "seen_tasks";

/// A direction of length sqrt(d).
VectorXd draw_task(Index dimension, Rng& rng) {
  VectorXd w(dimension);
  rng.fill_normal({w.data(), static_cast<std::size_t>(dimension)});
  return w * (std::sqrt(static_cast<double>(dimension)) / w.norm());
}

class Prompts final : public DrawnFeatures {
 public:
  /// `tasks`: d x K, or d x 0 where each prompt has a task of its own.
  Prompts(const InContextOptions& options, std::uint64_t seed, StreamPurpose purpose, Index count,
          MatrixXd tasks)
      : DrawnFeatures({count, options.dimension, options.dimension + 1}),
        options_(options),
        seed_(seed),
        purpose_(purpose),
        tasks_(std::move(tasks)) {}

  double draw(Index example, double* features) const override {
    const Index d = options_.dimension;
    Rng rng(seed_, purpose_, static_cast<std::uint64_t>(example));
    const VectorXd w = tasks_.cols() == 0 ? draw_task(d, rng) : tasks_.col(example % tasks_.cols());
    VectorXd query(d), x(d), keys = VectorXd::Zero(d + 1);
    const double label = draw_pair(w, rng, query);
    const auto pairs = static_cast<double>(options_.context);
    for (Index i = 0; i < options_.context; ++i) {
      const double y = draw_pair(w, rng, x);
      keys.head(d) += static_cast<double>(d) / pairs * y * x;
      keys(d) += y * y / pairs;
    }
    const double scale = std::sqrt(static_cast<double>(d * (d + 1)));
    Eigen::Map<RowMatrixXd>(features, d, d + 1) = scale * query * keys.transpose();
    return label;
  }

 private:
  /// x, and its y.
  double draw_pair(const VectorXd& w, Rng& rng, VectorXd& x) const {
    rng.fill_normal({x.data(), static_cast<std::size_t>(x.size())});
    x /= std::sqrt(static_cast<double>(x.size()));
    return w.dot(x) + std::sqrt(options_.noise) * rng.normal();
  }

  InContextOptions options_;
  std::uint64_t seed_;
  StreamPurpose purpose_;
  MatrixXd tasks_;
};

}  // namespace

const OptionTable<InContextOptions>& InContextOptions::table() {
  using I = InContextOptions;
  static const OptionTable<I> table = {{
      option("train_examples", &I::train_examples, integer<Index>(1, kLargestPromptSplit),
             "training prompts P"),
      option("test_examples", &I::test_examples, integer<Index>(0, kLargestPromptSplit),
             "prompts of new tasks, and as many of the tasks of training; 0: none of both"),
      option("dimension", &I::dimension, integer<Index>(1, kLargestPromptDimension),
             "d, numbers of an x"),
      option("context", &I::context, integer<Index>(1, kLongestContext),
             "l, pairs (x, y) that a prompt shows"),
      option("tasks", &I::tasks, integer<Index>(1, kLargestPromptSplit),
             "K, different tasks w of training"),
      option("noise", &I::noise, real(0.0, kLargestPromptNoise), "variance of the noise of all y"),
  }};
  return table;
}

void InContextOptions::validate() const { check_options(table(), *this, "task"); }

Dataset make_in_context_regression(const InContextOptions& options, std::uint64_t seed) {
  options.validate();
  MatrixXd tasks(options.dimension, options.tasks);
  for (Index k = 0; k < options.tasks; ++k) {
    Rng rng(seed, StreamPurpose::kTaskParameters, static_cast<std::uint64_t>(k));
    tasks.col(k) = draw_task(options.dimension, rng);
  }
  const auto split = [&](StreamPurpose purpose, Index count, const MatrixXd& of) {
    return drawn_split(std::make_shared<Prompts>(options, seed, purpose, count, of));
  };
  Dataset data;
  data.name = "in_context_regression";
  data.form = AttentionForm::kPathFeatures;
  data.features = options.dimension + 1;
  data.heads = {static_cast<int>(options.dimension)};
  data.train = split(StreamPurpose::kTrainExamples, options.train_examples, tasks);
  if (options.test_examples > 0) {
    data.test =
        split(StreamPurpose::kTestExamples, options.test_examples, MatrixXd(options.dimension, 0));
    data.sets = {
        {kSeenTasks, split(StreamPurpose::kHeldOutExamples, options.test_examples, tasks)}};
  }
  data.note = "in-context linear regression; a path is a number of the query";
  data.content_hash = sha256_hex(fmt::format(
      "in_context_regression 1\nseed {}\ntrain {}\ntest {}\ndimension {}\ncontext {}\ntasks {}\n"
      "noise {:a}\n",
      seed, options.train_examples, options.test_examples, options.dimension, options.context,
      options.tasks, options.noise));
  return data;
}

}  // namespace headway::tasks
