#include "headway/io/weights_file.hpp"

#include <zip.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "core/fail.hpp"
#include "core/whole_file.hpp"

namespace headway::io {
namespace {

using training::NamedTensor;

static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

constexpr std::size_t kNpyAlignment = 64;
constexpr std::size_t kSafetensorsAlignment = 8;

template <class T>
void append(std::string& out, std::span<const T> numbers) {
  out.append(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
}
template <class T>
void append_number(std::string& out, const T& number) {
  append(out, std::span<const T>(&number, 1));
}

// --- .npz: numpy/lib/format.py (NEP 1) in a ZIP archive
// ------------------------------------------------------------------------------------------------

std::string npy_bytes(const NamedTensor& tensor) {
  std::string shape;
  for (const Index n : tensor.shape) shape += std::to_string(n) + ", ";
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", shape);
  constexpr std::size_t kPrefix = 10;  // magic, version, length
  const std::size_t unpadded = kPrefix + header.size() + 1;
  header.append((kNpyAlignment - unpadded % kNpyAlignment) % kNpyAlignment, ' ');
  header += '\n';
  std::string out;
  out += std::string_view("\x93NUMPY\x01\x00", 8);
  append_number(out, static_cast<std::uint16_t>(header.size()));
  out += header;
  append<float>(out, tensor.values);
  return out;
}

[[noreturn]] void zip_failed(const std::string& file_path, zip_error_t* error) {
  fail(ErrorKind::kCannotWrite, "{}: the archive cannot be made: {}", file_path,
       zip_error_strerror(error));
}

using ZipSource = std::unique_ptr<zip_source_t, decltype(&zip_source_free)>;

/// What an archive that was written into `source` holds.
std::string bytes_of(const std::string& file_path, zip_source_t* source) {
  zip_stat_t status;
  std::string out;
  if (zip_source_stat(source, &status) == 0 && zip_source_open(source) == 0) {
    out.resize(status.size);
    const zip_int64_t read = zip_source_read(source, out.data(), out.size());
    zip_source_close(source);
    if (read == static_cast<zip_int64_t>(out.size())) return out;
  }
  zip_failed(file_path, zip_source_error(source));
}

std::string npz_bytes(const std::string& file_path, const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> contents;  // libzip reads them when the archive is closed
  for (const NamedTensor& tensor : tensors) contents.push_back(npy_bytes(tensor));
  zip_error_t error;
  zip_error_init(&error);
  const ZipSource target(zip_source_buffer_create(nullptr, 0, 0, &error), &zip_source_free);
  if (!target) zip_failed(file_path, &error);
  zip_source_keep(target.get());
  zip_t* archive = zip_open_from_source(target.get(), ZIP_TRUNCATE, &error);
  if (archive == nullptr) zip_failed(file_path, &error);
  constexpr zip_uint16_t kMidnight = 0, kFirstOf1980 = 0x21;
  bool fine = true;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    zip_source_t* source = zip_source_buffer(archive, contents[i].data(), contents[i].size(), 0);
    const zip_int64_t entry =
        zip_file_add(archive, (tensors[i].name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (entry < 0) zip_source_free(source);
    const auto index = static_cast<zip_uint64_t>(entry);
    // No clock: the same weights give the same file.
    fine = fine && entry >= 0 && zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) == 0 &&
           zip_file_set_dostime(archive, index, kMidnight, kFirstOf1980, 0) == 0;
  }
  if (!fine || zip_close(archive) != 0) {
    error = *zip_get_error(archive);
    zip_discard(archive);
    zip_failed(file_path, &error);
  }
  return bytes_of(file_path, target.get());
}

// --- .safetensors: u64 length of the header, the header, the numbers
// ------------------------------------------------------------------------------------------------

std::string safetensors_bytes(const std::vector<NamedTensor>& tensors,
                              const std::vector<std::pair<std::string, std::string>>& notes) {
  nlohmann::ordered_json header;
  for (const auto& [key, value] : notes) header["__metadata__"][key] = value;
  std::uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    const std::uint64_t end = offset + tensor.values.size() * sizeof(float);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.append((kSafetensorsAlignment - text.size() % kSafetensorsAlignment) % kSafetensorsAlignment,
              ' ');
  std::string out;
  append_number(out, std::uint64_t{text.size()});
  out += text;
  for (const NamedTensor& tensor : tensors) append<float>(out, tensor.values);
  return out;
}

}  // namespace

void check_weights_path(const std::string& file_path) {
  if (file_path.ends_with(".npz") || file_path.ends_with(".safetensors")) return;
  fail(ErrorKind::kUsage, "{}: must end in .npz or .safetensors, the two formats of weights",
       printable(file_path));
}

void write_weights(const std::string& file_path, const std::vector<NamedTensor>& tensors,
                   const std::vector<std::pair<std::string, std::string>>& notes, bool force) {
  check_weights_path(file_path);
  write_whole_file(file_path,
                   file_path.ends_with(".npz") ? npz_bytes(file_path, tensors)
                                               : safetensors_bytes(tensors, notes),
                   force);
}

}  // namespace headway::io
