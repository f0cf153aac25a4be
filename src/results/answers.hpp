#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/network_predict_results.hpp"
#include "headway/tasks/text.hpp"

/// Answers of a network, from its outputs or from the mean over several networks.
namespace headway {

/// The number of the largest entry of each row, along the last dimension.
[[nodiscard]] Tensor likeliest_classes(const Tensor& values);

/// The sign of each value; 0 for 0.
[[nodiscard]] Tensor signs_of(const Tensor& values);

/// The tokenizer of TrainedNetwork::tokenizer, that of bytes where it is "". `name`: for messages.
[[nodiscard]] std::unique_ptr<tasks::Tokenizer> tokenizer_of(const std::string& model,
                                                             const std::string& name);

/// The tokens of largest probability, the likeliest first.
[[nodiscard]] std::vector<LikelyToken> likeliest_of(const std::vector<double>& next,
                                                    const tasks::Tokenizer& tokenizer);

}  // namespace headway
