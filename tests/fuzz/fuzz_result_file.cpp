// The readers of results on arbitrary bytes: every file is either refused with Error{kBadData}, in
// one line, or gives a result whose parts belong together.
//
// A reader first checks all bytes in a forked copy, and texts are sealed by their SHA-256. So
// hardly any change by a fuzzer would get as far as the readers. Here they are called without check
// and seal, as they are for bytes that the program itself made. The HDF5 library is not ours and
// crashes on some damaged files: see fuzz_dataset_file.cpp. With HEADWAY_FUZZ_ISOLATED=1, described
// there, the public functions are called with checks and seal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz_scratch.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/result_file.hpp"

namespace {

using headway::Error;
using headway::ErrorKind;
using headway::fuzz::require;
using headway::fuzz::scratch_file;

template <class Read>
void expect_refused_or_sound(Read read) {
  try {
    read();
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kBadData || error.kind() == ErrorKind::kUnavailable);
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool kIsolated = std::getenv("HEADWAY_FUZZ_ISOLATED") != nullptr;
  std::string_view bytes;
  std::string path = "fuzz.h5";
  if (kIsolated) {
    path = scratch_file(".h5");
    if (!headway::fuzz::write_scratch(path, data, size)) return 0;
  } else {
    bytes = {reinterpret_cast<const char*>(data), size};
    if (size == 0) return 0;
  }
  expect_refused_or_sound([&] {
    const headway::SolveResult result = headway::io::read_solve_result(path, nullptr, bytes);
    for (const auto& point : result.points) require(point.widths.size() == result.heads.size() + 1);
  });
  expect_refused_or_sound([&] {
    const headway::SampleResult result = headway::io::read_sample_result(path, bytes);
    require(result.points.size() == result.solve.points.size());
  });
  expect_refused_or_sound([&] {
    const headway::TrainResult result = headway::io::read_train_result(path, bytes);
    require(result.planned > 0);
  });
  if (kIsolated) {
    expect_refused_or_sound([&] { headway::io::read_result_kind(path); });
    expect_refused_or_sound([&] { headway::io::read_result_provenance(path); });
    expect_refused_or_sound([&] { headway::io::describe_hdf5_file(path); });
  }
  return 0;
}
