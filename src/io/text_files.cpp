#include "headway/io/text_files.hpp"

#include "io/image_decoders.hpp"

namespace headway::io {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{4} << 30U;

}  // namespace

tasks::TextCorpus read_text_corpus(const std::string& file_path, double held_out) {
  const std::vector<std::uint8_t> bytes = read_file_bytes(file_path, kLargestText);
  return {file_path, std::string(bytes.begin(), bytes.end()), held_out};
}

}  // namespace headway::io
