#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headway/types.hpp"

namespace headway::tasks {

/// Tokens of byte-pair encoding. The smallest vocabulary has room for 256 bytes, signs, and some
/// pieces to learn.
inline constexpr Index kSmallestBpeVocabulary = 512;
inline constexpr Index kLargestBpeVocabulary = 1'000'000;

/// Error{kBadData} naming `name`, line and byte of the first fault when `text` is no UTF-8.
void require_utf8(std::string_view text, const std::string& name);

/// Shares of a text's bytes that training never sees. `held_out` is its end, whose loss is
/// reported. `validation` stands before it; its loss chooses the best checkpoint.
struct TextShares {
  double held_out = 0.1;
  double validation = 0.05;
  bool operator==(const TextShares&) const = default;
};

/// A text for language modelling, split by position: training, validation, held out.
class TextCorpus {
 public:
  /// `text` is UTF-8. A part ends at the last character boundary at or before its share. Errors:
  /// kBadData naming `name`, line and byte of the first fault when the text is no UTF-8, or when a
  /// part is empty; kBadStudy unless both shares are above 0 and together below 1.
  TextCorpus(std::string name, std::string text, const TextShares& shares);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view train() const { return text().substr(0, train_bytes_); }
  [[nodiscard]] std::string_view validation() const {
    return text().substr(train_bytes_, held_out_begin_ - train_bytes_);
  }
  [[nodiscard]] std::string_view held_out() const { return text().substr(held_out_begin_); }

 private:
  std::string name_;
  std::string text_;
  std::size_t train_bytes_ = 0, held_out_begin_ = 0;
};

/// Turns text into tokens and back. decode(encode(text)) == text for every UTF-8 text that encode()
/// accepts.
class Tokenizer {
 public:
  Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  virtual ~Tokenizer() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Index vocabulary() const = 0;  ///< tokens are 0, ..., vocabulary() - 1
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// Any tokens, such as sampled ones: the result need not be UTF-8 then. Error{kInternal} when a
  /// token is none of the vocabulary.
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t> tokens) const = 0;
};

/// A token is a byte: vocabulary 256, and one byte a token.
class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::string name() const override { return "bytes"; }
  [[nodiscard]] Index vocabulary() const override { return 256; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const override;
};

/// The parts of a corpus as tokens.
struct TokenizedText {
  std::vector<std::int32_t> train, validation, held_out;
  /// Bytes that each token stands for, [vocabulary]: they turn nats a token into bits a byte.
  std::vector<double> token_bytes;

  [[nodiscard]] Index vocabulary() const { return static_cast<Index>(token_bytes.size()); }
};

/// Encodes the parts apart, so that no token reaches over a split.
TokenizedText tokenize(const TextCorpus& corpus, const Tokenizer& tokenizer);

}  // namespace headway::tasks
