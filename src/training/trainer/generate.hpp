#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/training/trainer.hpp"
#include "training/model/transformer_engine.hpp"

namespace headway::training::detail {

/// Trainer::generate(). Error{kBadStudy} unless the model is a causal one of ids and the options
/// make sense.
std::vector<std::int32_t> generate_text(TransformerEngine& engine, const TransformerOptions& model,
                                        const TaskFormat& format,
                                        std::span<const std::int32_t> prompt,
                                        const GenerateOptions& options);

/// A token from softmax(logits / temperature) over the `top` largest logits. One uniform.
std::int32_t draw_token(std::span<const float> logits, const GenerateOptions& options, Rng& rng);

}  // namespace headway::training::detail
