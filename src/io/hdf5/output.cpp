#include "io/hdf5/output.hpp"

#include <fmt/core.h>

#include "headway/core/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "io/whole_file.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kGrowth = std::size_t{1} << 20;

[[noreturn]] void refused(const std::string& what) {
  throw Error(ErrorKind::kInternal,
              fmt::format("{}: HDF5 refuses to write it: {}", what, hdf5_error_text()));
}

void require(bool fine, const std::string& what) {
  if (!fine) refused(what);
}

Handle make_space(const std::vector<Index>& shape) {
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose};
}

std::vector<const char*> pointers(const std::vector<std::string>& values) {
  std::vector<const char*> out;
  out.reserve(values.size());
  for (const std::string& v : values) out.push_back(v.c_str());
  return out;
}

}  // namespace

Hdf5OutputFile::Hdf5OutputFile()
    : link_creation_(H5Pcreate(H5P_LINK_CREATE), H5Pclose),
      dataset_creation_(H5Pcreate(H5P_DATASET_CREATE), H5Pclose),
      text_type_(H5Tcopy(H5T_C_S1), H5Tclose) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  require(H5Pset_fapl_core(access.get(), kGrowth, false) >= 0, "the file in memory");
  // The name is never used: the core driver keeps the file in memory.
  file_ = Handle(H5Fcreate("headway-result-in-memory.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                 H5Fclose);
  require(file_.valid(), "the file in memory");
  require(H5Pset_create_intermediate_group(link_creation_.get(), 1) >= 0 &&
              H5Pset_obj_track_times(dataset_creation_.get(), false) >= 0 &&
              H5Tset_size(text_type_.get(), H5T_VARIABLE) >= 0 &&
              H5Tset_cset(text_type_.get(), H5T_CSET_UTF8) >= 0,
          "the file in memory");
}

Handle Hdf5OutputFile::open_or_make_group(const std::string& path) {
  if (path.empty() || path == "/") return {H5Gopen2(file_.get(), "/", H5P_DEFAULT), H5Gclose};
  // H5Lexists fails where a parent is missing too: then everything is made.
  const bool exists = H5Lexists(file_.get(), path.c_str(), H5P_DEFAULT) > 0;
  if (exists) return {H5Oopen(file_.get(), path.c_str(), H5P_DEFAULT), H5Oclose};
  return {H5Gcreate2(file_.get(), path.c_str(), link_creation_.get(), H5P_DEFAULT, H5P_DEFAULT),
          H5Gclose};
}

void Hdf5OutputFile::make_group(const std::string& path) {
  require(open_or_make_group(path).valid(), path);
}

void Hdf5OutputFile::write_dataset(const std::string& path, const std::vector<Index>& shape,
                                   const Elements& elements) {
  const Handle space = make_space(shape);
  const Handle dataset(H5Dcreate2(file_.get(), path.c_str(), elements.file_type, space.get(),
                                  link_creation_.get(), dataset_creation_.get(), H5P_DEFAULT),
                       H5Dclose);
  require(dataset.valid(), path);
  if (H5Sget_simple_extent_npoints(space.get()) == 0) return;
  require(H5Dwrite(dataset.get(), elements.memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                   elements.values) >= 0,
          path);
}

void Hdf5OutputFile::write_attribute(const std::string& object, const std::string& name,
                                     Index count, const Elements& elements) {
  const std::string what = fmt::format("{}, attribute {}", object, name);
  const Handle owner = open_or_make_group(object);
  const Handle space = make_space(count < 0 ? std::vector<Index>{} : std::vector<Index>{count});
  const Handle attribute(H5Acreate2(owner.get(), name.c_str(), elements.file_type, space.get(),
                                    H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  require(attribute.valid(), what);
  if (count == 0) return;
  require(H5Awrite(attribute.get(), elements.memory_type, elements.values) >= 0, what);
}

void Hdf5OutputFile::write(const std::string& path, const std::vector<Index>& shape,
                           const double* values) {
  write_dataset(path, shape, {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values});
}

void Hdf5OutputFile::write(const std::string& path, const VectorXd& values) {
  write(path, {values.size()}, values.data());
}

void Hdf5OutputFile::write(const std::string& path, const MatrixXd& values) {
  const RowMatrixXd row_major = values;
  write(path, {values.rows(), values.cols()}, row_major.data());
}

void Hdf5OutputFile::write_outputs(const std::string& path, const MatrixXd& values) {
  if (values.rows() == 0) return;
  if (values.cols() == 1) {
    write(path, {values.rows()}, values.data());
  } else {
    write(path, values);
  }
}

void Hdf5OutputFile::write_integers(const std::string& path, const std::vector<Index>& shape,
                                    const std::vector<std::int64_t>& values) {
  write_dataset(path, shape, {H5T_STD_I64LE, H5T_NATIVE_INT64, values.data()});
}

void Hdf5OutputFile::write_floats(const std::string& path, const std::vector<Index>& shape,
                                  const float* values) {
  write_dataset(path, shape, {H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values});
}

void Hdf5OutputFile::write_bytes(const std::string& path, std::string_view bytes) {
  write_dataset(path, {static_cast<Index>(bytes.size())},
                {H5T_STD_U8LE, H5T_NATIVE_UINT8, bytes.data()});
}

void Hdf5OutputFile::write_strings(const std::string& path,
                                   const std::vector<std::string>& values) {
  const std::vector<const char*> text = pointers(values);
  write_dataset(path, {static_cast<Index>(values.size())},
                {text_type_.get(), text_type_.get(), text.data()});
}

void Hdf5OutputFile::set(const std::string& object, const std::string& name, double value) {
  write_attribute(object, name, -1, {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value});
}

void Hdf5OutputFile::set(const std::string& object, const std::string& name, std::int64_t value) {
  write_attribute(object, name, -1, {H5T_STD_I64LE, H5T_NATIVE_INT64, &value});
}

void Hdf5OutputFile::set_unsigned(const std::string& object, const std::string& name,
                                  std::uint64_t value) {
  write_attribute(object, name, -1, {H5T_STD_U64LE, H5T_NATIVE_UINT64, &value});
}

void Hdf5OutputFile::set(const std::string& object, const std::string& name,
                         const std::string& value) {
  const char* text = value.c_str();
  write_attribute(object, name, -1, {text_type_.get(), text_type_.get(), &text});
}

void Hdf5OutputFile::set(const std::string& object, const std::string& name,
                         const std::vector<double>& values) {
  write_attribute(object, name, static_cast<Index>(values.size()),
                  {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data()});
}

void Hdf5OutputFile::set(const std::string& object, const std::string& name,
                         const std::vector<std::int64_t>& values) {
  write_attribute(object, name, static_cast<Index>(values.size()),
                  {H5T_STD_I64LE, H5T_NATIVE_INT64, values.data()});
}

void Hdf5OutputFile::write_to(const std::string& file_path, bool force) {
  require(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) >= 0, file_path);
  const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
  require(size > 0, file_path);
  std::vector<char> image(static_cast<std::size_t>(size));
  require(H5Fget_file_image(file_.get(), image.data(), image.size()) == size, file_path);
  require(file_.close(), file_path);
  write_whole_file(file_path, {image.data(), image.size()}, force);
}

}  // namespace headway::io
