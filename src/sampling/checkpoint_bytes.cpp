// The byte form of a checkpoint. Layout: 8 bytes magic, u32 version, u64 payload length, payload,
// u64 FNV-1a of all before it. Numbers are little-endian; a string or array is a u64 count and its
// entries; a matrix rows, columns and its entries by column.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

#include "headway/core/error.hpp"
#include "headway/sampling/checkpoint.hpp"

namespace headway::sampling {
namespace {

constexpr std::array<std::uint8_t, 8> kMagic = {'H', 'E', 'A', 'D', 'W', 'A', 'Y', 'C'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 8 + 4 + 8;
constexpr std::size_t kChecksumBytes = 8;

std::uint64_t fnv1a(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::uint8_t b : bytes) hash = (hash ^ b) * 0x100000001b3ULL;
  return hash;
}

class Writer {
 public:
  static constexpr bool kReads = false;
  template <std::unsigned_integral Word>
  void word(Word value) {
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  void real(const double& x) { word(std::bit_cast<std::uint64_t>(x)); }
  void text(const std::string& s) {
    word(static_cast<std::uint64_t>(s.size()));
    bytes_.insert(bytes_.end(), s.begin(), s.end());
  }
  void reals(const std::vector<double>& values) {
    word(static_cast<std::uint64_t>(values.size()));
    for (const double x : values) real(x);
  }
  template <typename Matrix>
  void matrix(const Matrix& m) {
    word(static_cast<std::uint64_t>(m.rows()));
    word(static_cast<std::uint64_t>(m.cols()));
    for (Index i = 0; i < m.size(); ++i) real(m.data()[i]);
  }
  std::vector<std::uint8_t>& bytes() { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  static constexpr bool kReads = true;
  Reader(std::span<const std::uint8_t> bytes, std::string_view source)
      : bytes_(bytes), source_(source) {}

  template <std::unsigned_integral Word>
  void word(Word& value) {
    require(1, sizeof(Word));
    value = 0;
    for (std::size_t i = 0; i < sizeof(Word); ++i) {
      value = static_cast<Word>(value | static_cast<Word>(Word{bytes_[place_ + i]} << (8 * i)));
    }
    place_ += sizeof(Word);
  }
  void real(double& x) {
    std::uint64_t bits = 0;
    word(bits);
    x = std::bit_cast<double>(bits);
  }
  void text(std::string& s) {
    std::uint64_t count = 0;
    word(count);
    require(count, 1);
    s.assign(reinterpret_cast<const char*>(bytes_.data() + place_), count);
    place_ += count;
  }
  void reals(std::vector<double>& values) {
    std::uint64_t count = 0;
    word(count);
    require(count, sizeof(double));
    values.resize(count);
    for (double& x : values) real(x);
  }
  template <typename Matrix>
  void matrix(Matrix& m) {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    word(rows);
    word(columns);
    constexpr std::uint64_t kLargestSide = std::uint64_t{1}
                                           << 40;  // an empty matrix may still be absurdly tall
    if (rows > kLargestSide || columns > kLargestSide) fail("has a matrix of absurd size");
    if (columns > 0) require(rows, sizeof(double));
    if (rows > 0) require(columns, sizeof(double) * rows);
    if (Matrix::ColsAtCompileTime == 1 && columns != 1) fail("has a vector of the wrong shape");
    m.resize(static_cast<Index>(rows), static_cast<Index>(columns));
    for (Index i = 0; i < m.size(); ++i) real(m.data()[i]);
  }
  /// Fails unless `count` entries of `size` bytes are left: nothing larger than the file is ever
  /// allocated.
  void require(std::uint64_t count, std::size_t size) const {
    if (count > (bytes_.size() - place_) / size) fail("ends in the middle of an entry");
  }
  [[nodiscard]] bool at_end() const { return place_ == bytes_.size(); }
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(ErrorKind::kBadData, fmt::format("checkpoint {}: {}", source_, what));
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::string_view source_;
  std::size_t place_ = 0;
};

// The same list of fields writes and reads: State is const for the writer.
template <typename Archive, typename Integer>
void integer(Archive& archive, Integer& value) {
  if constexpr (Archive::kReads) {
    std::uint64_t bits = 0;
    archive.word(bits);
    value = static_cast<Integer>(bits);
  } else {
    archive.word(static_cast<std::uint64_t>(value));
  }
}

template <typename Archive, typename State>
void rng_fields(Archive& archive, State& s) {
  for (auto& w : s.counter) archive.word(w);
  for (auto& w : s.key) archive.word(w);
  for (auto& w : s.block) archive.word(w);
  integer(archive, s.used);
  archive.real(s.spare_normal);
  integer(archive, s.has_spare);
}

template <typename Archive, typename Statistics>
void statistics_fields(Archive& archive, Statistics& s) {
  archive.real(s.log_density);
  archive.real(s.energy);
  archive.real(s.acceptance);
  archive.real(s.step_size);
  integer(archive, s.tree_depth);
  integer(archive, s.evaluations);
  integer(archive, s.divergent);
  integer(archive, s.saturated);
}

constexpr std::size_t kStatisticsBytes = 64;  // eight fields of eight bytes

template <typename Archive, typename State>
void chain_fields(Archive& archive, State& s) {
  integer(archive, s.chain);
  integer(archive, s.started);
  integer(archive, s.iteration);
  rng_fields(archive, s.rng);
  archive.matrix(s.position);
  archive.matrix(s.gradient);
  archive.real(s.log_density);
  archive.real(s.step_size);
  archive.real(s.dual_averaging.anchor);
  archive.real(s.dual_averaging.mean_error);
  archive.real(s.dual_averaging.log_step_mean);
  integer(archive, s.dual_averaging.count);
  archive.matrix(s.inverse_metric);
  integer(archive, s.window.count);
  archive.matrix(s.window.mean);
  archive.matrix(s.window.squares);
  statistics_fields(archive, s.pending);
  integer(archive, s.evaluations);
  integer(archive, s.warmup_divergences);
  std::uint64_t kept = s.statistics.size();
  integer(archive, kept);
  if constexpr (Archive::kReads) {
    archive.require(kept, kStatisticsBytes);
    s.statistics.resize(kept);
  }
  for (auto& statistics : s.statistics) statistics_fields(archive, statistics);
  archive.reals(s.draws);
}

// The payload between header and checksum, both checked.
std::span<const std::uint8_t> checked_payload(std::span<const std::uint8_t> bytes,
                                              std::string_view source) {
  Reader header(bytes, source);
  if (bytes.size() < kHeaderBytes + kChecksumBytes ||
      !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    header.fail("is not a Headway chain checkpoint");
  }
  Reader fields(bytes.subspan(kMagic.size()), source);
  std::uint32_t version = 0;
  std::uint64_t length = 0;
  fields.word(version);
  fields.word(length);
  if (version != kVersion) {
    header.fail(
        fmt::format("has format version {}, this build reads version {}", version, kVersion));
  }
  if (length != bytes.size() - kHeaderBytes - kChecksumBytes) {
    header.fail(fmt::format("should hold {} bytes, has {}: it is truncated or has something added",
                            length, bytes.size() - kHeaderBytes - kChecksumBytes));
  }
  const std::size_t covered = kHeaderBytes + static_cast<std::size_t>(length);
  std::uint64_t checksum = 0;
  Reader(bytes.subspan(covered), source).word(checksum);
  if (checksum != fnv1a(bytes.first(covered))) header.fail("is damaged: the checksum differs");
  return bytes.subspan(kHeaderBytes, static_cast<std::size_t>(length));
}

}  // namespace

std::vector<std::uint8_t> checkpoint_to_bytes(const Checkpoint& checkpoint) {
  Writer payload;
  payload.text(checkpoint.settings);
  payload.word(static_cast<std::uint64_t>(checkpoint.chains.size()));
  for (const ChainState& chain : checkpoint.chains) chain_fields(payload, chain);
  Writer whole;
  whole.bytes().assign(kMagic.begin(), kMagic.end());
  whole.word(kVersion);
  whole.word(static_cast<std::uint64_t>(payload.bytes().size()));
  whole.bytes().insert(whole.bytes().end(), payload.bytes().begin(), payload.bytes().end());
  whole.word(fnv1a(whole.bytes()));
  return std::move(whole.bytes());
}

Checkpoint checkpoint_from_bytes(std::span<const std::uint8_t> bytes, std::string_view source) {
  Reader reader(checked_payload(bytes, source), source);
  Checkpoint checkpoint;
  reader.text(checkpoint.settings);
  std::uint64_t chains = 0;
  reader.word(chains);
  reader.require(chains, kStatisticsBytes);  // a chain is longer than that
  checkpoint.chains.resize(chains);
  for (ChainState& chain : checkpoint.chains) chain_fields(reader, chain);
  if (!reader.at_end()) reader.fail("holds more than its chains");
  return checkpoint;
}

}  // namespace headway::sampling
