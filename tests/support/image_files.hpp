// Image files and archives that tests write: whole, and damaged one byte at a time.
#pragma once

#include <png.h>
#include <zip.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"

namespace headway::testing {

using Bytes = std::vector<std::uint8_t>;

inline Bytes load_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void store_bytes(const std::string& path, const Bytes& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

inline void write_gzip(const std::string& path, const Bytes& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  if (gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) !=
          static_cast<int>(bytes.size()) ||
      gzclose(file) != Z_OK) {
    throw std::runtime_error("cannot write " + path);
  }
}

// A PNG of 8-bit samples in one of libpng's formats (PNG_FORMAT_GRAY, PNG_FORMAT_RGBA, ...).
inline Bytes encode_png(const Bytes& samples, unsigned width, unsigned height, unsigned format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  png_alloc_size_t size = 0;
  if (png_image_write_to_memory(&image, nullptr, &size, 0, samples.data(), 0, nullptr) == 0) {
    throw std::runtime_error(image.message);
  }
  Bytes bytes(size);
  png_image_write_to_memory(&image, bytes.data(), &size, 0, samples.data(), 0, nullptr);
  bytes.resize(size);
  return bytes;
}

// A PNG of one grey.
inline Bytes flat_png(unsigned width, unsigned height, std::uint8_t grey) {
  return encode_png(Bytes(std::size_t{width} * height, grey), width, height, PNG_FORMAT_GRAY);
}

inline std::vector<std::pair<std::string, Bytes>> unzip(const std::string& path) {
  zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, nullptr);
  std::vector<std::pair<std::string, Bytes>> entries;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    zip_stat_t status;
    zip_stat_index(archive, static_cast<zip_uint64_t>(i), 0, &status);
    Bytes bytes(status.size);
    zip_file_t* file = zip_fopen_index(archive, static_cast<zip_uint64_t>(i), 0);
    zip_fread(file, bytes.data(), bytes.size());
    zip_fclose(file);
    entries.emplace_back(status.name, bytes);
  }
  zip_discard(archive);
  return entries;
}

inline void write_zip(const std::string& path,
                      const std::vector<std::pair<std::string, Bytes>>& entries) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const auto& [name, bytes] : entries) {
    zip_file_add(archive, name.c_str(),
                 zip_source_buffer(archive, bytes.data(), bytes.size(), /*freep=*/0), 0);
  }
  if (zip_close(archive) != 0) throw std::runtime_error("cannot write " + path);
}

// Checks that `call` throws an Error of this kind whose message has all of these parts.
template <typename Call>
void check_error(ErrorKind kind, const std::vector<std::string>& parts, Call call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    for (const std::string& part : parts) {
      CHECK_THAT(std::string(error.what()), Catch::Matchers::ContainsSubstring(part));
    }
    return;
  }
  FAIL_CHECK("no error; expected: " << parts.front());
}

}  // namespace headway::testing
