#include "headway/tasks/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/core/utf8.hpp"
#include "headway/error.hpp"

namespace headway::tasks {

void require_utf8(std::string_view text, const std::string& name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_sequence(text, at);
    if (size == 0) {
      const auto line = std::count(text.begin(), text.begin() + static_cast<Index>(at), '\n') + 1;
      throw Error(ErrorKind::kBadData,
                  fmt::format("{}: line {}, byte {} of the file, value {:#04x}: is not UTF-8 text",
                              name, line, at, static_cast<std::uint8_t>(text[at])));
    }
    at += size;
  }
}

TextCorpus::TextCorpus(std::string name, std::string text, const TextShares& shares)
    : name_(std::move(name)), text_(std::move(text)) {
  if (!(shares.held_out > 0.0 && shares.held_out < 1.0)) {
    throw Error(ErrorKind::kBadStudy, fmt::format("task.held_out = {}: must be a number above 0 "
                                                  "and below 1",
                                                  shares.held_out));
  }
  if (!(shares.validation > 0.0 && shares.validation + shares.held_out < 1.0)) {
    throw Error(ErrorKind::kBadStudy, fmt::format("task.validation = {}: must be above 0, and "
                                                  "below 1 together with task.held_out = {}",
                                                  shares.validation, shares.held_out));
  }
  require_utf8(text_, name_);
  const auto bytes = static_cast<double>(text_.size());
  const double train_end = std::floor((1.0 - (shares.held_out + shares.validation)) * bytes);
  const double held_out_begin = std::floor((1.0 - shares.held_out) * bytes);
  for (std::size_t at = 0; at < text_.size();) {
    const std::size_t size = utf8_sequence(text_, at);
    at += size;
    if (static_cast<double>(at) <= train_end) train_bytes_ = at;
    if (static_cast<double>(at) <= held_out_begin) held_out_begin_ = at;
  }
  if (train().empty() || validation().empty() || held_out().empty()) {
    throw Error(
        ErrorKind::kBadData,
        fmt::format("{}: has {} bytes, {} for training, {} for validation and {} held out: must "
                    "have at least one character for each",
                    name_, text_.size(), train().size(), validation().size(), held_out().size()));
  }
}

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens(text.size());
  std::transform(text.begin(), text.end(), tokens.begin(),
                 [](char c) { return static_cast<std::int32_t>(static_cast<std::uint8_t>(c)); });
  return tokens;
}

std::string ByteTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary()) {
      throw Error(ErrorKind::kInternal,
                  fmt::format("token {}: must be from 0 to {}", token, vocabulary() - 1));
    }
    text.push_back(static_cast<char>(static_cast<std::uint8_t>(token)));
  }
  return text;
}

TokenizedText tokenize(const TextCorpus& corpus, const Tokenizer& tokenizer) {
  TokenizedText tokens;
  tokens.train = tokenizer.encode(corpus.train());
  tokens.validation = tokenizer.encode(corpus.validation());
  tokens.held_out = tokenizer.encode(corpus.held_out());
  for (Index token = 0; token < tokenizer.vocabulary(); ++token) {
    const auto one = static_cast<std::int32_t>(token);
    tokens.token_bytes.push_back(static_cast<double>(tokenizer.decode({&one, 1}).size()));
  }
  return tokens;
}

}  // namespace headway::tasks
