#include "headway/tasks/copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/rng.hpp"
#include "headway/core/sha256.hpp"

namespace headway::tasks {
namespace {

constexpr Index kLargestCopySplit = 1'000'000;
constexpr Index kMostCopyTokens = 1'000;  // W has 32 MB
constexpr double kLargestCopyNumber = 1e6;
constexpr double kOnes = 3.0;  // |x|^2 of a token before it is scaled: three entries of size 1

/// One example before it is scaled.
struct CopyExample {
  std::vector<double> values;
  std::vector<Index> pointers;

  [[nodiscard]] double label() const { return values[static_cast<std::size_t>(pointers.back())]; }
};

CopyExample draw(Index tokens, Rng rng) {
  CopyExample example;
  for (Index t = 0; t < tokens; ++t) example.values.push_back(rng.uniform() < 0.5 ? 1.0 : -1.0);
  for (Index t = 0; t < tokens; ++t) {
    example.pointers.push_back(
        static_cast<Index>(rng.uniform_index(static_cast<std::uint64_t>(tokens))));
  }
  return example;
}

/// One split, drawn anew on every read.
class CopyExamples final : public ExampleSource {
 public:
  CopyExamples(const CopyOptions& options, std::uint64_t seed, StreamPurpose purpose, Index count)
      : tokens_(options.tokens), seed_(seed), purpose_(purpose), examples_(count) {
    scale_ = std::sqrt(options.norm * static_cast<double>(features()) / kOnes);
  }

  [[nodiscard]] Index size() const override { return examples_; }
  [[nodiscard]] Index tokens() const override { return tokens_; }
  [[nodiscard]] Index features() const override { return 2 * tokens_ + 1; }
  [[nodiscard]] bool thread_safe() const override { return true; }

  void read_inputs(Index begin, Index count, double* out) const override {
    std::fill_n(out, count * tokens_ * features(), 0.0);
    for (Index i = 0; i < count; ++i) {
      const CopyExample example = at(begin + i);
      for (Index t = 0; t < tokens_; ++t, out += features()) {
        const auto token = static_cast<std::size_t>(t);
        out[0] = scale_ * example.values[token];
        out[1 + t] = scale_;
        out[1 + tokens_ + example.pointers[token]] = scale_;
      }
    }
  }

  [[nodiscard]] MatrixXd labels() const {
    MatrixXd labels(examples_, 1);
    for (Index i = 0; i < examples_; ++i) labels(i, 0) = at(i).label();
    return labels;
  }

 private:
  [[nodiscard]] CopyExample at(Index example) const {
    return draw(tokens_, Rng(seed_, purpose_, static_cast<std::uint64_t>(example)));
  }

  Index tokens_;
  std::uint64_t seed_;
  StreamPurpose purpose_;
  Index examples_;
  double scale_ = 1.0;
};

Split make_split(const CopyOptions& options, std::uint64_t seed, StreamPurpose purpose,
                 Index count) {
  const auto examples = std::make_shared<CopyExamples>(options, seed, purpose, count);
  Split split;
  split.labels = examples->labels();
  split.examples = examples;
  return split;
}

/// x_s^T W x_t = beta where the pointer of s is the position of t.
MatrixXd pointing_head(const CopyOptions& options) {
  const Index size = 2 * options.tokens + 1;
  MatrixXd w = MatrixXd::Zero(size, size);
  const double entry = options.beta * kOnes / (options.norm * static_cast<double>(size));
  for (Index t = 0; t < options.tokens; ++t) w(1 + options.tokens + t, 1 + t) = entry;
  return w;
}

}  // namespace

const OptionTable<CopyOptions>& CopyOptions::table() {
  using C = CopyOptions;
  static const OptionTable<C> table = {{
      option("train_examples", &C::train_examples, integer<Index>(1, kLargestCopySplit),
             "training examples P"),
      option("test_examples", &C::test_examples, integer<Index>(0, kLargestCopySplit),
             "test examples; 0: no test set"),
      option("tokens", &C::tokens, integer<Index>(2, kMostCopyTokens),
             "tokens S of an example, and positions to point at"),
      option("norm", &C::norm, real(0.0, kLargestCopyNumber, Ends::kOpenBelow),
             "|x|^2 / N_0 of every token"),
      option("beta", &C::beta, real(0.0, kLargestCopyNumber),
             "logit of the token pointed at, in the head that knows the answer"),
  }};
  return table;
}

void CopyOptions::validate() const { check_options(table(), *this, "task"); }

Dataset make_copy(const CopyOptions& options, std::uint64_t seed) {
  options.validate();
  Dataset data;
  data.name = "copy";
  data.form = AttentionForm::kWeights;
  data.features = 2 * options.tokens + 1;
  data.heads = {1};
  LayerHeads layer;
  layer.weights = {pointing_head(options)};
  layer.names = {"pointer"};
  data.layers = {std::move(layer)};
  data.train = make_split(options, seed, StreamPurpose::kTrainExamples, options.train_examples);
  if (options.test_examples > 0) {
    data.test = make_split(options, seed, StreamPurpose::kTestExamples, options.test_examples);
  }
  data.note = "copy the value that the last token points at";
  data.content_hash = sha256_hex(fmt::format(
      "copy 1\nseed {}\ntrain {}\ntest {}\ntokens {}\nnorm {:a}\nbeta {:a}\n", seed,
      options.train_examples, options.test_examples, options.tokens, options.norm, options.beta));
  return data;
}

}  // namespace headway::tasks
