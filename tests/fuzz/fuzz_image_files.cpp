// The readers of images on arbitrary bytes: every input is refused with Error{kBadData}, or gives a
// set whose classes cover its drawings. The first byte says what the rest is: a PNG, an Omniglot
// archive, or an IDX file of images (with three labels).
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz_scratch.hpp"
#include "headway/core/error.hpp"
#include "headway/io/image_files.hpp"
#include "io/media/image_decoders.hpp"

namespace {

using headway::Error;
using headway::ErrorKind;

using headway::fuzz::require;
using headway::fuzz::scratch_file;

void write_file(const std::string& path, const std::uint8_t* data, std::size_t size) {
  require(headway::fuzz::write_scratch(path, data, size));
}

void require_sound(const headway::tasks::ImageSet& set) {
  headway::Index next = 0;
  for (const headway::tasks::ImageClass& c : set.classes) {
    require(c.first == next && c.count > 0);
    next += c.count;
  }
  require(next > 0 && next == set.drawings());
}

void read_as(int kind, const std::uint8_t* data, std::size_t size) {
  const std::string input = scratch_file("-input");
  if (kind == 0) {
    const headway::io::GreyImage image = headway::io::decode_png({data, size}, "fuzz");
    require(image.pixels.size() == static_cast<std::size_t>(image.width * image.height));
    return;
  }
  write_file(input, data, size);
  if (kind == 1) {
    require_sound(headway::io::read_omniglot(input, 8));
    return;
  }
  const std::vector<std::uint8_t> labels = {0, 0, 8, 1, 0, 0, 0, 3, 7, 0, 7};
  write_file(scratch_file("-labels"), labels.data(), labels.size());
  require_sound(headway::io::read_idx(input, scratch_file("-labels"), {8, true}));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    read_as(data[0] % 3, data + 1, size - 1);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kBadData);
    require(std::string(error.what()).find('\n') == std::string::npos);
  }
  return 0;
}
