// Small tasks and models for the tests of training.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/observer.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/trainer.hpp"
#include "training/model/transformer_parameters.hpp"

namespace headway::testing {

/// Normal tokens of 3 numbers; the class of each of the last `scored` tokens is the sign of the
/// first number of the token before it. Masked: an example hides its first (index modulo 3) tokens.
class PatternTask final : public training::TrainingTask {
 public:
  PatternTask(Index tokens, Index scored, bool masked = false) : masked_(masked) {
    format_ = {tokens, 3, 0, 2, training::LossKind::kCrossEntropy, scored, false, {}};
    format_.all_or_nothing = scored > 1 && scored < tokens;
  }
  const training::TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return splits_; }
  Index size(std::string_view) const override { return 0; }
  std::string_view selection_split() const override { return "test"; }
  void batch(std::string_view split, Index first, Index count,
             training::TaskBatch& out) const override {
    training::require_split(*this, split);
    out = {};
    out.examples = count;
    const Index tokens = format_.tokens;
    for (Index i = first; i < first + count; ++i) {
      const auto purpose =
          split == "train" ? StreamPurpose::kTrainExamples : StreamPurpose::kTestExamples;
      Rng rng(1, purpose, static_cast<std::uint64_t>(i));
      const std::size_t at = out.inputs.size();
      for (Index j = 0; j < tokens * 3; ++j) {
        out.inputs.push_back(static_cast<float>(rng.normal()));
      }
      for (Index t = tokens - format_.scored; t < tokens; ++t) {
        const float x = out.inputs[at + static_cast<std::size_t>(3 * std::max<Index>(t - 1, 0))];
        out.classes.push_back(x > 0.0F ? 1 : 0);
      }
      for (Index t = 0; masked_ && t < tokens; ++t) out.mask.push_back(t < i % 3 ? 0 : 1);
    }
  }

 private:
  training::TaskFormat format_;
  bool masked_;
  std::vector<std::string> splits_ = {"train", "test"};
};

/// Ids that count up from the example's number, and the next one is to be told; or, of numbers,
/// their mean so far.
class CountingTask final : public training::TrainingTask {
 public:
  CountingTask(Index tokens, bool ids) : ids_(ids) {
    format_ = {tokens,
               ids ? 0 : 2,
               ids ? 5 : 0,
               ids ? 5 : 2,
               ids ? training::LossKind::kCrossEntropy : training::LossKind::kSquaredError,
               ids ? tokens : 1,
               false,
               {}};
  }
  const training::TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return splits_; }
  Index size(std::string_view) const override { return 0; }
  std::string_view selection_split() const override { return "train"; }
  void batch(std::string_view, Index first, Index count, training::TaskBatch& out) const override {
    out = {};
    out.examples = count;
    for (Index i = first; i < first + count; ++i) {
      float sum = 0.0F;
      for (Index t = 0; t < format_.tokens; ++t) {
        if (ids_) {
          out.ids.push_back(static_cast<std::int32_t>((i + t * t) % 5));
          out.classes.push_back(static_cast<std::int32_t>((i + t) % 5));
          continue;
        }
        const auto x = static_cast<float>((7 * i + 3 * t) % 11) / 11.0F;
        out.inputs.insert(out.inputs.end(), {x, 1.0F - x * x});
        sum += x;
      }
      if (!ids_) out.targets.insert(out.targets.end(), {sum, -sum});
    }
  }

 private:
  training::TaskFormat format_;
  bool ids_;
  std::vector<std::string> splits_ = {"train"};
};

inline training::TransformerOptions small_model() {
  training::TransformerOptions model;
  model.layers = 2;
  model.model_dim = 12;
  model.heads = 3;
  model.query_dim = 12;
  model.value_dim = 9;
  model.mlp_dim = 10;
  return model;
}

inline training::TrainOptions small_run() {
  training::TrainOptions options;
  options.steps = 12;
  options.batch = 8;
  options.warmup_steps = 2;
  options.eval_every = 4;
  options.eval_examples = 20;
  options.log_every = 3;
  options.device = training::Device::kCpu;
  options.threads = 1;
  return options;
}

inline std::string pangram(int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += "the quick brown fox jumps over the lazy dog. ";
  return text;
}

inline training::TextOptions text_options(Index tokens) {
  training::TextOptions options;
  options.sequence_length = tokens;
  return options;
}

/// Adds a little noise to every number.
inline void shake(std::vector<training::NamedTensor>* tensors) {
  Rng rng(9, StreamPurpose::kTests);
  for (training::NamedTensor& tensor : *tensors) {
    for (float& x : tensor.values) x += static_cast<float>(0.2 * rng.normal());
  }
}

/// Initial parameters of a network plus a little noise. So biases are not 0, and a wrong use of
/// them is noticed.
inline std::vector<training::NamedTensor> shaken_parameters(
    const training::TransformerOptions& model, const training::TaskFormat& format) {
  namespace detail = training::detail;
  auto parameters = detail::initial_parameters(detail::parameter_shapes(model, format), 3);
  shake(&parameters);
  return parameters;
}

/// Calls `check` with `model` in every kind of feed-forward network, norm and positions.
template <class Check>
void for_each_option(training::TransformerOptions model, const Check& check) {
  for (const auto& feed_forward : words_of(training::FeedForward{})) {
    for (const auto& norm : words_of(training::Norm{})) {
      for (const auto& positions : words_of(training::Positions{})) {
        INFO(feed_forward.text << ", " << norm.text << ", " << positions.text);
        model.feed_forward = feed_forward.value;
        model.norm = norm.value;
        model.positions = positions.value;
        check(model);
      }
    }
  }
}

/// The parameter of this name.
inline training::NamedTensor& tensor(training::TrainState* state, const std::string& name) {
  for (training::NamedTensor& t : state->parameters) {
    if (t.name == name) return t;
  }
  throw Error(ErrorKind::kInternal, name);
}

/// Asks to stop when this many steps are done.
class StopAt : public Observer {
 public:
  explicit StopAt(double step) : step_(step) {}
  void progress(std::string_view, double done, double) override { done_ = done; }
  [[nodiscard]] bool interrupted() const override { return done_ >= step_; }

 private:
  double step_;
  double done_ = 0.0;
};

}  // namespace headway::testing
