// The reader of data-set files on arbitrary bytes. Every file is refused with Error{kBadData}, or
// with a list of faults, each on one line, or it is sound. Reading a sound file gives finite labels
// and inputs, or runs out of memory.
//
// The checks run in this process, so that the fuzzer sees their coverage; read_dataset itself runs
// them in a forked copy. The HDF5 library is not ours and crashes on some damaged files: run with
// -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1 and judge each saved crash by its
// stack: frames of libhdf5 above ours are its own faults, which the forked copy contains. With
// HEADWAY_FUZZ_ISOLATED=1 in the environment the harness calls the public functions instead, where
// nothing may crash at all.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz_scratch.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "io/dataset_file/layout.hpp"

namespace {

using headway::Error;
using headway::ErrorKind;

using headway::fuzz::require;

const std::string& scratch() {
  static const std::string kPath = headway::fuzz::scratch_file(".h5");
  return kPath;
}

std::vector<std::string> faults_of_scratch(bool isolated) {
  if (isolated) return headway::io::validate_dataset(scratch());
  const headway::io::Hdf5Lock lock;
  return headway::io::dataset_faults(headway::io::Hdf5InputFile(scratch()));
}

void read_sound_file() {
  const headway::tasks::Dataset data = headway::io::read_dataset(scratch());
  require(data.train.labels.rows() > 0 && data.train.labels.allFinite());
  require(!data.heads.empty() && data.layers.size() == data.heads.size());
  if (data.train.examples == nullptr) {
    require(data.train.path_features.allFinite());
    return;
  }
  const headway::ExampleSource& train = *data.train.examples;
  if (train.tokens() * train.features() > 1000000) return;
  std::vector<double> one(static_cast<std::size_t>(train.tokens() * train.features()));
  train.read_inputs(train.size() - 1, 1, one.data());
  for (const double v : one) require(std::isfinite(v));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool kIsolated = std::getenv("HEADWAY_FUZZ_ISOLATED") != nullptr;
  if (!headway::fuzz::write_scratch(scratch(), data, size)) return 0;
  try {
    const std::vector<std::string> faults = faults_of_scratch(kIsolated);
    for (const std::string& fault : faults) require(fault.find('\n') == std::string::npos);
    if (faults.empty()) read_sound_file();
    if (kIsolated) require(!headway::io::describe_hdf5_file(scratch()).empty());
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kBadData || error.kind() == ErrorKind::kUnavailable);
  }
  return 0;
}
