// The check sum behind the last byte of HDF5.
#include "io/hdf5/file_seal.hpp"

#include "catch.hpp"
#include "core/whole_file.hpp"
#include "dataset_builder.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "io/first_reading.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

std::string text_of(const std::vector<char>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string written_dataset(const ScratchDirectory& scratch) {
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path);
  return path;
}

}  // namespace

TEST_CASE("The check sum is the CRC-32 of the bytes, as text") {
  CHECK(io::kSealBytes == 32);
  // The check value of CRC-32 that every description of it gives.
  CHECK(io::seal_of("123456789") == "\nheadway crc32 of file: cbf43926");
  CHECK(io::seal_of("") == "\nheadway crc32 of file: 00000000");
}

TEST_CASE("A sealed file is sound, and one with any changed bit before its check sum is not") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("sealed");
  std::string content = "0123456789";
  io::write_sealed_file(path, content, false);
  CHECK(read_whole_file(path) == content + io::seal_of(content));
  CHECK(io::broken_seal(path).empty());
  for (std::size_t bit = 0; bit < 8 * content.size(); ++bit) {
    std::string changed = content + io::seal_of(content);
    changed[bit / 8] ^= static_cast<char>(1U << bit % 8);
    write_whole_file(path, changed, true);
    CAPTURE(bit);
    CHECK_THAT(io::broken_seal(path), Catch::Matchers::ContainsSubstring("damaged"));
  }
  // A digit of the check sum itself.
  std::string changed = content + io::seal_of(content);
  changed.back() = changed.back() == '0' ? '1' : '0';
  write_whole_file(path, changed, true);
  CHECK_FALSE(io::broken_seal(path).empty());
}

TEST_CASE("Files without a check sum are not refused, however short") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("plain");
  for (const std::size_t size : {0U, 1U, 31U, 32U, 33U}) {
    write_whole_file(path, std::string(size, 'x'), true);
    CHECK(io::broken_seal(path).empty());
  }
  CHECK_THROWS_AS(io::broken_seal(scratch.file("missing")), Error);
}

TEST_CASE("The mark of a file's content is the same with and without the check sum") {
  const ScratchDirectory scratch;
  const std::string sealed = scratch.file("sealed"), plain = scratch.file("plain");
  io::write_sealed_file(sealed, "content", false);
  write_whole_file(plain, "content", false);
  CHECK(io::content_mark(sealed) == io::content_mark(plain));
  write_whole_file(plain, "contenT", true);
  CHECK(io::content_mark(sealed) != io::content_mark(plain));
}

TEST_CASE("A changed byte of a data set is named as damage before HDF5 reads it") {
  const ScratchDirectory scratch;
  const std::string path = written_dataset(scratch);
  CHECK(io::broken_seal(path).empty());
  CHECK(text_of(read_bytes(path)).find("\nheadway crc32 of file: ") != std::string::npos);
  std::vector<char> bytes = read_bytes(path);
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(path, bytes);
  try {
    io::read_dataset(path);
    FAIL("the file was accepted");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 65);
    CHECK_THAT(error.what(),
               Catch::Matchers::ContainsSubstring(path) &&
                   Catch::Matchers::ContainsSubstring("the check sum at its end differs"));
  }
}

TEST_CASE("A file that another program edits loses its check sum and is read") {
  const ScratchDirectory scratch;
  const std::string path = written_dataset(scratch);
  Surgery(path).set("train/labels", 0, 0.5);
  CHECK(text_of(read_bytes(path)).find("\nheadway crc32 of file: ") == std::string::npos);
  CHECK(io::read_dataset(path).train.labels(0, 0) == 0.5);
}
