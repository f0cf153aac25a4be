// The study reader on arbitrary bytes: every input is either refused with Error{kBadStudy} (kUsage
// for an overlay), or gives a study that is written, read again and written to the same text.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_scratch.hpp"
#include "headway/error.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study/sweep.hpp"
#include "headway/study_file.hpp"

namespace {

using headway::Error;
using headway::ErrorKind;
using headway::fuzz::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  // What follows a NUL byte is an overlay.
  const std::size_t end = input.find('\0');
  std::vector<std::string> overlays;
  if (end != std::string_view::npos) overlays.emplace_back(input.substr(end + 1));
  try {
    const headway::Study study =
        headway::io::parse_study(input.substr(0, end), "fuzz.toml", overlays, "/");
    const std::string text = headway::io::write_study(study);
    require(headway::io::write_study(headway::io::parse_study(text, "again", {}, "/")) == text);
    require(headway::study_hash(study).size() == 64);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    const bool from_overlay = error.kind() == ErrorKind::kUsage && !overlays.empty();
    require(error.kind() == ErrorKind::kBadStudy || from_overlay);
    require(message.find('\n') == std::string_view::npos);
    require(message.starts_with("fuzz.toml") || message.starts_with("--set"));
  }
  return 0;
}
