#include "training/trainer/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/error.hpp"

namespace headway::training::detail {
namespace {

void validate_generation(const TransformerOptions& model, const TaskFormat& format,
                         std::span<const std::int32_t> prompt, const GenerateOptions& options) {
  if (format.vocabulary == 0 || format.outputs != format.vocabulary || !model.causal) {
    throw OptionError(
        "only a causal model of token ids can continue a text (train.causal = true, task.kind = "
        "\"text\")",
        {"train.causal", "task.kind"});
  }
  constexpr Index kMostTokens = Index{1} << 40U;
  const auto length = static_cast<Index>(prompt.size());
  integer<Index>(1, kMostTokens).check(length, "generate: tokens of the prompt");
  const OptionType<int> id_type = integer<int>(0, format.vocabulary - 1);
  for (const std::int32_t id : prompt) id_type.check(id, "generate: id of the prompt");
  integer<Index>(0, kMostTokens).check(options.tokens, "generate.tokens");
  integer<Index>(0, format.vocabulary).check(options.top, "generate.top");
  real(0.0, std::numeric_limits<double>::infinity())
      .check(options.temperature, "generate.temperature");
}

}  // namespace

std::vector<std::int32_t> generate_text(TransformerEngine& engine, const TransformerOptions& model,
                                        const TaskFormat& format,
                                        std::span<const std::int32_t> prompt,
                                        const GenerateOptions& options) {
  validate_generation(model, format, prompt, options);
  std::vector<std::int32_t> text(prompt.begin(), prompt.end());
  for (Index i = 0; i < options.tokens; ++i) {
    const auto seen = std::min(text.size(), static_cast<std::size_t>(format.tokens));
    TaskBatch batch;
    batch.examples = 1;
    batch.ids.assign(text.end() - static_cast<std::ptrdiff_t>(seen), text.end());
    Rng rng(options.seed, StreamPurpose::kGeneratedText, static_cast<std::uint64_t>(i));
    text.push_back(draw_token(engine.outputs(batch, 1), options, rng));
  }
  text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
  return text;
}

std::int32_t draw_token(std::span<const float> logits, const GenerateOptions& options, Rng& rng) {
  const double u = rng.uniform();
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  if (options.temperature == 0.0) return order.front();
  if (options.top > 0) order.resize(static_cast<std::size_t>(options.top));
  const double largest = logits[static_cast<std::size_t>(order.front())];
  std::vector<double> sums;
  double sum = 0.0;
  for (const std::int32_t id : order) {
    sum += std::exp((logits[static_cast<std::size_t>(id)] - largest) / options.temperature);
    sums.push_back(sum);
  }
  const auto at = std::upper_bound(sums.begin(), sums.end(), u * sum) - sums.begin();
  return order[std::min(static_cast<std::size_t>(at), order.size() - 1)];
}

}  // namespace headway::training::detail
