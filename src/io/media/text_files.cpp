#include "headway/io/text_files.hpp"

#include "io/whole_file.hpp"

namespace headway::io {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{4} << 30U;

}  // namespace

tasks::TextCorpus read_text_corpus(const std::string& file_path, double held_out) {
  return {file_path, read_whole_file(file_path, kLargestText), held_out};
}

}  // namespace headway::io
