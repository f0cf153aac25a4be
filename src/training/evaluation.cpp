#include "headway/training/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/error.hpp"
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

}  // namespace

double Evaluation::metric(std::string_view name) const {
  for (const Metric& metric : metrics) {
    if (metric.name == name) return metric.value;
  }
  return numerics::kUndefined;
}

Evaluator::Evaluator(const TaskFormat& format) : format_(format) { format.validate(); }

void Evaluator::add(const TaskBatch& batch, std::span<const float> outputs) {
  const Index wanted = batch.examples * format_.scored * format_.outputs;
  if (static_cast<Index>(outputs.size()) != wanted) {
    throw Error(ErrorKind::kInternal,
                fmt::format("evaluation: {} outputs of {} examples: must be {}", outputs.size(),
                            batch.examples, wanted));
  }
  if (format_.loss == LossKind::kSquaredError) {
    add_squared_errors(batch, outputs);
  } else {
    add_cross_entropies(batch, outputs);
  }
  examples_ += batch.examples;
}

void Evaluator::add_squared_errors(const TaskBatch& batch, std::span<const float> outputs) {
  const auto per_example = static_cast<std::size_t>(format_.scored * format_.outputs);
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch.examples); ++b) {
    double errors = 0.0;
    for (std::size_t i = b * per_example; i < (b + 1) * per_example; ++i) {
      const double target = batch.targets[i];
      const double error = outputs[i] - target;
      errors += error * error;
      if (outputs[i] * target > 0.0) ++tokens_right_;
      targets_ += 1.0;  // Welford's running mean and squares
      const double from_mean = target - mean_;
      mean_ += from_mean / targets_;
      deviations_ += from_mean * (target - mean_);
    }
    loss_ += errors;
    if (batch.target_variances.empty() || !(batch.target_variances[b] > 0.0F)) continue;
    r2_ += 1.0 - errors / static_cast<double>(per_example) / batch.target_variances[b];
    ++r2_examples_;
  }
}

void Evaluator::add_cross_entropies(const TaskBatch& batch, std::span<const float> outputs) {
  const auto classes = static_cast<std::size_t>(format_.outputs);
  const auto scored = static_cast<std::size_t>(format_.scored);
  for (std::size_t b = 0; b < static_cast<std::size_t>(batch.examples); ++b) {
    Index right = 0;
    for (std::size_t i = b * scored; i < (b + 1) * scored; ++i) {
      const std::span<const float> logits = outputs.subspan(i * classes, classes);
      const auto target = static_cast<std::size_t>(batch.classes[i]);
      loss_ += cross_entropy(logits, target);
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      if (static_cast<std::size_t>(best) == target) ++right;
      if (!format_.class_bytes.empty()) bytes_ += format_.class_bytes[target];
    }
    tokens_right_ += right;
    if (right == format_.scored) ++all_right_;
  }
}

Evaluation Evaluator::result() const {
  Evaluation result;
  result.examples = examples_;
  const auto examples = static_cast<double>(examples_);
  const double tokens = examples * static_cast<double>(format_.scored);
  const auto share = [](double part, double whole) {
    return whole > 0.0 ? part / whole : numerics::kUndefined;
  };
  if (format_.loss == LossKind::kSquaredError) {
    result.loss = share(loss_, tokens * static_cast<double>(format_.outputs));
    if (r2_examples_ > 0) result.metrics.push_back({"r2", r2_ / static_cast<double>(r2_examples_)});
    if (deviations_ > 0.0) result.metrics.push_back({"r2_pooled", 1.0 - loss_ / deviations_});
    if (format_.signs && targets_ > 0.0) {
      result.metrics.push_back({"accuracy", static_cast<double>(tokens_right_) / targets_});
    }
    return result;
  }
  result.loss = share(loss_, tokens);
  if (examples_ == 0) return result;
  const double token_share = static_cast<double>(tokens_right_) / tokens;
  if (format_.scored == 1 || format_.scored == format_.tokens) {
    result.metrics.push_back({"accuracy", token_share});
  } else {
    result.metrics.push_back({"accuracy", static_cast<double>(all_right_) / examples});
    result.metrics.push_back({"accuracy_per_feature", token_share});
  }
  if (bytes_ > 0.0) result.metrics.push_back({"bits_per_byte", loss_ / std::log(2.0) / bytes_});
  if (format_.scored == format_.tokens) {
    result.metrics.push_back({"perplexity", std::exp(result.loss)});
  }
  return result;
}

}  // namespace headway::training
