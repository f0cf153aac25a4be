#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace headway::io {

/// HDF5 may be built without thread safety: every call into it is made while one of these lives. A
/// thread may hold several. Also switches off, for the calling thread, HDF5's habit of printing its
/// error stack.
class Hdf5Lock {
 public:
  Hdf5Lock();
  ~Hdf5Lock();
  Hdf5Lock(const Hdf5Lock&) = delete;
  Hdf5Lock& operator=(const Hdf5Lock&) = delete;
};

/// The innermost message on HDF5's error stack ("" when there is none), for the end of our own
/// messages.
std::string hdf5_error_text();

/// Error{kBadData}: "<what>: damaged (HDF5: <its message>)".
[[noreturn]] void damaged(const std::string& what);

/// Owns one HDF5 identifier of any kind. Closed under an Hdf5Lock.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  Handle(Handle&& other) noexcept : Handle() { *this = std::move(other); }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  ~Handle() { close(); }

  [[nodiscard]] bool valid() const { return id_ >= 0; }
  [[nodiscard]] hid_t get() const { return id_; }
  /// Closes now; false when HDF5 reports a failure (a full disk shows up here).
  bool close() noexcept;

 private:
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

}  // namespace headway::io
