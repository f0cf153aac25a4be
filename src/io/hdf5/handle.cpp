#include "io/hdf5/handle.hpp"

#include <pthread.h>

#include <mutex>
#include <utility>

#include "core/fail.hpp"

namespace headway::io {
namespace {

// Not std::recursive_mutex: that knows its owner by a thread number which differs in a forked copy
// of the process.
std::mutex hdf5_mutex;
thread_local int lock_depth = 0;

void enter() {
  if (lock_depth++ == 0) hdf5_mutex.lock();
}
void leave() {
  if (--lock_depth == 0) hdf5_mutex.unlock();
}
// The process is not copied while another thread is inside HDF5.
[[maybe_unused]] const int kRegistered = ::pthread_atfork(enter, leave, leave);

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
  enter();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Lock::~Hdf5Lock() { leave(); }

std::string hdf5_error_text() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_innermost, &text);
  return text;
}

void damaged(const std::string& what) {
  const std::string text = hdf5_error_text();
  const bool newer = text.find("version number") != std::string::npos ||
                     text.find("unknown datatype class") != std::string::npos;
  bad_data("{}: damaged{} (HDF5: {})", what,
           newer ? fmt::format(", or written by a newer HDF5 than {}.{}.{}", H5_VERS_MAJOR,
                               H5_VERS_MINOR, H5_VERS_RELEASE)
                 : "",
           text);
}

bool Handle::close() noexcept {
  if (id_ < 0) return true;
  return closer_(std::exchange(id_, -1)) >= 0;
}

}  // namespace headway::io
