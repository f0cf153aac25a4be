// Single data sets of an HDF5 file: what is read of them, and what is refused in whole sentences.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/error.hpp"
#include "io/hdf5/input.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Index kRows = 6;

/// Numbers 0, 1, ... of shape [6, 2], floats and whole ones, and three texts.
std::string written(const ScratchDirectory& scratch) {
  const std::string path = scratch.file("data.h5");
  const io::Hdf5Lock lock;
  io::Hdf5OutputFile out;
  std::vector<double> numbers;
  std::vector<std::int64_t> whole;
  for (int i = 0; i < 2 * kRows; ++i) {
    numbers.push_back(i);
    whole.push_back(i);
  }
  out.write("numbers", {kRows, 2}, numbers.data());
  out.write("whole", {kRows, 2}, whole.data());
  out.write_strings("texts", {"one", "caf\xC3\xA9", ""});
  out.write_to(path, true);
  return path;
}

template <class Work>
std::string fault(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    return error.what();
  }
  return "none";
}

/// Changes a byte `at` bytes behind the only place that has these.
void damage(const std::string& path, const std::string& place, std::size_t at) {
  std::vector<char> bytes = read_bytes(path);
  const auto found = std::search(bytes.begin(), bytes.end(), place.begin(), place.end());
  REQUIRE(found != bytes.end());
  REQUIRE(std::search(found + 1, bytes.end(), place.begin(), place.end()) == bytes.end());
  found[static_cast<std::ptrdiff_t>(at)] ^= 0x40;
  write_bytes(path, without_seal(bytes));
}

}  // namespace

TEST_CASE("Each type is read as what it can be, and refused as anything else") {
  const ScratchDirectory scratch;
  const std::string path = written(scratch);
  {
    Surgery surgery(path);
    const io::Handle boolean(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);  // as numpy writes them
    const signed char no = 0, yes = 1;
    H5Tenum_insert(boolean.get(), "FALSE", &no);
    H5Tenum_insert(boolean.get(), "TRUE", &yes);
    const io::Handle flags = surgery.replace("flags", boolean.get(), {3});
    const signed char values[] = {1, 0, 1};
    H5Dwrite(flags.get(), boolean.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    const io::Handle below = surgery.replace("below", H5T_NATIVE_INT, {2});
    const int numbers[] = {3, -5};
    H5Dwrite(below.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
    // Empty, and yet a row of it would have more numbers than can be counted.
    surgery.replace("vast", H5T_IEEE_F64LE, {0, hsize_t{1} << 40U, hsize_t{1} << 40U});
  }
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  CHECK(file.read_integers<std::int64_t>("flags") == std::vector<std::int64_t>{1, 0, 1});
  CHECK(file.read_integers<std::uint64_t>("whole").at(11) == 11);
  CHECK(fault([&] { static_cast<void>(file.read_integers<std::uint64_t>("below")); }) ==
        "below: -5; allowed: integers >= 0");
  CHECK_THAT(fault([&] { static_cast<void>(file.read_array("vast")); }),
             Catch::Matchers::ContainsSubstring("more than 2^46 numbers"));
  CHECK(file.read_array("flags").values == std::vector<double>{1.0, 0.0, 1.0});
  CHECK(file.read_array("whole").shape == std::vector<Index>{kRows, 2});
  CHECK(file.read_strings("texts") == std::vector<std::string>{"one", "caf\xC3\xA9", ""});
  CHECK(file.read_strings("whole").at(10) == "10");  // integers become their digits
  CHECK(fault([&] { static_cast<void>(file.read_integers<std::int64_t>("numbers")); }) ==
        "numbers: type float64; allowed: integers");
  CHECK(fault([&] { static_cast<void>(file.read_array("texts")); }) ==
        "texts: type string; allowed: float32, float64, integers");
  CHECK(fault([&] { static_cast<void>(file.read_strings("numbers")); }) ==
        "numbers: type float64; allowed: strings");
}

TEST_CASE("Rows are read by their range, which must lie within the array") {
  const ScratchDirectory scratch;
  const std::string path = written(scratch);
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  const io::Hdf5Array array = file.open_array("numbers");
  CHECK(array.row_size() == 2);
  std::vector<double> rows(4, -1.0);
  array.read_rows(4, 2, rows.data());
  CHECK(rows == std::vector<double>{8.0, 9.0, 10.0, 11.0});
  array.read_rows(6, 0, rows.data());
  CHECK(rows[0] == 8.0);
  for (const auto& [begin, count] :
       std::vector<std::pair<Index, Index>>{{5, 2}, {-1, 1}, {0, -1}}) {
    CAPTURE(begin, count);
    CHECK_THROWS_WITH(array.read_rows(begin, count, rows.data()),
                      "numbers: rows " + std::to_string(begin) + " + " + std::to_string(count) +
                          " of [6, 2] asked for");
  }
}

TEST_CASE("Blocks of an array are those of the whole, once each, in order or dealt to parts") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("large.h5");
  constexpr Index kLarge = 1'000'000;
  {
    const io::Hdf5Lock lock;
    io::Hdf5OutputFile out;
    std::vector<double> numbers;
    for (Index i = 0; i < 3 * kLarge; ++i) numbers.push_back(static_cast<double>(i));
    out.write("numbers", {kLarge, 3}, numbers.data());
    out.write_to(path, true);
  }
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  for (const Index parts : {1, 3}) {
    std::vector<int> seen(kLarge, 0);
    int wrong = 0, blocks = 0;
    for (Index part = 0; part < parts; ++part) {
      Index last = -1;
      io::for_each_block(
          file, "numbers",
          [&](const io::ArrayInfo& info, Index begin, Index count, std::span<const double> values) {
            CHECK(info.shape == std::vector<Index>{kLarge, 3});
            CHECK(begin > last);
            last = begin;
            ++blocks;
            for (Index i = 0; i < count; ++i) {
              ++seen[static_cast<std::size_t>(begin + i)];
              for (Index j = 0; j < 3; ++j) {
                wrong += values[static_cast<std::size_t>(3 * i + j)] ==
                                 static_cast<double>(3 * (begin + i) + j)
                             ? 0
                             : 1;
              }
            }
          },
          part, parts);
    }
    CHECK(wrong == 0);
    CHECK(blocks > 1);
    CHECK((seen == std::vector<int>(kLarge, 1)));
  }
}

TEST_CASE("Numbers and texts that HDF5 cannot read are named with their place") {
  const ScratchDirectory scratch;
  const std::string path = written(scratch);
  const double three[] = {3.0, 4.0, 5.0};
  damage(path, std::string(reinterpret_cast<const char*>(three), sizeof three), 6);
  {
    const io::Hdf5Lock lock;
    const io::Hdf5InputFile file(path);
    const io::Hdf5Array array = file.open_array("numbers");
    std::vector<double> rows(2 * kRows);
    CHECK_THAT(fault([&] { array.read_rows(1, 4, rows.data()); }),
               Catch::Matchers::StartsWith(
                   "numbers: entries 1 to 4 of the first index cannot be read: damaged (HDF5: "));
    CHECK_THAT(fault([&] { array.read_all(H5T_NATIVE_DOUBLE, rows.data()); }),
               Catch::Matchers::StartsWith("numbers: cannot be read: damaged (HDF5: "));
    CHECK_FALSE(file.read_strings("texts").empty());
  }
  written(scratch);
  damage(path, "GCOL", 0);  // the heap of the texts
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  CHECK_THAT(fault([&] { static_cast<void>(file.read_strings("texts")); }),
             Catch::Matchers::StartsWith("texts: its text cannot be read: damaged (HDF5: "));
}
