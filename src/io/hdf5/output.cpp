#include "io/hdf5/output.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "core/fail.hpp"
#include "io/hdf5/file_seal.hpp"
#include "io/hdf5/text_digest.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kGrowth = std::size_t{1} << 20;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

void require(bool fine, const std::string& what) {
  if (fine) return;
  fail(ErrorKind::kInternal, "{}: HDF5 refuses to write it: {}", what, hdf5_error_text());
}

Handle make_space(const std::vector<Index>& shape) {
  if (shape.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  const std::vector<hsize_t> dims(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose};
}

/// How a data set is stored. An array of numbers is cut into chunks along its first indices, each
/// with a checksum; a scalar lies in its header; HDF5 filters no texts.
Handle make_storage(const std::vector<Index>& shape, hid_t type) {
  Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  bool fine = H5Pset_obj_track_times(creation.get(), false) >= 0;
  if (shape.empty()) return creation;
  std::vector<hsize_t> chunk(shape.begin(), shape.end());
  std::size_t bytes = H5Tget_size(type);
  for (const hsize_t n : chunk) bytes *= n;
  if (bytes == 0 || H5Tget_class(type) == H5T_STRING) return creation;
  for (std::size_t d = 0; d < chunk.size() && bytes > kChunkBytes; ++d) {
    const std::size_t rest = bytes / chunk[d];
    chunk[d] = std::max<hsize_t>(1, kChunkBytes / rest);
    bytes = rest * chunk[d];
  }
  fine = fine && H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0 &&
         H5Pset_fletcher32(creation.get()) >= 0;
  require(fine, "the storage of an array");
  return creation;
}

}  // namespace

/// The memory that HDF5 builds the file in. H5Fget_file_image would copy it before the file is
/// closed, with a superblock that HDF5 1.10 gives a wrong checksum in the format used here; so the
/// closing file hands its memory over instead.
struct Hdf5OutputFile::Image {
  void* bytes = nullptr;

  Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { std::free(bytes); }

  void give_to(hid_t access) {
    H5FD_file_image_callbacks_t calls{};
    calls.image_malloc = [](std::size_t size, H5FD_file_image_op_t, void*) {
      return std::malloc(size);
    };
    calls.image_realloc = [](void* memory, std::size_t size, H5FD_file_image_op_t, void*) {
      return std::realloc(memory, size);
    };
    calls.image_memcpy = [](void* to, const void* from, std::size_t size, H5FD_file_image_op_t,
                            void*) { return std::memcpy(to, from, size); };
    calls.image_free = [](void* memory, H5FD_file_image_op_t operation, void* image) -> herr_t {
      if (operation == H5FD_FILE_IMAGE_OP_FILE_CLOSE) {
        static_cast<Image*>(image)->bytes = memory;
      } else {
        std::free(memory);
      }
      return 0;
    };
    calls.udata_copy = [](void* image) { return image; };
    calls.udata_free = [](void*) -> herr_t { return 0; };
    calls.udata = this;
    require(H5Pset_file_image_callbacks(access, &calls) >= 0, "the file in memory");
  }

  /// Up to the end of the file, which the superblock (version 3) has at byte 28; the memory goes on
  /// to a multiple of kGrowth.
  [[nodiscard]] std::string_view file() const {
    std::uint64_t end = 0;
    std::memcpy(&end, static_cast<const char*>(bytes) + 28, sizeof end);
    return {static_cast<const char*>(bytes), end};
  }
};

Hdf5OutputFile::~Hdf5OutputFile() = default;

Hdf5OutputFile::Hdf5OutputFile()
    : image_(std::make_unique<Image>()),
      group_creation_(H5Pcreate(H5P_GROUP_CREATE), H5Pclose),
      text_type_(H5Tcopy(H5T_C_S1), H5Tclose) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  require(H5Pset_fapl_core(access.get(), kGrowth, false) >= 0 &&
              H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0,
          "the file in memory");
  image_->give_to(access.get());
  // The root group too has no times: the same result is the same bytes.
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  require(H5Pset_obj_track_times(creation.get(), false) >= 0, "the file in memory");
  // The name is never used: the core driver keeps the file in memory.
  file_ =
      Handle(H5Fcreate("headway-result-in-memory.h5", H5F_ACC_TRUNC, creation.get(), access.get()),
             H5Fclose);
  require(file_.valid(), "the file in memory");
  require(H5Pset_obj_track_times(group_creation_.get(), false) >= 0 &&
              H5Tset_size(text_type_.get(), H5T_VARIABLE) >= 0 &&
              H5Tset_cset(text_type_.get(), H5T_CSET_UTF8) >= 0,
          "the file in memory");
}

Handle Hdf5OutputFile::open_or_make_group(const std::string& path) {
  if (path.empty() || path == "/") return {H5Gopen2(file_.get(), "/", H5P_DEFAULT), H5Gclose};
  // Level by level: groups that HDF5 itself makes on the way to another would store the time.
  for (std::size_t end = path.find('/');; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    const bool exists = H5Lexists(file_.get(), prefix.c_str(), H5P_DEFAULT) > 0;
    const bool last = end == std::string::npos;
    if (exists && !last) continue;
    if (exists) return {H5Oopen(file_.get(), prefix.c_str(), H5P_DEFAULT), H5Oclose};
    Handle group(
        H5Gcreate2(file_.get(), prefix.c_str(), H5P_DEFAULT, group_creation_.get(), H5P_DEFAULT),
        H5Gclose);
    if (last || !group.valid()) return group;
  }
}

void Hdf5OutputFile::make_group(const std::string& path) {
  require(open_or_make_group(path).valid(), path);
}

Hdf5OutputFile::Typed Hdf5OutputFile::typed(const Elements& elements) {
  static_assert(std::endian::native == std::endian::little, "numbers are written as they are");
  switch (elements.kind) {
    case NumberKind::kFloat64:
      return {elements.shape, H5T_IEEE_F64LE, elements.values};
    case NumberKind::kFloat32:
      return {elements.shape, H5T_IEEE_F32LE, elements.values};
    case NumberKind::kInt64:
      return {elements.shape, H5T_STD_I64LE, elements.values};
    case NumberKind::kUint64:
      return {elements.shape, H5T_STD_U64LE, elements.values};
    case NumberKind::kUint8:
      return {elements.shape, H5T_STD_U8LE, elements.values};
  }
  fail(ErrorKind::kInternal, "numbers of an unknown kind");
}

void Hdf5OutputFile::write_dataset(const std::string& path, const Elements& elements) {
  put_dataset(path, typed(elements));
  dimensions_.note(path, elements.shape, elements.axes);
}

void Hdf5OutputFile::write_attribute(const std::string& object, const std::string& name,
                                     const Elements& elements) {
  put_attribute(object, name, typed(elements));
}

void Hdf5OutputFile::put_dataset(const std::string& path, const Typed& elements) {
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos) make_group(path.substr(0, slash));
  const Handle space = make_space(elements.shape);
  const Handle storage = make_storage(elements.shape, elements.type);
  const Handle dataset(H5Dcreate2(file_.get(), path.c_str(), elements.type, space.get(),
                                  H5P_DEFAULT, storage.get(), H5P_DEFAULT),
                       H5Dclose);
  require(dataset.valid(), path);
  if (H5Sget_simple_extent_npoints(space.get()) == 0) return;
  require(
      H5Dwrite(dataset.get(), elements.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.values) >= 0,
      path);
}

void Hdf5OutputFile::put_attribute(const std::string& object, const std::string& name,
                                   const Typed& elements) {
  const std::string what = fmt::format("{}, attribute {}", object, name);
  const Handle owner = open_or_make_group(object);
  const Handle space = make_space(elements.shape);
  const Handle attribute(
      H5Acreate2(owner.get(), name.c_str(), elements.type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose);
  require(attribute.valid(), what);
  if (H5Sget_simple_extent_npoints(space.get()) == 0) return;
  require(H5Awrite(attribute.get(), elements.type, elements.values) >= 0, what);
}

void Hdf5OutputFile::write_texts(const std::string& path, const std::vector<std::string>& values,
                                 std::string_view axes) {
  texts_[path] = joined_texts(values);
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  const std::vector<Index> shape = {static_cast<Index>(values.size())};
  put_dataset(path, {shape, text_type_.get(), texts.data()});
  dimensions_.note(path, shape, axes);
}

void Hdf5OutputFile::set(const std::string& object, const std::string& name,
                         const std::string& value) {
  const char* text = value.c_str();
  texts_[text_place(object, name)] = text;  // HDF5 too ends it at a NUL
  put_attribute(object, name, {{}, text_type_.get(), &text});
}

void Hdf5OutputFile::seal() {
  for (const auto& [place, text] : dimensions_.write(file_.get())) {
    texts_[text_place(place.first, place.second)] = text;
  }
  set("/", kTextDigest, text_digest(texts_));
}

std::string_view Hdf5OutputFile::close() {
  require(file_.close() && image_->bytes != nullptr, "the file in memory");
  return image_->file();
}

void Hdf5OutputFile::write_to(const std::string& file_path, bool force) {
  write_sealed_file(file_path, close(), force);
}

}  // namespace headway::io
