#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/fail.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/text.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {
namespace {

constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 46;
/// Deflate stores at best one byte for 1032; anything beyond that claims data that is not there.
constexpr std::uint64_t kMaxExpansion = 1100;
constexpr std::uint64_t kAlwaysPlausibleBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kAlwaysPlausibleChunk = std::uint64_t{256} << 20, kMaxChunkExpansion = 16;
constexpr double kLeastChunkCache = 0x1p20, kMostChunkCache = 0x1p28;
constexpr Index kBlockDoubles = Index{2} << 20, kAlignedBlockDoubles = Index{8} << 20;

std::vector<Index> extent(hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) return {0};
  std::array<hsize_t, H5S_MAX_RANK> dims{};
  const int rank = H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  std::vector<Index> shape;
  for (int d = 0; d < rank; ++d) {
    shape.push_back(static_cast<Index>(std::min<hsize_t>(dims[d], hsize_t{1} << 62)));
  }
  return shape;
}

/// numpy writes booleans as an enumeration of FALSE = 0 and TRUE = 1.
bool is_boolean(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_nmembers(type) != 2) return false;
  bool both = true;
  for (const char* name : {"FALSE", "TRUE"}) {
    std::vector<char> value(std::max<std::size_t>(H5Tget_size(type), 8), 0);
    const bool found = H5Tenum_valueof(type, name, value.data()) >= 0;
    both = both && found && value[0] == (name[0] == 'T' ? 1 : 0);
  }
  return both;
}

/// Numbers of 16 bits with the exponent of float32.
bool is_bfloat16(hid_t type) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  return H5Tget_size(type) == 2 &&
         H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) >= 0 &&
         exponent_bits == 8;
}

void set_type(hid_t type, ArrayInfo& info) {
  info.element_bytes = H5Tget_size(type);
  const std::size_t bits = 8 * info.element_bytes;
  const auto is = [&info](std::string name, ElementKind kind) {
    info.type_name = std::move(name);
    info.kind = kind;
  };
  constexpr ElementKind kNone = ElementKind::kUnsupported;
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return is(is_bfloat16(type) ? "bfloat16" : fmt::format("float{}", bits),
                bits == 32   ? ElementKind::kFloat32
                : bits == 64 ? ElementKind::kFloat64
                             : kNone);
    case H5T_INTEGER:
      return is(fmt::format("{}int{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", bits),
                bits <= 64 ? ElementKind::kInteger : kNone);
    case H5T_STRING:
      return is("string", ElementKind::kText);
    case H5T_ENUM:
      return is_boolean(type) ? is("boolean", ElementKind::kBoolean) : is("enumeration", kNone);
    case H5T_COMPOUND:
      return is("compound", kNone);
    case H5T_VLEN:
      return is("lists of different lengths", kNone);
    case H5T_REFERENCE:
      return is("reference", kNone);
    default:
      return is("another type", kNone);
  }
}

/// How many pieces the array has, and how many of them were ever written.
void count_pieces(hid_t dataset, ArrayInfo& info) {
  if (info.elements().value_or(0) == 0) return;
  if (info.chunk.empty()) {
    H5D_space_status_t status = H5D_SPACE_STATUS_ALLOCATED;
    const bool known = H5Dget_space_status(dataset, &status) >= 0;
    info.written = known && status == H5D_SPACE_STATUS_NOT_ALLOCATED ? 0 : 1;
    return;
  }
  for (std::size_t d = 0; d < info.chunk.size() && d < info.shape.size(); ++d) {
    const Index length = std::max<Index>(info.chunk[d], 1);
    info.pieces *= static_cast<std::uint64_t>((info.shape[d] - 1) / length + 1);
  }
  const Handle space(H5Dget_space(dataset), H5Sclose);
  hsize_t written = 0;
  // One that cannot be counted is damaged: reading it says how.
  const bool known = H5Dget_num_chunks(dataset, space.get(), &written) >= 0;
  info.written = known ? written : info.pieces;
}

void set_storage(hid_t dataset, ArrayInfo& info) {
  info.stored_bytes = H5Dget_storage_size(dataset);
  const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(creation.get());
  info.outside = layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) > 0;
  if (layout != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(std::max<std::size_t>(info.shape.size(), 1));
  if (H5Pget_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()) > 0) {
    info.chunk.assign(chunk.begin(), chunk.end());
  }
  const int filters = H5Pget_nfilters(creation.get());
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    char name[64] = "";
    const H5Z_filter_t id = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags,
                                           &values, nullptr, sizeof name, name, nullptr);
    info.fletcher32 = info.fletcher32 || id == H5Z_FILTER_FLETCHER32;
    if (id < 0 || H5Zfilter_avail(id) <= 0) {
      info.unavailable_filter = fmt::format("{} (number {})", name[0] == '\0' ? "?" : name, id);
    }
  }
}

ArrayInfo describe(hid_t dataset, const std::string& path) {
  ArrayInfo info;
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  if (!space.valid() || !type.valid()) damaged(path + ": its shape or type cannot be read");
  info.shape = extent(space.get());
  set_type(type.get(), info);
  set_storage(dataset, info);
  if (!info.outside) count_pieces(dataset, info);
  return info;
}

/// Bytes of all chunks that one chunk-row of the first index touches, so that reading block after
/// block decompresses each chunk once.
std::size_t chunk_cache_bytes(const ArrayInfo& info) {
  auto bytes = static_cast<double>(info.element_bytes);
  for (std::size_t d = 0; d < info.chunk.size(); ++d) {
    const auto chunk = static_cast<double>(std::max<Index>(info.chunk[d], 1));
    bytes *= d == 0 ? chunk : std::ceil(static_cast<double>(info.shape[d]) / chunk) * chunk;
  }
  return static_cast<std::size_t>(std::clamp(bytes, kLeastChunkCache, kMostChunkCache));
}

Handle open_with_cache(hid_t file, const std::string& path, const ArrayInfo& info) {
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  if (!info.chunk.empty() && info.chunk.size() == info.shape.size()) {
    H5Pset_chunk_cache(access.get(), 12421, chunk_cache_bytes(info), 1.0);
  }
  return {H5Dopen2(file, path.c_str(), access.get()), H5Dclose};
}

/// Memory that HDF5 needs beside an entry to read it: one chunk; 0 without chunks.
std::uint64_t chunk_bytes(const ArrayInfo& info) {
  std::uint64_t bytes = info.chunk.empty() ? 0 : std::max<std::uint64_t>(info.element_bytes, 1);
  for (const Index d : info.chunk) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(d), &bytes)) return UINT64_MAX;
  }
  return bytes;
}

/// Entries of the first index in one block.
Index rows_per_block(const ArrayInfo& info) {
  Index row = 1;
  for (std::size_t d = 1; d < info.shape.size(); ++d) row *= std::max<Index>(info.shape[d], 1);
  const Index block = std::max<Index>(1, kBlockDoubles / row);
  if (info.chunk.empty() || info.chunk[0] <= 1) return block;
  const Index chunk = info.chunk[0];
  const Index aligned = std::max<Index>(chunk, block / chunk * chunk);
  return aligned * row <= kAlignedBlockDoubles ? aligned : block;
}

}  // namespace

std::optional<std::uint64_t> ArrayInfo::elements() const {
  std::uint64_t n = 1;
  for (const Index d : shape) {
    if (__builtin_mul_overflow(n, static_cast<std::uint64_t>(d), &n)) return std::nullopt;
  }
  return n <= (std::uint64_t{1} << 62) ? std::optional(n) : std::nullopt;
}

std::string shape_text(const std::vector<Index>& shape) {
  return shape.empty() ? "a scalar" : fmt::format("[{}]", join(shape, ", "));
}

std::string implausible_storage(const ArrayInfo& info, std::uint64_t file_bytes, bool in_memory) {
  if (info.outside) {
    return "keeps its data in other files (virtual or external storage); allowed: data in this "
           "file";
  }
  if (!info.unavailable_filter.empty()) {
    return fmt::format(
        "is compressed with the filter {}, which this HDF5 library lacks; allowed: "
        "gzip or no compression",
        info.unavailable_filter);
  }
  const std::optional<std::uint64_t> n = info.elements();
  // Of an empty array the other dimensions are multiplied, too: they are the size of a row.
  double others = 1.0;
  for (const Index d : info.shape) others *= static_cast<double>(std::max<Index>(d, 1));
  if (!n || *n > kMaxElements || others > static_cast<double>(kMaxElements)) {
    return fmt::format("has shape {}: more than 2^46 numbers", shape_text(info.shape));
  }
  const std::uint64_t bytes = *n * std::max<std::uint64_t>(info.element_bytes, 1);
  if (info.stored_bytes > file_bytes) {
    return fmt::format("stores {} bytes in a file of {} bytes: damaged", info.stored_bytes,
                       file_bytes);
  }
  if (bytes > kAlwaysPlausibleBytes && bytes / kMaxExpansion > info.stored_bytes) {
    return fmt::format("claims {} bytes (shape {}), but the file stores only {} of them", bytes,
                       shape_text(info.shape), info.stored_bytes);
  }
  // HDF5 reads a chunk whole: a small file must not take gigabytes of memory by one of them.
  const std::uint64_t chunk = chunk_bytes(info);
  if (chunk > kAlwaysPlausibleChunk && chunk / kMaxChunkExpansion > info.stored_bytes) {
    return fmt::format(
        "has chunks of {} bytes, of which the file stores only {}; allowed: chunks of up to {} "
        "bytes, or less compression",
        chunk, info.stored_bytes, kAlwaysPlausibleChunk);
  }
  if (info.written == 0) return "has a shape, but its numbers were never written";
  if (info.written < info.pieces) {
    return fmt::format("is half written: {} of its {} chunks are in the file", info.written,
                       info.pieces);
  }
  const double needed = static_cast<double>(*n) * sizeof(double);
  if (in_memory && needed > physical_memory()) {
    return fmt::format("needs {:.1f} GiB of memory (shape {}); this machine has {:.1f} GiB",
                       needed / 0x1p30, shape_text(info.shape), physical_memory() / 0x1p30);
  }
  return {};
}

Index Hdf5Array::row_size() const {
  Index n = 1;
  for (std::size_t d = 1; d < info_.shape.size(); ++d) n *= info_.shape[d];
  return n;
}

void Hdf5Array::read_rows(Index begin, Index count, double* out) const {
  const std::size_t rank = info_.shape.size();
  if (rank == 0 || begin < 0 || count < 0 || begin > info_.shape[0] - count) {
    fail(ErrorKind::kInternal, "{}: rows {} + {} of {} asked for", path_, begin, count,
         shape_text(info_.shape));
  }
  if (count == 0) return;
  std::vector<hsize_t> start(rank, 0), size(info_.shape.begin(), info_.shape.end());
  start[0] = static_cast<hsize_t>(begin);
  size[0] = static_cast<hsize_t>(count);
  const Handle file_space(H5Dget_space(dataset_.get()), H5Sclose);
  const Handle memory_space(H5Screate_simple(static_cast<int>(rank), size.data(), nullptr),
                            H5Sclose);
  if (H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(),
                          nullptr) < 0 ||
      H5Dread(dataset_.get(), H5T_NATIVE_DOUBLE, memory_space.get(), file_space.get(), H5P_DEFAULT,
              out) < 0) {
    damaged(fmt::format("{}: entries {} to {} of the first index cannot be read", path_, begin,
                        begin + count - 1));
  }
}

void Hdf5Array::read_all(hid_t memory_type, void* out) const {
  if (info_.elements() == 0) return;
  if (H5Dread(dataset_.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0) {
    damaged(path_ + ": cannot be read");
  }
}

ArrayInfo Hdf5InputFile::info(const std::string& path) const {
  return describe(open_object(path).get(), path);
}

Hdf5Array Hdf5InputFile::open_array(const std::string& path, bool in_memory) const {
  ArrayInfo array = info(path);
  const std::string fault = implausible_storage(array, file_bytes_, in_memory);
  if (!fault.empty()) bad_data("{}: {}", path, fault);
  if (!array.is_number()) {
    bad_data("{}: type {}; allowed: float32, float64, integers", path, array.type_name);
  }
  Handle dataset = open_with_cache(file_.get(), path, array);
  if (!dataset.valid()) damaged(path + ": cannot be opened");
  return {std::move(dataset), path, std::move(array)};
}

template <class Integer>
std::vector<Integer> Hdf5InputFile::read_integers(const std::string& path) const {
  const Hdf5Array array = open_array(path, true);
  if (array.info().kind != ElementKind::kInteger && array.info().kind != ElementKind::kBoolean) {
    bad_data("{}: type {}; allowed: integers", path, array.info().type_name);
  }
  std::vector<Integer> values(array.info().elements().value_or(0));
  if constexpr (std::is_unsigned_v<Integer>) {
    // HDF5 makes 0 of a negative number.
    std::vector<std::int64_t> with_sign(values.size());
    array.read_all(H5T_NATIVE_INT64, with_sign.data());
    const auto negative = std::ranges::find_if(with_sign, [](std::int64_t v) { return v < 0; });
    if (negative != with_sign.end()) bad_data("{}: {}; allowed: integers >= 0", path, *negative);
  }
  array.read_all(std::is_signed_v<Integer> ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, values.data());
  return values;
}
template std::vector<std::int64_t> Hdf5InputFile::read_integers(const std::string&) const;
template std::vector<std::uint64_t> Hdf5InputFile::read_integers(const std::string&) const;

Tensor Hdf5InputFile::read_array(const std::string& path) const {
  const Hdf5Array array = open_array(path, true);
  Tensor tensor;
  tensor.shape = array.info().shape;
  tensor.values.resize(array.info().elements().value_or(0));
  array.read_all(H5T_NATIVE_DOUBLE, tensor.values.data());
  return tensor;
}

std::vector<MatrixXd> Hdf5InputFile::read_matrices(const std::string& path) const {
  const Tensor tensor = read_array(path);
  if (tensor.shape.size() != 3) {
    bad_data("{}: has shape {}; allowed: [n, rows, columns]", path, shape_text(tensor.shape));
  }
  const Index rows = tensor.shape[1], columns = tensor.shape[2];
  std::vector<MatrixXd> matrices;
  for (Index i = 0; i < tensor.shape[0]; ++i) {
    matrices.emplace_back(
        Eigen::Map<const RowMatrixXd>(tensor.values.data() + i * rows * columns, rows, columns));
  }
  return matrices;
}

void for_each_block(
    const Hdf5InputFile& file, const std::string& path,
    const std::function<void(const ArrayInfo&, Index, Index, std::span<const double>)>& visit,
    Index part, Index parts) {
  const Hdf5Array array = file.open_array(path);
  const Index rows = array.info().shape[0];
  const Index block = rows_per_block(array.info());
  std::vector<double> values(static_cast<std::size_t>(std::min(block, rows) * array.row_size()));
  for (Index begin = part * block; begin < rows; begin += parts * block) {
    const Index count = std::min(block, rows - begin);
    array.read_rows(begin, count, values.data());
    visit(array.info(), begin, count, values);
  }
}

}  // namespace headway::io
