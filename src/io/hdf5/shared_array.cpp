#include "io/hdf5/shared_array.hpp"

#include <utility>

#include "core/fail.hpp"

namespace headway::io {

SharedArray::SharedArray(std::shared_ptr<const Hdf5InputFile> file, const std::string& path)
    : file_(std::move(file)), array_(file_->open_array(path)) {}

SharedArray::~SharedArray() {
  const Hdf5Lock lock;
  array_.reset();
  file_.reset();
}

void SharedArray::read(Index begin, Index count, double* out) const {
  const Hdf5Lock lock;
  try {
    array_->read_rows(begin, count, out);
  } catch (const Error& e) {
    fail(e.kind(), "{}: {}", file_->file_path(), e.what());
  }
}

}  // namespace headway::io
