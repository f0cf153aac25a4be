// Small valid data-set files, and HDF5 surgery to break them one thing at a time.
#pragma once

#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "headway/core/examples.hpp"
#include "io/hdf5/file_seal.hpp"
#include "io/hdf5/output.hpp"
#include "scratch_directory.hpp"

namespace headway::testing {

/// Sizes of the data sets that write_dataset_file makes; all extents differ.
struct BuiltDataset {
  AttentionForm form = AttentionForm::kWeights;
  bool mask = false;  ///< test example 1 (and train example 1) have one real token less
  std::vector<int> heads = {2, 3};
  std::vector<std::string> sets = {};  ///< further sets; number i has 3 + i examples
  bool network = false;                ///< weights of widths 4, 5, 6, ... and readout mean
  Index train = 7, test = 5, tokens = 4, features = 3, outputs = 2, query_features = 6;
};

/// Deterministic, asymmetric numbers: entry i of array `which`.
inline double built_value(int which, Index i) { return std::sin(1.0 + 0.7 * which + 0.31 * i); }

inline std::vector<double> built_values(int which, Index count) {
  std::vector<double> values;
  for (Index i = 0; i < count; ++i) values.push_back(built_value(which, i));
  return values;
}

inline bool built_real(const BuiltDataset& built, Index example, Index token) {
  return !(built.mask && example == 1 && token == built.tokens - 1);
}

/// Rows that sum to one over the real keys.
inline std::vector<double> built_attention(const BuiltDataset& built, int which, Index examples,
                                           Index heads) {
  const Index s = built.tokens;
  std::vector<double> values(static_cast<std::size_t>(examples * heads * s * s), 0.0);
  for (Index row = 0; row < examples * heads * s; ++row) {
    const Index example = row / (heads * s);
    double sum = 0.0;
    for (Index t = 0; t < s; ++t) {
      const bool real = built_real(built, example, t);
      double& v = values[static_cast<std::size_t>(row * s + t)];
      v = real ? std::exp(built_value(which, row * s + t)) : 0.0;
      sum += v;
    }
    for (Index t = 0; t < s; ++t) values[static_cast<std::size_t>(row * s + t)] /= sum;
  }
  return values;
}

inline void write_split(const BuiltDataset& built, const std::string& name, int which, Index p,
                        io::Hdf5OutputFile& out) {
  const Index s = built.tokens, n = built.features;
  out.write(name + "/labels", {p, built.outputs}, built_values(which, p * built.outputs).data());
  std::vector<std::string> ids;
  for (Index i = 0; i < p; ++i) ids.push_back(name + " \xC3\xA9 " + std::to_string(i));
  out.write_strings(name + "/ids", ids);
  if (built.form == AttentionForm::kPathFeatures) {
    std::vector<std::int64_t> heads(built.heads.begin(), built.heads.end());
    Index paths = 1;
    for (const int h : built.heads) paths *= h;
    out.write(name + "/path_features", {p, paths, n},
              built_values(which + 1, p * paths * n).data());
    out.set(name + "/path_features", "heads", heads);
    return;
  }
  out.write(name + "/inputs", {p, s, n}, built_values(which + 2, p * s * n).data());
  if (built.mask) {
    std::vector<std::int64_t> mask;
    for (Index i = 0; i < p * s; ++i) mask.push_back(built_real(built, i / s, i % s) ? 1 : 0);
    out.write(name + "/mask", {p, s}, mask.data());
  }
  if (built.form != AttentionForm::kSupplied) return;
  for (std::size_t l = 0; l < built.heads.size(); ++l) {
    const Index h = built.heads[l];
    out.write(name + "/attention/layer_" + std::to_string(l + 1), {p, h, s, s},
              built_attention(built, which + 3 + static_cast<int>(l), p, h).data());
  }
}

inline void write_built_network(const BuiltDataset& built, io::Hdf5OutputFile& out) {
  Index width = 4;
  out.write("network/input", {width, built.features},
            built_values(60, width * built.features).data());
  for (std::size_t l = 0; l < built.heads.size(); ++l, ++width) {
    const Index heads = built.heads[l];
    out.write("network/values/layer_" + std::to_string(l + 1), {heads, width + 1, width},
              built_values(61 + static_cast<int>(l), heads * (width + 1) * width).data());
  }
  out.write("network/readout", {built.outputs, width},
            built_values(70, built.outputs * width).data());
}

inline void write_dataset_file(const std::string& file_path, const BuiltDataset& built = {}) {
  const io::Hdf5Lock lock;
  io::Hdf5OutputFile out;
  out.set("/", "schema_name", std::string("headway-dataset"));
  out.set("/", "schema_version", std::vector<std::int64_t>{1, 0});
  out.set("/", "note", std::string("made for a test"));
  if (built.form == AttentionForm::kPathFeatures || built.network) {
    out.set("/", "readout", std::string("mean"));
  }
  if (built.network) write_built_network(built, out);
  write_split(built, "train", 10, built.train, out);
  write_split(built, "test", 20, built.test, out);
  for (std::size_t i = 0; i < built.sets.size(); ++i) {
    const int number = static_cast<int>(i);
    write_split(built, "sets/" + built.sets[i], 50 + 10 * number, 3 + number, out);
  }
  for (std::size_t l = 0; l < built.heads.size(); ++l) {
    const std::string layer = "/layer_" + std::to_string(l + 1);
    const Index h = built.heads[l], n = built.features, g = built.query_features;
    const int which = 40 + static_cast<int>(l);
    std::vector<std::string> names;
    for (Index k = 0; k < h; ++k) names.push_back("head " + std::to_string(k + 1));
    out.write_strings("names" + layer, names);
    if (built.form == AttentionForm::kWeights) {
      out.write("attention/weights" + layer, {h, n, n}, built_values(which, h * n * n).data());
    }
    if (built.form == AttentionForm::kQueryKey) {
      out.write("attention/query" + layer, {h, g, n}, built_values(which, h * g * n).data());
      out.write("attention/key" + layer, {h, g, n}, built_values(which + 5, h * g * n).data());
    }
  }
  out.write_to(file_path, true);
}

/// An open file for surgery; closes everything at the end.
class Surgery {
 public:
  explicit Surgery(const std::string& file_path)
      : file_(H5Fopen(file_path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose) {}

  [[nodiscard]] hid_t file() const { return file_.get(); }
  void remove(const std::string& path) { H5Ldelete(file(), path.c_str(), H5P_DEFAULT); }
  void remove_attribute(const std::string& object, const std::string& name) {
    H5Adelete_by_name(file(), object.c_str(), name.c_str(), H5P_DEFAULT);
  }
  void move(const std::string& from, const std::string& to) {
    H5Lmove(file(), from.c_str(), file(), to.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  }
  /// Sets one number of a data set, by its position in row-major order.
  void set(const std::string& path, std::size_t position, double value) {
    const io::Handle dataset(H5Dopen2(file(), path.c_str(), H5P_DEFAULT), H5Dclose);
    const io::Handle space(H5Dget_space(dataset.get()), H5Sclose);
    std::vector<double> all(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
    H5Dread(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data());
    all.at(position) = value;
    H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data());
  }
  /// Puts an empty data set of this type and shape in place of what is there; `creation` may chunk
  /// or compress it.
  io::Handle replace(const std::string& path, hid_t type, const std::vector<hsize_t>& shape,
                     hid_t creation = H5P_DEFAULT) {
    if (H5Lexists(file(), path.c_str(), H5P_DEFAULT) > 0) remove(path);
    const io::Handle space(
        shape.empty() ? H5Screate(H5S_SCALAR)
                      : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
        H5Sclose);
    // Makes HDF5 store a small array even if nothing is written to it. It is filled with zeros.
    const io::Handle filled(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_alloc_time(filled.get(), H5D_ALLOC_TIME_EARLY);
    const bool small = creation == H5P_DEFAULT && H5Sget_simple_extent_npoints(space.get()) < 10000;
    return {H5Dcreate2(file(), path.c_str(), type, space.get(), H5P_DEFAULT,
                       small ? filled.get() : creation, H5P_DEFAULT),
            H5Dclose};
  }
  void replace(const std::string& path, hid_t type, const std::vector<hsize_t>& shape,
               const std::vector<double>& values, hid_t creation = H5P_DEFAULT) {
    const io::Handle dataset = replace(path, type, shape, creation);
    H5Dwrite(dataset.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  void set_attribute(const std::string& object, const std::string& name,
                     const std::vector<double>& values) {
    const hsize_t size = values.size();
    const io::Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
    const io::Handle owner(H5Oopen(file(), object.c_str(), H5P_DEFAULT), H5Oclose);
    H5Adelete(owner.get(), name.c_str());
    const io::Handle attribute(H5Acreate2(owner.get(), name.c_str(), H5T_IEEE_F64LE, space.get(),
                                          H5P_DEFAULT, H5P_DEFAULT),
                               H5Aclose);
    H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, values.data());
  }
  void set_attribute(const std::string& object, const std::string& name, const std::string& text) {
    const io::Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const io::Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), text.size() + 1);
    const io::Handle owner(H5Oopen(file(), object.c_str(), H5P_DEFAULT), H5Oclose);
    H5Adelete(owner.get(), name.c_str());
    const io::Handle attribute(
        H5Acreate2(owner.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    H5Awrite(attribute.get(), type.get(), text.c_str());
  }

 private:
  io::Hdf5Lock lock_;
  io::Handle file_;
};

inline std::vector<char> read_bytes(const std::string& file_path) {
  std::ifstream in(file_path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void write_bytes(const std::string& file_path, const std::vector<char>& bytes) {
  std::ofstream out(file_path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The bytes without the check sum at their end, as in a file that another program has edited.
inline std::vector<char> without_seal(std::vector<char> bytes) {
  bytes.resize(bytes.size() - std::min(bytes.size(), io::kSealBytes));
  return bytes;
}

}  // namespace headway::testing
