#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/tasks/dataset.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// Where the examples of one split stand in a file.
struct ExamplePaths {
  std::string inputs;                  ///< [P, S, N_0]
  std::string mask;                    ///< [P, S], or ""
  std::vector<std::string> attention;  ///< [P, H_l, S, S] a layer, or none
};

/// Examples read from an open data-set file on demand. Only the mask is held in memory.
/// Thread-safe: HDF5 is entered under an Hdf5Lock. Inputs of masked tokens and attention rows of
/// masked queries are served as zeros.
class Hdf5Examples final : public ExampleSource {
 public:
  /// The data sets have been checked. Under an Hdf5Lock.
  Hdf5Examples(std::shared_ptr<const Hdf5InputFile> file, const ExamplePaths& paths);
  ~Hdf5Examples() override;

  [[nodiscard]] Index size() const override { return inputs_->info().shape[0]; }
  [[nodiscard]] Index tokens() const override { return inputs_->info().shape[1]; }
  [[nodiscard]] Index features() const override { return inputs_->info().shape[2]; }
  [[nodiscard]] bool has_mask() const override { return !mask_.empty(); }
  [[nodiscard]] bool thread_safe() const override { return true; }
  void read_inputs(Index begin, Index count, double* out) const override;
  void read_mask(Index begin, Index count, std::uint8_t* out) const override;
  void read_attention(int layer, Index begin, Index count, double* out) const override;

 private:
  void check_range(Index begin, Index count) const;
  void read(const Hdf5Array& array, Index begin, Index count, double* out) const;

  std::shared_ptr<const Hdf5InputFile> file_;
  std::vector<std::uint8_t> mask_;
  std::optional<Hdf5Array> inputs_;
  std::vector<Hdf5Array> attention_;
};

/// Path features [P, p, N_0] read from an open data-set file on demand. Thread-safe likewise.
class Hdf5Features final : public tasks::FeatureSource {
 public:
  /// The data set has been checked. Under an Hdf5Lock.
  Hdf5Features(std::shared_ptr<const Hdf5InputFile> file, const std::string& path);
  ~Hdf5Features() override;
  void read(Index begin, Index count, double* out) const override;

 private:
  std::shared_ptr<const Hdf5InputFile> file_;
  std::optional<Hdf5Array> features_;
};

}  // namespace headway::io
