// Files damaged below the level of data sets: cut short, bytes flipped, foreign. Whatever HDF5
// makes of them (it may crash or hang, in the forked copy), read_dataset ends with an Error or a
// data set, soon.
#include <csignal>
#include <cstdlib>
#include <functional>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/core/rng.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/result_file.hpp"
#include "io/hdf5/isolated.hpp"
#include "without_rights.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

enum class Outcome { kAccepted, kBadData, kOther };

Outcome read_outcome(const std::string& path) {
  try {
    const tasks::Dataset data = io::read_dataset(path);
    return data.train.labels.allFinite() ? Outcome::kAccepted : Outcome::kOther;
  } catch (const Error& e) {
    const bool named = std::string(e.what()).rfind(path, 0) == 0;
    return e.kind() == ErrorKind::kBadData && named ? Outcome::kBadData : Outcome::kOther;
  }
}

std::vector<char> valid_bytes(const ScratchDirectory& scratch, AttentionForm form) {
  BuiltDataset built;
  built.form = form;
  built.mask = form == AttentionForm::kSupplied;
  built.sets = {"validation"};
  write_dataset_file(scratch.file("valid.h5"), built);
  return read_bytes(scratch.file("valid.h5"));
}

int thrown_code(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.exit_code();
  }
  return 0;
}

}  // namespace

TEST_CASE("A file cut short anywhere is refused") {
  const ScratchDirectory scratch;
  const std::vector<char> bytes = without_seal(valid_bytes(scratch, AttentionForm::kSupplied));
  const std::string path = scratch.file("cut.h5");
  for (std::size_t i = 0; i < 50; ++i) {
    const std::size_t size = i * bytes.size() / 50;
    CAPTURE(size);
    write_bytes(path, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    CHECK(read_outcome(path) == Outcome::kBadData);
  }
}

TEST_CASE("A file cut in half is told from one that is no HDF5") {
  const ScratchDirectory scratch;
  const std::vector<char> bytes = without_seal(valid_bytes(scratch, AttentionForm::kSupplied));
  const std::string path = scratch.file("cut.h5");
  const auto message = [&] {
    try {
      io::read_dataset(path);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  write_bytes(path, {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2)});
  CHECK(
      message().starts_with(path +
                            ": is an HDF5 file that cannot be opened: truncated, damaged or still "
                            "being written (HDF5: "));
  write_bytes(path, {});
  CHECK(message() == path + ": is not an HDF5 file: empty");
  write_bytes(path, {'t', 'e', 'x', 't'});
  CHECK(message() == path + ": is not an HDF5 file");
}

TEST_CASE("Flipped bytes never take the program down") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("flipped.h5");
  int refused = 0, accepted = 0;  // without the check sum of the file, which would see every flip
  for (const AttentionForm form : {AttentionForm::kSupplied, AttentionForm::kQueryKey}) {
    const std::vector<char> bytes = without_seal(valid_bytes(scratch, form));
    for (std::uint64_t i = 0; i < 120; ++i) {
      Rng rng(7, StreamPurpose::kTests, i);
      std::vector<char> broken = bytes;
      const std::uint64_t flips = 1 + rng.uniform_index(8);
      // Half of the files are hit in their first 2 KiB, where superblock and object headers stand.
      const std::uint64_t range = i % 2 == 0 ? 2048 : bytes.size();
      for (std::uint64_t k = 0; k < flips; ++k) {
        broken[rng.uniform_index(range)] ^= static_cast<char>(1U << rng.uniform_index(8));
      }
      write_bytes(path, broken);
      CAPTURE(i);
      const Outcome outcome = read_outcome(path);
      CHECK(outcome != Outcome::kOther);
      (outcome == Outcome::kBadData ? refused : accepted) += 1;
    }
  }
  CHECK(refused > 20);
  CHECK(accepted > 4);  // a flip in unused space; numbers have checksums
}

TEST_CASE("Dropping any one object is refused or harmless") {
  const ScratchDirectory scratch;
  const std::vector<std::string> required = {"train",
                                             "train/labels",
                                             "train/inputs",
                                             "train/attention",
                                             "train/attention/layer_1",
                                             "train/attention/layer_2",
                                             "test/labels",
                                             "test/inputs",
                                             "test/attention",
                                             "test/attention/layer_1",
                                             "test/attention/layer_2",
                                             "sets/validation/labels",
                                             "sets/validation/inputs",
                                             "sets/validation/attention/layer_2"};
  const std::vector<std::string> optional = {"test",  "train/ids",       "test/ids",
                                             "names", "names/layer_1",   "names/layer_2",
                                             "sets",  "sets/validation", "sets/validation/ids"};
  const std::string path = scratch.file("dropped.h5");
  const auto outcome_without = [&](const std::string& object) {
    write_bytes(path, valid_bytes(scratch, AttentionForm::kSupplied));
    {
      Surgery surgery(path);
      surgery.remove(object);
    }
    return read_outcome(path);
  };
  for (const std::string& object : required) {
    CAPTURE(object);
    CHECK(outcome_without(object) == Outcome::kBadData);
  }
  for (const std::string& object : optional) {
    CAPTURE(object);
    CHECK(outcome_without(object) == Outcome::kAccepted);
  }
  // Without the mask the attention on padding is plain attention: rows of masked queries count now,
  // and they are sound.
  CHECK(outcome_without("test/mask") == Outcome::kAccepted);
}

TEST_CASE("Files that are missing or unreadable are told from files that are no data set") {
  const ScratchDirectory scratch;
  CHECK(thrown_code([&] { io::read_dataset(scratch.file("none.h5")); }) == 66);
  CHECK(thrown_code([&] { io::validate_dataset(scratch.file("none.h5")); }) == 66);
  CHECK(thrown_code([&] { io::read_dataset(scratch.file("")); }) == 66);  // a directory
  CHECK(thrown_code([&] { io::describe_hdf5_file(scratch.file("none.h5")); }) == 66);
  CHECK(thrown_code([&] { io::read_solve_result(scratch.file("none.h5")); }) == 66);
  write_bytes(scratch.file("empty.h5"), {});
  CHECK(thrown_code([&] { io::read_dataset(scratch.file("empty.h5")); }) == 65);
  CHECK(thrown_code([&] { io::validate_dataset(scratch.file("empty.h5")); }) == 65);
  write_bytes(scratch.file("text.h5"), std::vector<char>(5000, 'x'));
  CHECK(thrown_code([&] { io::read_dataset(scratch.file("text.h5")); }) == 65);
  CHECK(thrown_code([&] { io::read_solve_result(scratch.file("text.h5")); }) == 65);
  write_dataset_file(scratch.file("data.h5"));
  CHECK(thrown_code([&] { io::read_solve_result(scratch.file("data.h5")); }) == 65);
  namespace fs = std::filesystem;
  fs::permissions(scratch.file(""), fs::perms(0755));
  const auto code = [&] {
    return without_rights(
        [&] { return thrown_code([&] { io::read_dataset(scratch.file("data.h5")); }); });
  };
  fs::permissions(scratch.file("data.h5"), fs::perms(0644));
  CHECK(code() == 0);
  fs::permissions(scratch.file("data.h5"), fs::perms::none);
  CHECK(code() == 66);
}

TEST_CASE("What a check does in its forked copy comes back as values and Errors") {
  const std::string path = "some.h5";
  using Lines = std::vector<std::string>;
  CHECK(io::run_isolated(path, [] {
          return Lines{"one", std::string(200000, 'x'), ""};
        }) == Lines{"one", std::string(200000, 'x'), ""});
  CHECK(thrown_code([&] {
          io::run_isolated(path, []() -> Lines { throw Error(ErrorKind::kMissingFile, "gone"); });
        }) == 66);
  CHECK(thrown_code([&] { io::run_isolated(path, []() -> Lines { std::abort(); }); }) == 65);
  CHECK(thrown_code([&] {
          io::run_isolated(path, []() -> Lines {
            ::raise(SIGSEGV);
            return {};
          });
        }) == 65);
  CHECK(thrown_code([&] {
          io::run_isolated(path, []() -> Lines {
            ::raise(SIGXCPU);  // what the limit on processor time sends
            return {};
          });
        }) == 65);
  CHECK(thrown_code([&] { io::run_isolated(path, []() -> Lines { throw std::bad_alloc(); }); }) ==
        65);
  CHECK(thrown_code([&] {
          io::run_isolated(path, []() -> Lines {
            ::raise(SIGINT);
            return {};
          });
        }) == 130);
  CHECK(thrown_code([&] { io::run_isolated(path, []() -> Lines { ::_exit(0); }); }) == 65);
}

TEST_CASE("Files that crash HDF5, or make it loop, are refused") {
  const std::string damaged = HEADWAY_TEST_DATA "/damaged/";
  CHECK(read_outcome(damaged + "heap_crash.h5") == Outcome::kBadData);
  // The loop is met at the first attribute and given up after the processor time of a small file.
  CHECK_FALSE(io::is_dataset_file(damaged + "heap_loop.h5"));
}
