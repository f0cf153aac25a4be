#include "io/hdf5/handle.hpp"

#include <mutex>
#include <utility>

#include "core/fail.hpp"

namespace headway::io {
namespace {

// Not std::recursive_mutex: that knows its owner by a thread number which differs in a forked copy
// of the process.
std::mutex hdf5_mutex;
thread_local int lock_depth = 0;

herr_t keep_innermost(unsigned /*n*/, const H5E_error2_t* error, void* out) {
  try {
    if (error->desc != nullptr && error->desc[0] != '\0') {
      *static_cast<std::string*>(out) = error->desc;
    }
  } catch (...) {
    return -1;
  }
  return 0;
}

}  // namespace

Hdf5Lock::Hdf5Lock() {
  if (lock_depth++ == 0) hdf5_mutex.lock();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Lock::~Hdf5Lock() {
  if (--lock_depth == 0) hdf5_mutex.unlock();
}

std::string hdf5_error_text() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_innermost, &text);
  return text;
}

void damaged(const std::string& what) {
  bad_data("{}: damaged (HDF5: {})", what, hdf5_error_text());
}

bool Handle::close() noexcept {
  if (id_ < 0) return true;
  return closer_(std::exchange(id_, -1)) >= 0;
}

}  // namespace headway::io
