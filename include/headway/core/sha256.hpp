#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headway {

/// SHA-256 (FIPS 180-4), fed in pieces: for the content hashes of studies and data sets.
class Sha256 {
 public:
  Sha256();
  /// Adds `size` bytes. Not after hex_digest().
  void update(const void* data, std::size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  /// Ends the message; 64 lower-case hexadecimal digits. Call once.
  [[nodiscard]] std::string hex_digest();

 private:
  void compress(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> buffer_{};
  std::size_t buffered_ = 0;
  std::uint64_t total_bytes_ = 0;
};

/// Hexadecimal SHA-256 of `text`.
std::string sha256_hex(std::string_view text);

}  // namespace headway
