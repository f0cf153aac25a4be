#include "headway/tasks/bilinear_sequence_regression.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/sha256.hpp"
#include "tasks/drawn_features.hpp"

namespace headway::tasks {
namespace {

constexpr Index kLargestSequenceSplit = 1'000'000;
constexpr Index kLargestTeacher = 1'000;
constexpr Index kMostTeacherEntries = 20'000;  // the test set holds their square
constexpr double kLargestSequenceNoise = 1e6;

/// S = V U / sqrt(M), L x D.
MatrixXd draw_teacher(const BilinearSequenceOptions& options, std::uint64_t seed) {
  Rng rng(seed, StreamPurpose::kTaskParameters, 0);
  RowMatrixXd v(options.tokens, options.rank), u(options.rank, options.dimension);
  rng.fill_normal({v.data(), static_cast<std::size_t>(v.size())});
  rng.fill_normal({u.data(), static_cast<std::size_t>(u.size())});
  return v * u / std::sqrt(static_cast<double>(options.rank));
}

/// X of a training example, and its label.
class SequenceExamples final : public DrawnFeatures {
 public:
  SequenceExamples(const BilinearSequenceOptions& options, std::uint64_t seed, RowMatrixXd teacher)
      : DrawnFeatures({options.train_examples, options.tokens, options.dimension}),
        seed_(seed),
        noise_(std::sqrt(options.noise)),
        teacher_(std::move(teacher)) {}

  double draw(Index example, double* features) const override {
    Rng rng(seed_, StreamPurpose::kTrainExamples, static_cast<std::uint64_t>(example));
    const Index size = teacher_.size();
    rng.fill_normal({features, static_cast<std::size_t>(size)});
    const double product = Eigen::Map<const VectorXd>(features, size)
                               .dot(Eigen::Map<const VectorXd>(teacher_.data(), size));
    return product / std::sqrt(static_cast<double>(size)) + noise_ * rng.normal();
  }

 private:
  std::uint64_t seed_;
  double noise_;
  RowMatrixXd teacher_;
};

/// One example for each entry of the teacher.
Split entries_of(const RowMatrixXd& teacher) {
  const Index size = teacher.size();
  Split split;
  split.path_features = std::sqrt(static_cast<double>(size)) * RowMatrixXd::Identity(size, size);
  split.labels = Eigen::Map<const VectorXd>(teacher.data(), size);
  return split;
}

}  // namespace

const OptionTable<BilinearSequenceOptions>& BilinearSequenceOptions::table() {
  using B = BilinearSequenceOptions;
  static const OptionTable<B> table = {{
      option("train_examples", &B::train_examples, integer<Index>(1, kLargestSequenceSplit),
             "training examples P"),
      option("dimension", &B::dimension, integer<Index>(1, kLargestTeacher),
             "D, numbers of a token"),
      option("tokens", &B::tokens, integer<Index>(1, kLargestTeacher),
             "L, tokens of an example; each position is a path"),
      option("rank", &B::rank, integer<Index>(1, kLargestTeacher),
             "rank M of the teacher; N_1 = M matches it"),
      option("noise", &B::noise, real(0.0, kLargestSequenceNoise),
             "variance of the label noise in training; T = noise matches it"),
  }};
  return table;
}

void BilinearSequenceOptions::validate() const {
  check_options(table(), *this, "task");
  if (tokens * dimension <= kMostTeacherEntries) return;
  throw OptionError(fmt::format("task.tokens = {}, task.dimension = {}: their product must be at "
                                "most {}, since the test set has its square in numbers",
                                tokens, dimension, kMostTeacherEntries),
                    {"task.tokens", "task.dimension"});
}

Dataset make_bilinear_sequence_regression(const BilinearSequenceOptions& options,
                                          std::uint64_t seed) {
  options.validate();
  const RowMatrixXd teacher = draw_teacher(options, seed);
  Dataset data;
  data.name = "bilinear_sequence_regression";
  data.form = AttentionForm::kPathFeatures;
  data.features = options.dimension;
  data.heads = {static_cast<int>(options.tokens)};
  data.train = drawn_split(std::make_shared<SequenceExamples>(options, seed, teacher));
  data.test = entries_of(teacher);
  data.note = "bilinear sequence regression; the test examples are the entries of the teacher";
  data.content_hash = sha256_hex(
      fmt::format("bilinear_sequence_regression 1\nseed {}\ntrain {}\ndimension {}\ntokens {}\n"
                  "rank {}\nnoise {:a}\n",
                  seed, options.train_examples, options.dimension, options.tokens, options.rank,
                  options.noise));
  return data;
}

}  // namespace headway::tasks
