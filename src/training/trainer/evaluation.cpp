#include "headway/training/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::training {
namespace {

// -log softmax(logits)[target]
double cross_entropy(std::span<const float> logits, std::size_t target) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float x : logits) sum += std::exp(x - largest);
  return largest + std::log(sum) - logits[target];
}

/// Whether an example has an R^2 of its own: a constant sequence has none.
bool varies(const TaskBatch& batch, std::size_t b) {
  return !batch.target_variances.empty() && batch.target_variances[b] > 0.0F;
}

/// Whether scored token `at` of a batch counts.
bool counts(const TaskBatch& batch, std::size_t at) {
  return batch.weights.empty() || batch.weights[at] > 0.0F;
}

ExampleScore squared_error_score(const TaskFormat& format, const TaskBatch& batch, std::size_t b,
                                 std::span<const float> outputs) {
  const auto scored = static_cast<std::size_t>(format.scored);
  const auto each = static_cast<std::size_t>(format.outputs);
  ExampleScore score;
  for (std::size_t at = b * scored; at < (b + 1) * scored; ++at) {
    if (!counts(batch, at)) continue;
    ++score.tokens;
    for (std::size_t i = at * each; i < (at + 1) * each; ++i) {
      const double target = batch.targets[i];
      const double error = outputs[i] - target;
      score.loss += error * error;
      if (outputs[i] * target > 0.0) ++score.right;
    }
  }
  score.loss /= static_cast<double>(score.tokens * format.outputs);
  score.r2 = varies(batch, b) ? 1.0 - score.loss / batch.target_variances[b] : numerics::kUndefined;
  return score;
}

ExampleScore cross_entropy_score(const TaskFormat& format, const TaskBatch& batch, std::size_t b,
                                 std::span<const float> outputs) {
  const auto classes = static_cast<std::size_t>(format.outputs);
  const auto scored = static_cast<std::size_t>(format.scored);
  ExampleScore score;
  for (std::size_t i = b * scored; i < (b + 1) * scored; ++i) {
    if (!counts(batch, i)) continue;
    ++score.tokens;
    const std::span<const float> logits = outputs.subspan(i * classes, classes);
    const auto target = static_cast<std::size_t>(batch.classes[i]);
    score.loss += cross_entropy(logits, target);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    if (static_cast<std::size_t>(best) == target) ++score.right;
  }
  score.loss /= static_cast<double>(score.tokens);
  score.r2 = numerics::kUndefined;
  return score;
}

}  // namespace

std::vector<ExampleScore> example_scores(const TaskFormat& format, const TaskBatch& batch,
                                         std::span<const float> outputs) {
  const Index wanted = batch.examples * format.scored * format.outputs;
  if (static_cast<Index>(outputs.size()) != wanted) {
    throw Error(ErrorKind::kInternal,
                fmt::format("evaluation: {} outputs of {} examples: must be {}", outputs.size(),
                            batch.examples, wanted));
  }
  const auto score =
      format.loss == LossKind::kSquaredError ? &squared_error_score : &cross_entropy_score;
  std::vector<ExampleScore> scores;
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch.examples); ++b) {
    scores.push_back(score(format, batch, b, outputs));
  }
  return scores;
}

std::string example_metric(const TaskFormat& format, const TaskBatch& batch) {
  if (format.loss == LossKind::kCrossEntropy || format.signs) return "accuracy";
  return batch.target_variances.empty() ? "r2_pooled" : "r2";
}

double example_metric_value(const TaskFormat& format, const TaskBatch& batch,
                            const ExampleScore& score, double target_variance) {
  const std::string metric = example_metric(format, batch);
  if (metric == "r2") return score.r2;
  if (!std::isfinite(score.loss)) return numerics::kUndefined;
  if (metric == "r2_pooled") {
    return target_variance > 0.0 ? 1.0 - score.loss / target_variance : numerics::kUndefined;
  }
  if (format.all_or_nothing) return score.right == score.tokens ? 1.0 : 0.0;
  const Index targets =
      score.tokens * (format.loss == LossKind::kSquaredError ? format.outputs : 1);
  return static_cast<double>(score.right) / static_cast<double>(targets);
}

double Evaluation::metric(std::string_view name) const {
  for (const Metric& metric : metrics) {
    if (metric.name == name) return metric.value;
  }
  return numerics::kUndefined;
}

Evaluator::Evaluator(const TaskFormat& format) : format_(format) {
  format.validate();
  spreads_.resize(static_cast<std::size_t>(format.outputs));
}

void Evaluator::add(const TaskBatch& batch, std::span<const float> outputs) {
  const bool numbers = format_.loss == LossKind::kSquaredError;
  const std::vector<ExampleScore> scores = example_scores(format_, batch, outputs);
  for (std::size_t b = 0; b < scores.size(); ++b) {
    const ExampleScore& score = scores[b];
    if (score.tokens == 0) continue;
    const double terms =  // of its loss
        static_cast<double>(score.tokens) * (numbers ? static_cast<double>(format_.outputs) : 1.0);
    loss_ += score.loss * terms;
    tokens_ += score.tokens;
    tokens_right_ += score.right;
    if (score.right == score.tokens) ++all_right_;
    if (!varies(batch, b)) continue;
    // Undefined outputs make the mean undefined. Were they left out, so would be the column of r2.
    r2_ += score.r2;
    ++r2_examples_;
  }
  if (numbers) add_deviations(batch);
  for (const std::int32_t target : batch.classes) {
    if (!format_.class_bytes.empty()) {
      bytes_ += format_.class_bytes[static_cast<std::size_t>(target)];
    }
  }
  examples_ += batch.examples;
}

void Evaluator::add_deviations(const TaskBatch& batch) {
  const auto outputs = static_cast<std::size_t>(format_.outputs);
  for (std::size_t i = 0; i < batch.targets.size(); ++i) {
    if (!counts(batch, i / outputs)) continue;
    Spread& spread = spreads_[i % outputs];
    const double target = batch.targets[i];
    spread.targets += 1.0;  // Welford's running mean and squares
    const double from_mean = target - spread.mean;
    spread.mean += from_mean / spread.targets;
    spread.deviations += from_mean * (target - spread.mean);
  }
}

Evaluator::Spread Evaluator::all_targets() const {
  Spread all;
  for (const Spread& spread : spreads_) {
    all.targets += spread.targets;
    all.deviations += spread.deviations;
  }
  return all;
}

double Evaluator::target_variance() const {
  const Spread all = all_targets();
  return all.targets > 0.0 ? all.deviations / all.targets : numerics::kUndefined;
}

Evaluation Evaluator::result() const {
  Evaluation result;
  result.examples = examples_;
  const auto examples = static_cast<double>(examples_);
  const auto tokens = static_cast<double>(tokens_);
  const auto share = [](double part, double whole) {
    return whole > 0.0 ? part / whole : numerics::kUndefined;
  };
  // Of NaN none is the largest, and none has a sign: what they answer is undefined.
  const double defined = std::isfinite(loss_) ? 1.0 : numerics::kUndefined;
  if (format_.loss == LossKind::kSquaredError) {
    result.loss = share(loss_, tokens * static_cast<double>(format_.outputs));
    const Spread all = all_targets();
    if (r2_examples_ > 0) result.metrics.push_back({"r2", r2_ / static_cast<double>(r2_examples_)});
    if (all.deviations > 0.0) {
      result.metrics.push_back({"r2_pooled", 1.0 - loss_ / all.deviations});
    }
    if (format_.signs && all.targets > 0.0) {
      result.metrics.push_back(
          {"accuracy", defined * static_cast<double>(tokens_right_) / all.targets});
    }
    return result;
  }
  result.loss = share(loss_, tokens);
  if (tokens_ == 0) return result;
  const double token_share = defined * static_cast<double>(tokens_right_) / tokens;
  if (format_.all_or_nothing) {
    result.metrics.push_back({"accuracy", defined * static_cast<double>(all_right_) / examples});
    result.metrics.push_back({"accuracy_per_feature", token_share});
  } else {
    result.metrics.push_back({"accuracy", token_share});
  }
  if (bytes_ > 0.0) result.metrics.push_back({"bits_per_byte", loss_ / std::log(2.0) / bytes_});
  if (format_.scored == format_.tokens) {
    result.metrics.push_back({"perplexity", std::exp(result.loss)});
  }
  return result;
}

}  // namespace headway::training
