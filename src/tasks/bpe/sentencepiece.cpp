#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "headway/core/utf8.hpp"
#include "tasks/bpe_library.hpp"

namespace headway::tasks::detail {
namespace {

constexpr std::size_t kLongestPiece = 4096;  // the library passes over longer training lines

// Length of the next piece of `text`: a line without its end, or as much of it as the library
// takes.
std::size_t piece_length(std::string_view text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  if (line <= kLongestPiece) return line;
  std::size_t length = 0;
  while (length < line) {
    const std::size_t size = std::max<std::size_t>(1, utf8_sequence(text, length));
    if (length + size > kLongestPiece) break;
    length += size;
  }
  return length;
}

// Lines for training, without their ends.
class LineIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(std::string_view text) : rest_(text) { advance(); }
  [[nodiscard]] bool done() const override { return line_.empty(); }
  void Next() override { advance(); }
  [[nodiscard]] const std::string& value() const override { return line_; }
  [[nodiscard]] sentencepiece::util::Status status() const override { return {}; }

 private:
  void advance() {
    line_.clear();
    while (line_.empty() && !rest_.empty()) {
      const std::size_t length = piece_length(rest_);
      line_ = rest_.substr(0, length);
      const bool at_end = length < rest_.size() && rest_[length] == '\n';
      rest_.remove_prefix(length + (at_end ? 1 : 0));
    }
  }

  std::string_view rest_;
  std::string line_;
};

class SentencePieceTokenizer final : public BpeTokenizer {
 public:
  SentencePieceTokenizer(std::string_view model, const std::string& name) : model_(model) {
    const auto status = processor_.LoadFromSerializedProto(model_);
    if (!status.ok()) {
      bad_data("{}: is not a model of byte-pair encoding: {}", name, status.ToString());
    }
    for (int byte = 0; byte < 256; ++byte) {
      const int id = processor_.PieceToId(fmt::format("<0x{:02X}>", byte));
      if (!processor_.IsByte(id)) {
        bad_data("{}: the model of byte-pair encoding has no token for byte {:#04x}", name, byte);
      }
      byte_tokens_.push_back(id);
    }
  }

  [[nodiscard]] std::string name() const override {
    return fmt::format("byte-pair encoding, {} tokens", vocabulary());
  }
  [[nodiscard]] Index vocabulary() const override { return processor_.GetPieceSize(); }
  [[nodiscard]] std::string serialize() const override { return model_; }

  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override {
    require_encodable(text, "text");
    std::vector<std::int32_t> tokens;
    std::vector<int> piece;
    while (!text.empty()) {
      const std::size_t length = piece_length(text);
      const auto status = processor_.Encode(text.substr(0, length), &piece);
      if (!status.ok()) throw Error(ErrorKind::kInternal, status.ToString());
      tokens.insert(tokens.end(), piece.begin(), piece.end());
      const bool at_end = length < text.size() && text[length] == '\n';
      if (at_end) tokens.push_back(byte_tokens_['\n']);
      text.remove_prefix(length + (at_end ? 1 : 0));
    }
    return tokens;
  }

  // Piece by piece, because the library's Decode() replaces byte tokens that make no UTF-8 by
  // replacement characters.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t token : tokens) {
      if (token < 0 || token >= vocabulary()) {
        fail(ErrorKind::kInternal, "token {}: must be from 0 to {}", token, vocabulary() - 1);
      }
      if (processor_.IsByte(token)) {
        const auto byte = std::find(byte_tokens_.begin(), byte_tokens_.end(), token);
        text.push_back(static_cast<char>(byte - byte_tokens_.begin()));
      } else if (!processor_.IsUnknown(token) && !processor_.IsControl(token)) {
        append_piece(processor_.IdToPiece(token), text);
      }
    }
    return text;
  }

 private:
  static void append_piece(std::string_view piece, std::string& text) {
    while (!piece.empty()) {
      const std::size_t sign = std::min(piece.find(kSpaceSign), piece.size());
      text += piece.substr(0, sign);
      if (sign == piece.size()) return;
      text += ' ';
      piece.remove_prefix(sign + kSpaceSign.size());
    }
  }

  std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
  std::vector<int> byte_tokens_;
};

std::string train_model(std::string_view text, const std::string& name, Index vocabulary) {
  require_encodable(text, name);
  const std::unordered_map<std::string, std::string> arguments = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocabulary)},
      {"hard_vocab_limit", "false"},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "false"},
      {"remove_extra_whitespaces", "false"},
      {"byte_fallback", "true"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"num_threads", "1"},
      {"max_sentence_length", std::to_string(kLongestPiece)},
      {"minloglevel", "3"},  // the library is silent: errors come back as values
  };
  LineIterator lines(text);
  if (lines.done()) {
    bad_data("{}: has no characters but line ends; byte-pair encoding is learned from others",
             name);
  }
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &lines, &model);
  if (status.ok()) return model;
  bad_data("{}: byte-pair encoding cannot be learned from this text ({} bytes): {}", name,
           text.size(), status.ToString());
}

std::unique_ptr<BpeTokenizer> load_model(std::string_view model, const std::string& name) {
  return std::make_unique<SentencePieceTokenizer>(model, name);
}

}  // namespace
}  // namespace headway::tasks::detail

extern "C" __attribute__((visibility("default"))) const headway::tasks::detail::BpeLibrary*
headway_bpe_library(int interface) {
  using namespace headway::tasks::detail;  // NOLINT: the entry is outside of every namespace
  static const BpeLibrary library{&train_model, &load_model};
  return interface == kBpeInterface ? &library : nullptr;
}
