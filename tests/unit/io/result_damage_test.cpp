// A changed byte of a result is found, or changes nothing.
#include <functional>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/result_file.hpp"
#include "io/hdf5/input.hpp"
#include "result_builder.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

headway::Study named_study() {
  headway::Study study;
  study.name = "a-study";
  return study;
}

/// Reads a result and writes what was read.
void copy_result(const std::string& from, const std::string& to) {
  headway::ResultProvenance provenance;
  const headway::SolveResult result = io::read_solve_result(from, &provenance);
  io::write_result(to, named_study(), result, provenance, true);
}

}  // namespace

TEST_CASE("A result with changed bytes gives the same numbers and texts, or is refused") {
  const bool sealed = GENERATE(true, false);
  const ScratchDirectory scratch;
  const std::string path = scratch.file("whole.h5"), broken = scratch.file("broken.h5");
  const std::string again = scratch.file("again.h5");
  headway::SolveResult result = built_result(1);
  add_sets(result);
  io::write_result(path, named_study(), result, built_provenance(), false);
  const std::vector<char> whole = read_bytes(path);
  copy_result(path, again);
  REQUIRE(read_bytes(again) == whole);
  const std::vector<char> sound = sealed ? whole : without_seal(whole);

  Rng rng(1, StreamPurpose::kTests, 0);
  constexpr int kTrials = 200;
  int refused = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<char> bytes = sound;
    const std::uint64_t changes = 1 + rng.uniform_index(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      char& byte = bytes[rng.uniform_index(bytes.size())];
      byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U + rng.uniform_index(255)));
    }
    write_bytes(broken, bytes);
    CAPTURE(trial);
    try {
      copy_result(broken, again);
      CHECK(read_bytes(again) == whole);
    } catch (const Error& error) {
      CHECK(error.exit_code() == 65);
      ++refused;
    }
  }
  // The check sum at the end sees every change. Behind it, HDF5 has parts that nobody reads.
  CHECK(refused > (sealed ? kTrials - 2 : kTrials / 4));
}

TEST_CASE("Every array of numbers has a checksum, and the texts have one together") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  io::write_result(path, named_study(), built_result(2), built_provenance(), false);
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  int arrays = 0;
  const std::function<void(const std::string&)> visit = [&](const std::string& path_in_file) {
    for (const std::string& name : file.members(path_in_file)) {
      const std::string member = path_in_file.empty() ? name : path_in_file + "/" + name;
      if (file.kind(member) == io::NodeKind::kGroup) {
        visit(member);
      } else if (const io::ArrayInfo info = file.info(member);
                 info.is_number() && !info.shape.empty()) {
        INFO(member);
        CHECK(info.fletcher32);
        ++arrays;
      }
    }
  };
  visit("");
  CHECK(arrays > 20);
  CHECK(file.text_attribute("/", "text_sha256")->size() == 64);
}

TEST_CASE("A changed text is refused, with the check sum of the file and without") {
  const bool sealed = GENERATE(true, false);
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  io::write_result(path, named_study(), built_result(1), built_provenance(), false);
  std::vector<char> bytes = sealed ? read_bytes(path) : without_seal(read_bytes(path));
  const std::string text = "headway solve study.toml";
  const auto place = std::search(bytes.begin(), bytes.end(), text.begin(), text.end());
  REQUIRE(place != bytes.end());
  *place = 'H';
  write_bytes(path, bytes);
  try {
    io::read_result_provenance(path);
    FAIL("the file was accepted");
  } catch (const Error& error) {
    CHECK(error.exit_code() == 65);
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring(path) &&
                                 Catch::Matchers::ContainsSubstring(
                                     sealed ? "the check sum at its end differs"
                                            : "root attribute text_sha256: the texts of the file "
                                              "have changed since it was written: damaged, or "
                                              "edited by hand"));
  }
}

TEST_CASE(
    "Results of version 0.1 are read: without checksums, with the action under its old name") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  const headway::SolveResult result = built_result(1);
  io::write_result(path, named_study(), result, built_provenance(), false);
  {
    Surgery surgery(path);
    surgery.remove_attribute("/", "text_sha256");
    for (const char* point : {"points/0", "points/1"}) {
      for (const char* name : {"action", "optimizer", "evaluations", "hessians"}) {
        surgery.remove_attribute(point, name);
      }
      surgery.set_attribute(point, "action_over_max_width", std::vector<double>{4.25});
    }
  }
  const headway::SolveResult again = io::read_solve_result(path);
  CHECK(again.points.at(1).action == 4.25);
  CHECK(again.points.at(1).summary.optimizer.empty());
  CHECK(again.points.at(0).order_parameters.layers == result.points[0].order_parameters.layers);
}
