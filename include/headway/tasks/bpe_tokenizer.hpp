#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headway/tasks/text.hpp"

namespace headway::tasks {

/// Byte-pair encoding [Sennrich et al. 2016] by SentencePiece. It is lossless: characters and
/// spaces are not normalised, characters outside the vocabulary become their bytes, and lines are
/// encoded one by one with their ends. U+2581 and U+0000 are refused. U+2581 is the library's sign
/// for a space; neither would be given back by decoding.
class BpeTokenizer : public Tokenizer {
 public:
  /// The trained model, as load_bpe_tokenizer() takes it: a model file of the library.
  [[nodiscard]] virtual std::string serialize() const = 0;
};

struct BpeOptions {
  Index vocabulary = 4096;  ///< at most; short texts give fewer
};

/// Learns the merges from `text`, the training part alone of a corpus. Deterministic.
/// Errors: kUnavailable without SentencePiece; kBadStudy when the vocabulary is out of bounds;
/// kBadData, naming `name`, when the text holds U+2581 or U+0000, or nothing can be learned.
/// Cost: seconds for megabytes.
std::unique_ptr<BpeTokenizer> train_bpe_tokenizer(std::string_view text, const std::string& name,
                                                  const BpeOptions& options = {});

/// The tokenizer that serialize() wrote. Errors: kUnavailable without SentencePiece; kBadData,
/// naming `name`, when `model` is not a tokenizer.
std::unique_ptr<BpeTokenizer> load_bpe_tokenizer(std::string_view model, const std::string& name);

}  // namespace headway::tasks
