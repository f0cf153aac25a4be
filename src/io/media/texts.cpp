// Texts, and byte-pair encoding by the library of its own (bpe_library.hpp).
#include "headway/core/option_table.hpp"
#include "headway/core/plugin.hpp"
#include "headway/io/text_files.hpp"
#include "io/fail.hpp"
#include "io/media/bpe_library.hpp"
#include "io/whole_file.hpp"

namespace headway::io {
namespace {

using detail::BpeLibrary;

constexpr std::uint64_t kLargestText = std::uint64_t{4} << 30U;

#ifdef HEADWAY_BPE_LIBRARY

constexpr bool kBuilt = true;

const BpeLibrary* load_library() {
  // POSIX: an object pointer from dlsym is a function's.
  const auto entry = reinterpret_cast<detail::BpeLibraryEntry>(  // NOLINT
      load_plugin({"byte-pair encoding: its SentencePiece library", HEADWAY_BPE_LIBRARY,
                   HEADWAY_BPE_LIBRARY_INSTALLED, detail::kBpeLibraryEntry}));
  const BpeLibrary* found = entry(detail::kBpeInterface);
  if (found != nullptr) return found;
  fail(ErrorKind::kUnavailable,
       "byte-pair encoding: the SentencePiece library found is that of another version of Headway");
}

#else

constexpr bool kBuilt = false;

const BpeLibrary* load_library() {
  fail(ErrorKind::kUnavailable,
       "byte-pair encoding: this build has no SentencePiece: install libsentencepiece-dev and "
       "build again, or set task.level = \"bytes\"");
}

#endif

const BpeLibrary& library() {
  static const BpeLibrary* const loaded = load_library();
  return *loaded;
}

}  // namespace

tasks::TextCorpus read_text_corpus(const std::string& file_path, double held_out) {
  return {file_path, read_whole_file(file_path, kLargestText), held_out};
}

bool has_bpe_tokenizer() { return kBuilt; }

std::unique_ptr<BpeTokenizer> train_bpe_tokenizer(std::string_view text, const std::string& name,
                                                  const BpeOptions& options) {
  integer<Index>(tasks::kSmallestBpeVocabulary, tasks::kLargestBpeVocabulary)
      .check(options.vocabulary, "task.vocabulary");
  return load_bpe_tokenizer(library().train(text, name, options.vocabulary), name);
}

std::unique_ptr<BpeTokenizer> load_bpe_tokenizer(std::string_view model, const std::string& name) {
  return library().load(model, name);
}

}  // namespace headway::io
