#include "headway/tasks/hidden_markov_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "headway/core/rng.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"

namespace headway::tasks {
namespace {

constexpr std::uint64_t kHeadStreamsPerLayer = std::uint64_t{1} << 20U;

/// "same token": the name of a head that has none.
std::string kind_name(HeadKind kind) {
  std::string name(word_of(kind));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// R of HeadKind::kRandom times `scale`, added to w (F features, then positions).
void add_random_matrix(double scale, Index token_features, Rng& rng, MatrixXd* w) {
  const Index size = w->rows();
  const double feature_scale = 1.0 / static_cast<double>(token_features);
  const double cross_scale = 1.0 / std::sqrt(static_cast<double>(token_features));
  VectorXd row(size);
  for (Index query = 0; query < size; ++query) {
    rng.fill_normal({row.data(), static_cast<std::size_t>(size)});
    const bool query_feature = query < token_features;
    const double left = scale * (query_feature ? feature_scale : cross_scale);
    const double right = scale * (query_feature ? cross_scale : 1.0);
    for (Index key = 0; key < size; ++key) {
      (*w)(query, key) += (key < token_features ? left : right) * row(key);
    }
  }
}

// M of the same-token head (sign +1) and the different-token head (sign -1), times beta.
void add_token_matrix(const HeadOptions& head, double sign, Index token_features, MatrixXd* w) {
  const Index half = token_features / 2;
  const Index positions = w->rows() - token_features;
  // q = (v_+ - v_-) / |v_+|^2 has entries +-sqrt(2) / F, since |v_+|^2 = F.
  const double entry =
      head.beta * sign * 2.0 / static_cast<double>(token_features * token_features);
  for (Index i = 0; i < token_features; ++i) {
    for (Index j = 0; j < token_features; ++j) {
      (*w)(i, j) = ((i < half) == (j < half)) ? entry : -entry;
    }
  }
  for (Index query = 1; query < positions; ++query) {
    (*w)(token_features + query, token_features) = 1.5 * head.beta;
    const Index key = query + head.shift;
    if (key >= 1 && key < positions) (*w)(token_features + query, token_features + key) = head.beta;
  }
}

MatrixXd head_matrix(const HeadOptions& head, const HiddenMarkovChainOptions& options, Rng rng) {
  const Index positions = options.tokens + 1;
  const Index size = options.features + positions;
  MatrixXd w = MatrixXd::Zero(size, size);
  double random_strength = head.perturbation;
  switch (head.kind) {
    case HeadKind::kSameToken:
      add_token_matrix(head, 1.0, options.features, &w);
      break;
    case HeadKind::kDifferentToken:
      add_token_matrix(head, -1.0, options.features, &w);
      break;
    case HeadKind::kUniform:
      w.bottomRightCorner(positions, positions).setConstant(head.beta);
      break;
    case HeadKind::kRandom:
      if (random_strength == 0.0) random_strength = 1.0;
      break;
  }
  const double scale = head.beta * random_strength;
  if (scale != 0.0) add_random_matrix(scale, options.features, rng, &w);
  return w;
}

// One split, drawn anew on every read.
class HiddenMarkovExamples final : public ExampleSource {
 public:
  HiddenMarkovExamples(const HiddenMarkovChainOptions& options, std::uint64_t seed,
                       StreamPurpose purpose, Index examples)
      : options_(options), seed_(seed), purpose_(purpose), examples_(examples) {
    options_.layers.clear();
  }

  [[nodiscard]] Index size() const override { return examples_; }
  [[nodiscard]] Index tokens() const override { return options_.tokens + 1; }
  [[nodiscard]] Index features() const override { return options_.features + tokens(); }
  [[nodiscard]] bool thread_safe() const override { return true; }

  // The larger half of the split has label +1.
  [[nodiscard]] Index positive_examples() const { return examples_ - examples_ / 2; }

  void read_inputs(Index begin, Index count, double* out) const override {
    const Index stride = tokens() * features();
    for (Index i = 0; i < count; ++i) draw_example(begin + i, out + i * stride);
  }

 private:
  void draw_example(Index example, double* out) const {
    Rng rng(seed_, purpose_, static_cast<std::uint64_t>(example));
    const double stay = options_.stay_probability[example < positive_examples() ? 0 : 1];
    std::vector<char> plus_state(static_cast<std::size_t>(options_.tokens));
    plus_state[0] = static_cast<char>(rng.uniform() < 0.5);
    for (std::size_t t = 1; t < plus_state.size(); ++t) {
      const bool stays = rng.uniform() < stay;
      plus_state[t] = static_cast<char>(stays == (plus_state[t - 1] != 0));
    }
    const Index row_size = features();
    std::fill_n(out, tokens() * row_size, 0.0);
    out[options_.features] = 1.0;  // position 0, the beginning-of-sequence token
    MatrixXd noise(options_.features, options_.tokens);
    rng.fill_normal({noise.data(), static_cast<std::size_t>(noise.size())});
    for (Index t = 1; t <= options_.tokens; ++t) {
      double* row = out + t * row_size;
      make_token(plus_state[static_cast<std::size_t>(t - 1)] != 0, noise.col(t - 1), row);
      row[options_.features + t] = 1.0;
    }
  }

  // Token features: v_+ or v_-, and noise in its three parts. v_+ - v_- and v_+ + v_- are constant
  // on each half of the features. So the in-plane part of a vector is its mean over each half.
  void make_token(bool plus, const Eigen::Ref<const VectorXd>& noise, double* token) const {
    const Index half = options_.features / 2;
    const double first_mean = noise.head(half).mean();
    const double second_mean = noise.tail(half).mean();
    const double difference = options_.noise[0] * 0.5 * (first_mean - second_mean);
    const double sum = options_.noise[1] * 0.5 * (first_mean + second_mean);
    const double out_of_plane = options_.noise[2];
    const double first_centre = sum + difference + (plus ? std::sqrt(2.0) : 0.0);
    const double second_centre = sum - difference + (plus ? 0.0 : std::sqrt(2.0));
    Eigen::Map<VectorXd> out(token, options_.features);
    out.head(half) = out_of_plane * (noise.head(half).array() - first_mean) + first_centre;
    out.tail(half) = out_of_plane * (noise.tail(half).array() - second_mean) + second_centre;
  }

  HiddenMarkovChainOptions options_;
  std::uint64_t seed_;
  StreamPurpose purpose_;
  Index examples_;
};

Split make_split(const HiddenMarkovChainOptions& options, std::uint64_t seed, StreamPurpose purpose,
                 Index count) {
  const auto examples = std::make_shared<HiddenMarkovExamples>(options, seed, purpose, count);
  Split split;
  split.labels = MatrixXd::Constant(count, 1, -1.0);
  split.labels.topRows(examples->positive_examples()).setConstant(1.0);
  split.examples = examples;
  return split;
}

// The resolved parameters as text, every number exactly ({:a} is hexadecimal floating point).
std::string canonical_text(const HiddenMarkovChainOptions& o, std::uint64_t seed) {
  std::string text = fmt::format(
      "hidden_markov_chain 1\nseed {}\ntrain {}\ntest {}\ntokens {}\nfeatures {}\n"
      "stay {:a} {:a}\nnoise {:a} {:a} {:a}\n",
      seed, o.train_examples, o.test_examples, o.tokens, o.features, o.stay_probability[0],
      o.stay_probability[1], o.noise[0], o.noise[1], o.noise[2]);
  for (std::size_t l = 0; l < o.layers.size(); ++l) {
    for (const HeadOptions& head : o.layers[l]) {
      text += fmt::format("head {} {} shift {} beta {:a} perturbation {:a}\n", l + 1,
                          kind_name(head.kind), head.shift, head.beta, head.perturbation);
    }
  }
  return text;
}

}  // namespace

Dataset make_hidden_markov_chain(const HiddenMarkovChainOptions& options, std::uint64_t seed) {
  options.validate();
  Dataset data;
  data.name = "hidden_markov_chain";
  data.form = AttentionForm::kWeights;
  data.features = options.features + options.tokens + 1;
  for (std::size_t l = 0; l < options.layers.size(); ++l) {
    LayerHeads layer;
    for (std::size_t h = 0; h < options.layers[l].size(); ++h) {
      const HeadOptions& head = options.layers[l][h];
      const std::uint64_t stream = (l + 1) * kHeadStreamsPerLayer + (h + 1);
      layer.weights.push_back(
          head_matrix(head, options, Rng(seed, StreamPurpose::kTaskParameters, stream)));
      layer.names.push_back(head.name.empty() ? kind_name(head.kind) : head.name);
    }
    data.heads.push_back(static_cast<int>(options.layers[l].size()));
    data.layers.push_back(std::move(layer));
  }
  data.train = make_split(options, seed, StreamPurpose::kTrainExamples, options.train_examples);
  if (options.test_examples > 0) {
    data.test = make_split(options, seed, StreamPurpose::kTestExamples, options.test_examples);
  }
  data.note = "hidden Markov chain classification [T24]";
  data.content_hash = sha256_hex(canonical_text(options, seed));
  return data;
}

}  // namespace headway::tasks
