#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// An array of an open file that any thread may read from: HDF5 is entered under an Hdf5Lock.
class SharedArray final : public tasks::ArraySource {
 public:
  /// Under an Hdf5Lock.
  SharedArray(std::shared_ptr<const Hdf5InputFile> file, const std::string& path);
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;
  ~SharedArray() override;

  [[nodiscard]] const ArrayInfo& info() const { return array_->info(); }
  [[nodiscard]] const std::vector<Index>& shape() const override { return info().shape; }
  /// Errors name the file.
  void read(Index begin, Index count, double* out) const override;

 private:
  std::shared_ptr<const Hdf5InputFile> file_;
  std::optional<Hdf5Array> array_;
};

}  // namespace headway::io
