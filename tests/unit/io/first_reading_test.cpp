// A foreign file is read in a forked copy of the process once, and again when it changes.
#include "io/first_reading.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <thread>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/result_file.hpp"
#include "headway/study_file.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

using namespace std::chrono_literals;

namespace {

int forks = 0;

void count_forks() {
  static const int kRegistered = pthread_atfork([] { ++forks; }, nullptr, nullptr);
  REQUIRE(kRegistered == 0);
  forks = 0;
}

void let_it_settle() { std::this_thread::sleep_for(std::chrono::milliseconds(2100)); }

}  // namespace

TEST_CASE("One copy of the process serves every question about a file") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path);
  let_it_settle();
  count_forks();
  CHECK(io::is_dataset_file(path));
  CHECK_FALSE(io::is_result_file(path));
  CHECK(io::validate_dataset(path).empty());
  CHECK(io::read_dataset(path).train.size() == 7);
  CHECK(forks == 1);
  Surgery(path).set("train/labels", 3, std::nan(""));
  CHECK(io::validate_dataset(path).size() == 1);
  CHECK(forks == 2);
  CHECK_THROWS_AS(io::read_dataset(path), Error);
}

TEST_CASE("Processes that share a file check all of it together, and each its share alone") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  BuiltDataset built;
  built.form = AttentionForm::kPathFeatures;
  built.train = 1'000'000;  // several blocks
  built.features = 1;
  write_dataset_file(path, built);
  Surgery(path).set("train/path_features", 6'000'000 - 1, std::nan(""));
  let_it_settle();
  count_forks();
  int found = 0;
  for (Index part = 0; part < 3; ++part) {
    const io::FirstReading reading = io::first_reading(path, {part, 3});
    CHECK(reading.faults.size() <= 1);
    found += reading.faults.empty() ? 0 : 1;
  }
  CHECK(found == 1);
  CHECK(io::is_dataset_file(path));  // known, whatever share was read
  CHECK(forks == 3);
  CHECK(io::first_reading(path).faults.size() == 1);
  CHECK(io::first_reading(path, {1, 3}).faults.size() == 1);  // all of it is known now
  CHECK(forks == 4);
}

TEST_CASE("Nothing is kept of a file that has just been written") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path);
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() + 1min);
  count_forks();
  CHECK(io::first_reading(path).faults.empty());
  CHECK(io::first_reading(path).schema == "headway-dataset");
  CHECK(forks == 2);
}

TEST_CASE("What is wrong with a file is kept, too") {
  const ScratchDirectory scratch;
  const std::string damaged = scratch.file("damaged.h5");  // which no other test has read
  std::filesystem::copy_file(HEADWAY_TEST_DATA "/damaged/heap_crash.h5", damaged);
  let_it_settle();
  count_forks();
  for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(io::first_reading(damaged), Error);
  CHECK(forks == 1);
  CHECK_FALSE(io::is_dataset_file(damaged));
  CHECK(forks == 1);
}

TEST_CASE("A root whose attributes cannot be read is damage, and no foreign file") {
  const std::string damaged = HEADWAY_TEST_DATA "/damaged/root_header.h5";
  const auto refused = [&](const auto& call) {
    try {
      call();
      return std::string("(accepted)");
    } catch (const Error& error) {
      CHECK(error.exit_code() == 65);
      return std::string(error.what());
    }
  };
  for (const std::string& message : {refused([&] { io::first_reading(damaged); }),
                                     refused([&] { io::describe_hdf5_file(damaged); }),
                                     refused([&] { io::read_study(damaged, {}); }),
                                     refused([&] { io::read_solve_result(damaged); })}) {
    CHECK_THAT(message, Catch::Matchers::ContainsSubstring(damaged) &&
                            Catch::Matchers::ContainsSubstring("damaged (HDF5"));
  }
}

TEST_CASE("A file that is no data set is read, too; foreign ones are only asked their schema") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("other.h5");
  const auto write = [&](const std::string& schema) {
    const io::Hdf5Lock lock;
    io::Hdf5OutputFile out;
    out.set("/", "schema_name", schema);
    const std::vector<double> ones(100, 1.0);
    out.write("numbers", {100}, ones.data());
    out.write_to(path, true);
  };
  for (const std::string schema : {"headway-result", "other"}) {
    write(schema);
    CHECK(io::first_reading(path).schema == schema);
    std::vector<char> bytes = without_seal(read_bytes(path));
    const double one = 1.0;
    const auto* digits = reinterpret_cast<const char*>(&one);
    std::vector<char> run;
    for (int i = 0; i < 8; ++i) run.insert(run.end(), digits, digits + sizeof one);
    const auto at = std::search(bytes.begin(), bytes.end(), run.begin(), run.end());
    REQUIRE(at != bytes.end());
    at[7] ^= 1;  // the checksum of the array does not fit it any more
    write_bytes(path, bytes);
    if (schema == "other") {
      CHECK(io::first_reading(path).schema == schema);
    } else {
      CHECK_THROWS_AS(io::first_reading(path), Error);
    }
  }
}
