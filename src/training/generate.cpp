#include "training/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "training/named_values.hpp"

namespace headway::training::detail {

void validate_generation(const TransformerOptions& model, const TaskFormat& format,
                         std::span<const std::int32_t> prompt, const GenerateOptions& options) {
  if (format.vocabulary == 0 || format.outputs != format.vocabulary || !model.causal) {
    throw Error(ErrorKind::kBadStudy,
                "only a causal model of token ids (train.causal = true, task.kind = \"text\") can "
                "continue a text");
  }
  require_whole("generate.prompt tokens", static_cast<long long>(prompt.size()), 1, 1LL << 40);
  for (const std::int32_t id : prompt) {
    require_whole("generate.prompt id", id, 0, format.vocabulary - 1);
  }
  require_whole("generate.tokens", options.tokens, 0, 1LL << 40);
  require_whole("generate.top", options.top, 0, format.vocabulary);
  require_real(options.temperature >= 0.0 && std::isfinite(options.temperature),
               "generate.temperature", options.temperature, "a number from 0");
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
