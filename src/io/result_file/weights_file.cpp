#include "headway/io/weights_file.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "headway/core/error.hpp"
#include "headway/core/text.hpp"
#include "io/whole_file.hpp"

namespace headway::io {
namespace {

using training::NamedTensor;

static_assert(std::endian::native == std::endian::little, "numbers are written as they are");

constexpr std::uint64_t kLargestZip = 0xffffffffU;
constexpr std::size_t kNpyAlignment = 64;
constexpr std::size_t kSafetensorsAlignment = 8;

template <class T>
void append_number(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  out.append(bytes.data(), bytes.size());
}

void append_floats(std::string& out, const std::vector<float>& values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// --- .npz: numpy/lib/format.py (NEP 1) in a ZIP archive (APPNOTE.TXT 6.3)
// ------------------------------------------------------------------------------------------------

/// CRC-32 of ISO 3309, as ZIP has it.
std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      std::uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c & 1U) != 0 ? 0xedb88320U ^ (c >> 1U) : c >> 1U;
      out.at(i) = c;
    }
    return out;
  }();
  std::uint32_t c = 0xffffffffU;
  for (const char byte : bytes) {
    c = table[(c ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (c >> 8U);
  }
  return c ^ 0xffffffffU;
}

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
  append_floats(out, tensor.values);
  return out;
}

struct ZipEntry {
  std::string name;
  std::uint32_t crc = 0, size = 0, offset = 0;
};

/// What the local and the central header have in common, from "version needed" on.
void append_zip_fields(std::string& out, const ZipEntry& entry) {
  constexpr std::uint16_t kVersion = 20, kUtf8 = 0x0800, kStored = 0, kMidnight = 0;
  constexpr std::uint16_t kFirstOf1980 = 0x0021;
  append_number(out, kVersion);
  append_number(out, kUtf8);
  append_number(out, kStored);
  append_number(out, kMidnight);  // no clock: the same weights give the same file
  append_number(out, kFirstOf1980);
  append_number(out, entry.crc);
  append_number(out, entry.size);
  append_number(out, entry.size);
  append_number(out, static_cast<std::uint16_t>(entry.name.size()));
  append_number(out, std::uint16_t{0});  // no extra fields
}

std::string npz_bytes(const std::string& file_path, const std::vector<NamedTensor>& tensors) {
  std::string out;
  std::vector<ZipEntry> entries;
  for (const NamedTensor& tensor : tensors) {
    const std::string content = npy_bytes(tensor);
    if (out.size() + content.size() + (std::uint64_t{1} << 20U) > kLargestZip) {
      throw Error(ErrorKind::kCannotWrite,
                  fmt::format("{}: the weights do not fit into an .npz of 4 GiB; write "
                              ".safetensors",
                              file_path));
    }
    ZipEntry entry{tensor.name + ".npy", crc32(content), static_cast<std::uint32_t>(content.size()),
                   static_cast<std::uint32_t>(out.size())};
    append_number(out, std::uint32_t{0x04034b50});
    append_zip_fields(out, entry);
    out += entry.name;
    out += content;
    entries.push_back(std::move(entry));
  }
  const auto directory = static_cast<std::uint32_t>(out.size());
  for (const ZipEntry& entry : entries) {
    append_number(out, std::uint32_t{0x02014b50});
    append_number(out, std::uint16_t{20});  // made by
    append_zip_fields(out, entry);
    append_number(out, std::uint16_t{0});  // no comment, disk 0, no attributes
    append_number(out, std::uint16_t{0});
    append_number(out, std::uint16_t{0});
    append_number(out, std::uint32_t{0});
    append_number(out, entry.offset);
    out += entry.name;
  }
  const auto count = static_cast<std::uint16_t>(entries.size());
  const auto size = static_cast<std::uint32_t>(out.size()) - directory;
  append_number(out, std::uint32_t{0x06054b50});
  append_number(out, std::uint32_t{0});  // this disk, first disk
  append_number(out, count);
  append_number(out, count);
  append_number(out, size);
  append_number(out, directory);
  append_number(out, std::uint16_t{0});
  return out;
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
  for (const NamedTensor& tensor : tensors) append_floats(out, tensor.values);
  return out;
}

}  // namespace

void check_weights_path(const std::string& file_path) {
  if (file_path.ends_with(".npz") || file_path.ends_with(".safetensors")) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("{}: the name of a file of weights must end in .npz or .safetensors",
                          printable(file_path)));
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
