#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/examples.hpp"
#include "io/dataset_file/layout.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// Examples read from an open data-set file on demand. Only the mask is held in memory.
/// Thread-safe: HDF5 is entered under an Hdf5Lock. Inputs of masked tokens and attention rows of
/// masked queries are served as zeros.
class Hdf5Examples final : public ExampleSource {
 public:
  /// `split` is a sound layout (no faults). Under an Hdf5Lock.
  Hdf5Examples(std::shared_ptr<const Hdf5InputFile> file, const SplitLayout& split, Index features);
  ~Hdf5Examples() override;

  [[nodiscard]] Index size() const override { return examples_; }
  [[nodiscard]] Index tokens() const override { return tokens_; }
  [[nodiscard]] Index features() const override { return features_; }
  [[nodiscard]] bool has_mask() const override { return !mask_.empty(); }
  [[nodiscard]] bool thread_safe() const override { return true; }
  void read_inputs(Index begin, Index count, double* out) const override;
  void read_mask(Index begin, Index count, std::uint8_t* out) const override;
  void read_attention(int layer, Index begin, Index count, double* out) const override;

 private:
  void check_range(Index begin, Index count) const;
  void read(const Hdf5Array& array, Index begin, Index count, double* out) const;

  std::shared_ptr<const Hdf5InputFile> file_;
  Index examples_, tokens_, features_;
  std::vector<std::uint8_t> mask_;
  std::optional<Hdf5Array> inputs_;
  std::vector<Hdf5Array> attention_;
};

}  // namespace headway::io
