#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "image_files.hpp"
#include "io/media/image_decoders.hpp"
#include "io/media/image_files.hpp"

using headway::ErrorKind;
using headway::Index;
using headway::io::decode_png;
using headway::io::GreyImage;
using headway::io::read_omniglot;
using headway::tasks::ImageClass;
using headway::tasks::ImageSet;
using headway::testing::Bytes;
using headway::testing::check_error;
using headway::testing::encode_png;
using headway::testing::flat_png;
using headway::testing::load_bytes;
using headway::testing::ScratchDirectory;
using headway::testing::store_bytes;
using headway::testing::unzip;
using headway::testing::write_zip;

namespace {

const std::string kSubset = HEADWAY_TEST_DATA "/omniglot/images_small.zip";
const std::string kShipped = HEADWAY_SOURCE_DIR "/data/omniglot/images_background_small1.zip";

double mean_of(const ImageSet& set) {
  return std::accumulate(set.pixels.begin(), set.pixels.end(), 0.0) /
         static_cast<double>(set.pixels.size()) / 255.0;
}

/// Root, who may read everything, is another user for as long as this lives.
class BoundByPermissions {
 public:
  BoundByPermissions() {
    if (root_) REQUIRE(::seteuid(65534) == 0);
  }
  ~BoundByPermissions() {
    if (root_ && ::seteuid(0) != 0) std::abort();
  }
  BoundByPermissions(const BoundByPermissions&) = delete;
  BoundByPermissions& operator=(const BoundByPermissions&) = delete;

 private:
  const bool root_ = ::geteuid() == 0;
};

}  // namespace

TEST_CASE("The shipped archive has 136 characters of 5 alphabets, 20 drawings each") {
  const ImageSet set = read_omniglot(kShipped);
  CHECK(set.side == 32);
  CHECK(set.drawings() == 2720);
  std::vector<std::pair<std::string, int>> alphabets;
  for (const ImageClass& c : set.classes) {
    CHECK(c.count == 20);
    if (alphabets.empty() || alphabets.back().first != c.group) alphabets.push_back({c.group, 0});
    ++alphabets.back().second;
  }
  const std::vector<std::pair<std::string, int>> expected = {
      {"Balinese", 24}, {"Early_Aramaic", 22}, {"Greek", 24}, {"Korean", 40}, {"Latin", 26}};
  CHECK(alphabets == expected);
  CHECK(set.classes[0].name == "character01");
  // Dark ink on light paper, with the mean that the task's normalisation takes off.
  CHECK(std::abs(mean_of(set) - 0.922) < 0.003);
}

TEST_CASE("The archive of the tests is read in full size and scaled") {
  const ImageSet set = read_omniglot(kSubset);
  REQUIRE(set.classes.size() == 10);
  CHECK(set.classes[5] == ImageClass{"Early_Aramaic", "character06", 25, 5});
  CHECK(set.classes[6] == ImageClass{"Tagalog", "character01", 30, 5});
  const ImageSet full = read_omniglot(kSubset, 105);
  CHECK(full.drawings() == 50);
  for (const std::uint8_t x : full.pixels) REQUIRE((x == 0 || x == 255));  // 1-bit drawings
  CHECK(std::count(full.pixels.begin(), full.pixels.end(), 0) > 50 * 200);
  const std::vector<std::uint8_t> scaled =
      headway::tasks::resize_grey(full.drawing(7), 105, 105, 32);
  CHECK(std::ranges::equal(scaled, set.drawing(7)));
}

TEST_CASE("Archive and folders give the same set") {
  const ScratchDirectory scratch;
  const ImageSet set = read_omniglot(kSubset);
  for (const auto& [name, bytes] : unzip(kSubset)) store_bytes(scratch.file(name), bytes);
  for (const std::string& folder :
       {scratch.file(""), scratch.file("images_small"), scratch.file("images_small/")}) {
    CAPTURE(folder);
    const ImageSet unpacked = read_omniglot(folder);
    CHECK(unpacked.classes == set.classes);
    CHECK(unpacked.pixels == set.pixels);
    CHECK(headway::tasks::image_set_hash(unpacked) == headway::tasks::image_set_hash(set));
  }
}

TEST_CASE("Order of entries, hidden files and other files play no part") {
  const ScratchDirectory scratch;
  auto entries = unzip(kSubset);
  std::reverse(entries.begin(), entries.end());
  entries.push_back({"__MACOSX/images_small/Tagalog/character01/._0894_01.png", {1, 2, 3}});
  entries.push_back({"images_small/.hidden/character01/a.png", {1, 2, 3}});
  entries.push_back({"images_small/README.txt", {1, 2, 3}});
  write_zip(scratch.file("other.zip"), entries);
  const ImageSet set = read_omniglot(scratch.file("other.zip"));
  CHECK(set.pixels == read_omniglot(kSubset).pixels);
  CHECK(set.classes == read_omniglot(kSubset).classes);
}

TEST_CASE("Several archives are one set, shared characters once") {
  const ScratchDirectory scratch;
  auto entries = unzip(kSubset);
  entries.erase(entries.begin(), entries.begin() + 25);
  entries.push_back({"images_small/New/character01/1.png", flat_png(105, 105, 0)});
  write_zip(scratch.file("second.zip"), entries);
  const ImageSet both =
      read_omniglot(std::vector<std::string>{kSubset, scratch.file("second.zip")});
  CHECK(both.classes.size() == 11);
  CHECK(both.drawings() == 51);
  CHECK(both.classes.back() == ImageClass{"New", "character01", 50, 1});
}

TEST_CASE("PNGs of any kind become grey, transparency paper") {
  const Bytes grey = {0, 10, 20, 30, 255, 7};
  const GreyImage plain = decode_png(encode_png(grey, 3, 2, PNG_FORMAT_GRAY), "a");
  CHECK((plain.width == 3 && plain.height == 2 && plain.pixels == grey));
  const Bytes colour = {9, 9, 9, 255, 255, 255, 0, 0, 0, 200, 200, 200};
  CHECK(decode_png(encode_png(colour, 2, 2, PNG_FORMAT_RGB), "a").pixels == Bytes{9, 255, 0, 200});
  const Bytes clear = {0, 0, 0, 255};  // black, not there; black, there
  CHECK(decode_png(encode_png(clear, 2, 1, PNG_FORMAT_GA), "a").pixels == Bytes{255, 0});
}

TEST_CASE("A PNG with any one byte damaged is refused, or harmlessly changed") {
  Bytes samples(24 * 24);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::uint8_t>(i * 37);
  const Bytes sound = encode_png(samples, 24, 24, PNG_FORMAT_GRAY);
  int refused = 0;
  for (std::size_t at = 0; at < sound.size(); ++at) {
    Bytes damaged = sound;
    damaged[at] ^= 0x55;
    Bytes pixels = samples;  // what passes has lost nothing: damage after the last pixel
    try {
      pixels = decode_png(damaged, "a").pixels;
    } catch (const headway::Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
      ++refused;
    }
    CHECK(pixels == samples);
  }
  CHECK(refused > static_cast<int>(sound.size()) - 40);
  for (std::size_t size = 0; size + 40 < sound.size(); size += 7) {
    CHECK_THROWS_AS(decode_png(Bytes(sound.begin(), sound.begin() + static_cast<Index>(size)), "a"),
                    headway::Error);
  }
}

TEST_CASE("Missing files are told from bad ones") {
  const ScratchDirectory scratch;
  check_error(ErrorKind::kMissingFile, {"nothing.zip"},
              [&] { read_omniglot(scratch.file("nothing.zip")); });
  std::filesystem::create_directories(scratch.file("empty"));
  check_error(ErrorKind::kBadData, {"empty", "holds no drawing"},
              [&] { read_omniglot(scratch.file("empty")); });
  store_bytes(scratch.file("text.zip"), {'h', 'e', 'l', 'l', 'o'});
  check_error(ErrorKind::kBadData, {"text.zip", "is not a valid zip archive"},
              [&] { read_omniglot(scratch.file("text.zip")); });
}

TEST_CASE("A zip archive that is cut short or damaged is refused") {
  const ScratchDirectory scratch;
  const Bytes sound = load_bytes(kSubset);
  for (const double share : {0.0, 0.1, 0.5, 0.9, 0.999}) {
    const auto size = static_cast<Index>(share * static_cast<double>(sound.size()));
    store_bytes(scratch.file("cut.zip"), Bytes(sound.begin(), sound.begin() + size));
    check_error(ErrorKind::kBadData, {"cut.zip", "zip"},
                [&] { read_omniglot(scratch.file("cut.zip")); });
  }
  // Damage in the middle of an entry's packed bytes: its checksum tells.
  Bytes damaged = sound;
  damaged[200] ^= 0xFF;
  store_bytes(scratch.file("damaged.zip"), damaged);
  check_error(ErrorKind::kBadData, {"damaged.zip", "images_small/Early_Aramaic/character01/"},
              [&] { read_omniglot(scratch.file("damaged.zip")); });
}

TEST_CASE("A damaged, huge or oblong drawing is named") {
  const ScratchDirectory scratch;
  const Bytes good = flat_png(105, 105, 255);
  const auto with = [&](const std::string& name, const Bytes& png) {
    write_zip(scratch.file("set.zip"), {{"set/Greek/character01/1.png", good}, {name, png}});
    read_omniglot(scratch.file("set.zip"));
  };
  const auto fails = [&](const std::string& name, const Bytes& png, const std::string& text) {
    check_error(ErrorKind::kBadData, {"set.zip", text}, [&] { with(name, png); });
  };
  const std::string second = "set/Greek/character01/2.png";
  CHECK_NOTHROW(with(second, good));
  Bytes cut = good;
  cut.resize(cut.size() / 2);
  fails(second, cut, "Greek/character01/2.png: is");
  fails(second, {}, "Greek/character01/2.png: is not a valid PNG image");
  fails(second, flat_png(105, 104, 255),
        "Greek/character01/2.png: is 105 x 104 pixels: must be square");
  fails(second, flat_png(1025, 3, 255),
        "Greek/character01/2.png: is 1025 x 3 pixels: must be at most");
  fails(second, Bytes((1U << 20U) + 1), "has 1048577 bytes when unpacked");
  fails("set/stray.png", good, "must be <alphabet>/<character>/<drawing>.png");
  fails("other/Greek/character01/2.png", good,
        "drawings lie in 'set/' and in 'other/': must all lie in one folder (give several folders "
        "as a list)");
  fails("run01/class_labels.txt", {},
        "run01/class_labels.txt: these are Omniglot's one-shot runs, whose folders are not "
        "characters: must be a background or evaluation set");
  store_bytes(scratch.file("set/Gr\neek/character01/1.png"), good);
  check_error(ErrorKind::kBadData, {"Gr?eek/character01/1.png: must be", "in printable characters"},
              [&] { read_omniglot(scratch.file("set")); });
}

TEST_CASE("A header that claims a huge image takes no memory") {
  Bytes bomb = flat_png(8, 8, 0);
  bomb[16] = 0x7F;  // the width's highest byte; its checksum is put right
  const auto crc = static_cast<std::uint32_t>(crc32(0, bomb.data() + 12, 17));
  for (std::size_t i = 0; i < 4; ++i) bomb[29 + i] = static_cast<std::uint8_t>(crc >> (24 - 8 * i));
  check_error(ErrorKind::kBadData, {"bomb.png"}, [&] { decode_png(bomb, "bomb.png"); });
}

TEST_CASE("A folder without permission is unreadable, not empty") {
  using std::filesystem::perms;
  const ScratchDirectory scratch;
  store_bytes(scratch.file("set/Greek/character01/1.png"), flat_png(8, 8, 0));
  const perms all_read = perms::owner_all | perms::group_read | perms::group_exec |
                         perms::others_read | perms::others_exec;
  for (const char* name :
       {"", "set", "set/Greek", "set/Greek/character01", "set/Greek/character01/1.png"}) {
    std::filesystem::permissions(scratch.file(name), all_read);
  }
  {
    const BoundByPermissions bound;
    CHECK(read_omniglot(scratch.file("set")).drawings() == 1);
  }
  std::filesystem::permissions(scratch.file("set/Greek"), perms::none);
  {
    const BoundByPermissions bound;
    check_error(ErrorKind::kMissingFile, {"set: cannot be read: Permission denied"},
                [&] { read_omniglot(scratch.file("set")); });
  }
  std::filesystem::permissions(scratch.file("set/Greek"), perms::owner_all);
}
