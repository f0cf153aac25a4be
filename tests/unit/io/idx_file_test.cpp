#include <algorithm>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "image_files.hpp"
#include "io/media/image_files.hpp"

using headway::ErrorKind;
using headway::io::read_idx;
using headway::tasks::ImageClass;
using headway::tasks::ImageSet;
using headway::testing::Bytes;
using headway::testing::check_error;
using headway::testing::ScratchDirectory;
using headway::testing::store_bytes;
using headway::testing::write_gzip;

namespace {

void append_number(std::uint32_t value, Bytes& bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

Bytes images_file(std::uint32_t count, std::uint32_t rows, std::uint32_t columns,
                  const Bytes& pixels, std::uint32_t magic = 0x803) {
  Bytes bytes;
  for (const std::uint32_t value : {magic, count, rows, columns}) append_number(value, bytes);
  bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  return bytes;
}

Bytes labels_file(const Bytes& labels, std::uint32_t magic = 0x801) {
  Bytes bytes;
  append_number(magic, bytes);
  append_number(static_cast<std::uint32_t>(labels.size()), bytes);
  bytes.insert(bytes.end(), labels.begin(), labels.end());
  return bytes;
}

Bytes ramp(std::size_t count) {
  Bytes pixels(count);
  for (std::size_t i = 0; i < count; ++i) pixels[i] = static_cast<std::uint8_t>(i * 31 % 251);
  return pixels;
}

}  // namespace

TEST_CASE("IDX images are grouped by label, inverted and scaled; gzip is the same") {
  const ScratchDirectory scratch;
  const Bytes pixels = ramp(std::size_t{5} * 28 * 28);
  const Bytes labels = {7, 0, 7, 3, 0};
  store_bytes(scratch.file("images"), images_file(5, 28, 28, pixels));
  store_bytes(scratch.file("labels"), labels_file(labels));
  const ImageSet set = read_idx(scratch.file("images"), scratch.file("labels"));
  CHECK(set.side == 32);
  const std::vector<ImageClass> classes = {{"", "0", 0, 2}, {"", "3", 2, 1}, {"", "7", 3, 2}};
  CHECK(set.classes == classes);
  const std::vector<std::size_t> order = {1, 4, 3, 0, 2};
  for (std::size_t i = 0; i < order.size(); ++i) {
    Bytes image(pixels.begin() + static_cast<headway::Index>(order[i] * 784),
                pixels.begin() + static_cast<headway::Index>((order[i] + 1) * 784));
    for (std::uint8_t& x : image) x = static_cast<std::uint8_t>(255 - x);
    CHECK(std::ranges::equal(headway::tasks::resize_grey(image, 28, 28, 32),
                             set.drawing(static_cast<headway::Index>(i))));
  }
  write_gzip(scratch.file("images.gz"), images_file(5, 28, 28, pixels));
  write_gzip(scratch.file("labels.gz"), labels_file(labels));
  const ImageSet packed = read_idx(scratch.file("images.gz"), scratch.file("labels.gz"));
  CHECK(packed.pixels == set.pixels);
  CHECK(packed.classes == set.classes);
}

TEST_CASE("Without inversion light ink stays light") {
  const ScratchDirectory scratch;
  Bytes pixels(2 * 64, 0);
  pixels[3] = 255;
  store_bytes(scratch.file("images"), images_file(2, 8, 8, pixels));
  store_bytes(scratch.file("labels"), labels_file({1, 2}));
  const auto read = [&](bool invert) {
    return read_idx(scratch.file("images"), scratch.file("labels"), {8, invert}).pixels;
  };
  CHECK(read(false) == pixels);
  const auto dark = read(true);
  CHECK(std::count(dark.begin(), dark.end(), 255) == 127);
}

TEST_CASE("Tuples of digits can be drawn from an IDX set") {
  const ScratchDirectory scratch;
  store_bytes(scratch.file("images"), images_file(6, 28, 28, ramp(std::size_t{6} * 784)));
  store_bytes(scratch.file("labels"), labels_file({4, 4, 9, 9, 4, 9}));
  const auto set =
      std::make_shared<const ImageSet>(read_idx(scratch.file("images"), scratch.file("labels")));
  const auto generator = headway::tasks::OneShotImagesGenerator::out_of_distribution(set, {});
  headway::tasks::OneShotExample example;
  generator.example(headway::tasks::OneShotSplit::kOutOfDistribution, 0, example);
  CHECK(example.inputs.size() == std::size_t{48} * 192);
}

TEST_CASE("Each fault of an IDX file is named") {
  const ScratchDirectory scratch;
  const Bytes good_images = images_file(3, 4, 4, ramp(48));
  const Bytes good_labels = labels_file({1, 0, 1});
  const auto fails = [&](const Bytes& images, const Bytes& labels,
                         const std::vector<std::string>& parts) {
    store_bytes(scratch.file("images"), images);
    store_bytes(scratch.file("labels"), labels);
    check_error(ErrorKind::kBadData, parts,
                [&] { read_idx(scratch.file("images"), scratch.file("labels")); });
  };
  fails(images_file(3, 4, 4, ramp(48), 0x801), good_labels,
        {"/images: magic number 0x00000801: must be 0x00000803 (images: unsigned bytes, 3 "
         "dimensions)"});
  fails(good_labels, good_images, {"/images: magic number 0x00000801"});
  fails(good_images, labels_file({1, 0, 1}, 0x803),
        {"/labels: magic number 0x00000803: must be 0x00000801 (labels: unsigned bytes, 1 "
         "dimension)"});
  fails({0, 0}, good_labels, {"/images: ends within the magic number"});
  fails(images_file(0, 4, 4, {}), good_labels, {"number of images = 0: must be from 1"});
  fails(images_file(0xFFFFFFFF, 4, 4, {}), good_labels, {"number of images = 4294967295"});
  fails(images_file(3, 2000, 2000, {}), good_labels, {"rows = 2000: must be from 1 to 1024"});
  fails(images_file(3, 4, 5, ramp(60)), good_labels, {"images of 4 x 5: must be square"});
  fails(images_file(3, 4, 4, ramp(47)), good_labels,
        {"/images: ends within image 3 of 3, 1 bytes"});
  fails(images_file(3, 4, 4, ramp(49)), good_labels, {"/images: is longer than its header"});
  fails(good_images, labels_file({1, 0}), {"/labels: number of labels = 2: must be the 3 images"});
  Bytes short_labels = good_labels;
  short_labels.resize(good_labels.size() - 1);
  fails(good_images, short_labels, {"/labels: ends within the labels"});
  Bytes long_labels = good_labels;
  long_labels.push_back(0);
  fails(good_images, long_labels, {"/labels: is longer than"});
}

TEST_CASE("Damaged gzip and missing files are told apart") {
  const ScratchDirectory scratch;
  store_bytes(scratch.file("labels"), labels_file({1, 0, 1}));
  write_gzip(scratch.file("images.gz"), images_file(3, 28, 28, ramp(std::size_t{3} * 784)));
  const Bytes packed = headway::testing::load_bytes(scratch.file("images.gz"));
  const auto fails = [&](const Bytes& bytes) {
    store_bytes(scratch.file("images.gz"), bytes);
    check_error(ErrorKind::kBadData, {"images.gz: its gzip data are damaged or cut short"},
                [&] { read_idx(scratch.file("images.gz"), scratch.file("labels")); });
  };
  fails(Bytes(packed.begin(), packed.begin() + static_cast<headway::Index>(packed.size() / 2)));
  Bytes cut = packed;
  cut.resize(packed.size() - 1);  // within the checksum
  fails(cut);
  Bytes wrong_sum = packed;
  wrong_sum[packed.size() - 6] ^= 1;
  fails(wrong_sum);
  Bytes damaged = packed;
  damaged[packed.size() / 2] ^= 0xFF;
  fails(damaged);
  check_error(ErrorKind::kMissingFile, {"nothing"},
              [&] { read_idx(scratch.file("nothing"), scratch.file("labels")); });
  check_error(ErrorKind::kMissingFile, {"is not a regular file"},
              [&] { read_idx(scratch.file(""), scratch.file("labels")); });
}
