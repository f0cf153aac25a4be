// Byte-pair encoding by the library of its own (bpe_library.hpp).
#include "headway/tasks/bpe_tokenizer.hpp"

#include "core/fail.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/plugin.hpp"
#include "tasks/bpe_library.hpp"

namespace headway::tasks {
namespace {

using detail::BpeLibrary;

#ifdef HEADWAY_BPE_LIBRARY

const BpeLibrary* load_library() {
  // POSIX: an object pointer from dlsym is a function's.
  const auto entry = reinterpret_cast<detail::BpeLibraryEntry>(  // NOLINT
      load_plugin({"byte-pair encoding: Headway's SentencePiece library", HEADWAY_BPE_LIBRARY,
                   HEADWAY_BPE_LIBRARY_INSTALLED, detail::kBpeLibraryEntry}));
  const BpeLibrary* found = entry(detail::kBpeInterface);
  if (found != nullptr) return found;
  fail(ErrorKind::kUnavailable,
       "byte-pair encoding: the SentencePiece library that was found belongs to another version of "
       "Headway");
}

#else

const BpeLibrary* load_library() {
  fail(ErrorKind::kUnavailable,
       "byte-pair encoding: this build has no SentencePiece. Install libsentencepiece-dev and "
       "build again, or set task.level = \"bytes\"");
}

#endif

const BpeLibrary& library() {
  static const BpeLibrary* const loaded = load_library();
  return *loaded;
}

}  // namespace

std::unique_ptr<BpeTokenizer> train_bpe_tokenizer(std::string_view text, const std::string& name,
                                                  const BpeOptions& options) {
  integer<Index>(kSmallestBpeVocabulary, kLargestBpeVocabulary)
      .check(options.vocabulary, "task.vocabulary");
  return load_bpe_tokenizer(library().train(text, name, options.vocabulary), name);
}

std::unique_ptr<BpeTokenizer> load_bpe_tokenizer(std::string_view model, const std::string& name) {
  return library().load(model, name);
}

}  // namespace headway::tasks
