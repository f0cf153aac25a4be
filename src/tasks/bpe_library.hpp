// The interface of Headway's library of byte-pair encoding. It is linked with SentencePiece, and
// loaded when a text is first cut into pieces. In one program, SentencePiece's copy of protobuf
// would replace that of LibTorch, and LibTorch would crash.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/fail.hpp"
#include "headway/tasks/bpe_tokenizer.hpp"

namespace headway::tasks::detail {

inline constexpr std::string_view kSpaceSign = "\xE2\x96\x81";  // U+2581

/// Error{kBadData} naming `name` and the byte where `text` has a character that byte-pair encoding
/// has no token for.
inline void require_encodable(std::string_view text, const std::string& name) {
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) {
    bad_data("{}: byte {} is U+0000, which byte-pair encoding has no token for", name, zero);
  }
  const std::size_t sign = text.find(kSpaceSign);
  if (sign != std::string_view::npos) {
    bad_data("{}: byte {} starts U+2581, which byte-pair encoding keeps for spaces", name, sign);
  }
}

struct BpeLibrary {
  /// The trained model. `vocabulary` has been checked; other errors as train_bpe_tokenizer().
  std::string (*train)(std::string_view text, const std::string& name, Index vocabulary) = nullptr;
  /// As load_bpe_tokenizer().
  std::unique_ptr<BpeTokenizer> (*load)(std::string_view model, const std::string& name) = nullptr;
};

/// The library's one C function, called kBpeLibraryEntry. `interface` is the caller's
/// kBpeInterface; null where the library was built for another interface.
using BpeLibraryEntry = const BpeLibrary* (*)(int interface);
inline constexpr const char* kBpeLibraryEntry = "headway_bpe_library";
inline constexpr int kBpeInterface = 1;

}  // namespace headway::tasks::detail
