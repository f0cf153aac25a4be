// The readers of images on arbitrary bytes: every input is refused with Error{kBadData}, or gives a
// set whose classes cover its drawings. The first byte says what the rest is: a PNG, an Omniglot
// archive, or an IDX file of images (with three labels). Chunks of a PNG mostly get the check sum
// of their new content. Otherwise the check sum is the only fault that would be found.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz_scratch.hpp"
#include "headway/error.hpp"
#include "io/media/image_decoders.hpp"
#include "io/media/image_files.hpp"

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

std::uint32_t big_endian(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 24U | std::uint32_t{at[1]} << 16U | std::uint32_t{at[2]} << 8U |
         at[3];
}

/// Sets the check sums of the chunks of a PNG: length, four letters, content, CRC of all but the
/// length.
void mend_check_sums(std::uint8_t* png, std::size_t size) {
  constexpr std::size_t kSignature = 8, kAround = 12;
  for (std::size_t at = kSignature; at + kAround <= size;) {
    const std::size_t length = big_endian(png + at);
    if (length > size - at - kAround) return;
    const auto sum =
        static_cast<std::uint32_t>(crc32(0, png + at + 4, static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i) {
      png[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24U - 8U * i));
    }
    at += kAround + length;
  }
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

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  constexpr unsigned kUnmended = 8;  // one of so many
  size = LLVMFuzzerMutate(data, size, most);
  if (size > 0 && data[0] % 3 == 0 && seed % kUnmended != 0) mend_check_sums(data + 1, size - 1);
  return size;
}

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
