#include "io/hdf5/examples.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace headway::io {

Hdf5Examples::Hdf5Examples(std::shared_ptr<const Hdf5InputFile> file, const ExamplePaths& paths)
    : file_(std::move(file)), inputs_(file_->open_array(paths.inputs)) {
  if (!paths.mask.empty()) {
    for (const double v : file_->read_array(paths.mask).values) mask_.push_back(v != 0.0 ? 1 : 0);
  }
  for (const std::string& path : paths.attention) attention_.push_back(file_->open_array(path));
}

Hdf5Examples::~Hdf5Examples() {
  const Hdf5Lock lock;
  attention_.clear();
  inputs_.reset();
  file_.reset();
}

void Hdf5Examples::check_range(Index begin, Index count) const {
  if (begin >= 0 && count >= 0 && begin <= size() - count) return;
  fail(ErrorKind::kInternal, "examples {} + {} of {} asked for", begin, count, size());
}

void Hdf5Examples::read(const Hdf5Array& array, Index begin, Index count, double* out) const {
  check_range(begin, count);
  const Hdf5Lock lock;
  try {
    array.read_rows(begin, count, out);
  } catch (const Error& e) {
    fail(e.kind(), "{}: {}", file_->file_path(), e.what());
  }
}

void Hdf5Examples::read_inputs(Index begin, Index count, double* out) const {
  read(*inputs_, begin, count, out);
  if (mask_.empty()) return;
  for (Index i = 0; i < count * tokens(); ++i) {
    if (mask_[static_cast<std::size_t>(begin * tokens() + i)] != 0) continue;
    std::fill_n(out + i * features(), features(), 0.0);
  }
}

void Hdf5Examples::read_mask(Index begin, Index count, std::uint8_t* out) const {
  check_range(begin, count);
  if (mask_.empty()) return ExampleSource::read_mask(begin, count, out);
  std::copy_n(mask_.data() + begin * tokens(), count * tokens(), out);
}

void Hdf5Examples::read_attention(int layer, Index begin, Index count, double* out) const {
  if (layer < 1 || static_cast<std::size_t>(layer) > attention_.size()) {
    return ExampleSource::read_attention(layer, begin, count, out);
  }
  const Hdf5Array& array = attention_[static_cast<std::size_t>(layer - 1)];
  read(array, begin, count, out);
  if (mask_.empty()) return;
  const Index heads = array.info().shape[1];
  for (Index r = 0; r < count * heads * tokens(); ++r) {
    const Index query = (begin + r / (heads * tokens())) * tokens() + r % tokens();
    if (mask_[static_cast<std::size_t>(query)] != 0) continue;
    std::fill_n(out + r * tokens(), tokens(), 0.0);
  }
}

}  // namespace headway::io
