#include "headway/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/study.hpp"

namespace headway {
namespace {

constexpr std::size_t kMostShards = 1000000;
constexpr std::size_t kLongestChain = 4;  // of points, where few temperatures are swept
constexpr std::size_t kManyTemperatures = 4;

bool read_number(std::string_view text, std::size_t& value) {
  const char* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, value);
  return failure == std::errc() && stopped == end;
}

std::size_t count_of_points(const Study& study) {
  return study.model.widths.size() * study.model.temperatures.size();
}

}  // namespace

std::string shard_text(const Shard& shard) {
  return fmt::format("{}/{}", shard.index, shard.count);
}

Shard read_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  Shard shard;
  const bool read = slash != std::string_view::npos &&
                    read_number(text.substr(0, slash), shard.index) &&
                    read_number(text.substr(slash + 1), shard.count);
  if (!read || shard.index >= shard.count || shard.count > kMostShards) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--shard {}: must be i/n, part i of n, with 0 <= i < n <= {}", text,
                            kMostShards));
  }
  return shard;
}

std::vector<std::vector<std::size_t>> solve_chains(const Study& study) {
  const std::size_t temperatures = study.model.temperatures.size();
  const auto widest = [&](std::size_t point) {
    const std::vector<Index>& widths = study.model.widths[point / temperatures];
    return *std::max_element(widths.begin(), widths.end());
  };
  std::vector<std::vector<std::size_t>> chains;
  for (std::size_t t = 0; t < temperatures; ++t) {
    std::vector<std::size_t> order;
    for (std::size_t i = t; i < count_of_points(study); i += temperatures) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return widest(a) > widest(b); });
    const std::size_t length = !study.solve.warm_start             ? 1
                               : temperatures >= kManyTemperatures ? order.size()
                                                                   : kLongestChain;
    for (std::size_t begin = 0; begin < order.size(); begin += length) {
      const std::size_t end = std::min(order.size(), begin + length);
      chains.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                          order.begin() + static_cast<std::ptrdiff_t>(end));
    }
  }
  return chains;
}

std::vector<std::size_t> dealt_units(std::size_t units, const Shard& shard) {
  if (shard.index >= shard.count) {
    throw Error(ErrorKind::kUsage,
                fmt::format("shard {}: allowed: i/n with 0 <= i < n", shard_text(shard)));
  }
  std::vector<std::size_t> dealt;
  for (std::size_t unit = shard.index; unit < units; unit += shard.count) dealt.push_back(unit);
  return dealt;
}

std::vector<std::size_t> solve_points(const Study& study, const Shard& shard) {
  const std::vector<std::vector<std::size_t>> chains = solve_chains(study);
  std::vector<std::size_t> points;
  for (const std::size_t c : dealt_units(chains.size(), shard)) {
    points.insert(points.end(), chains[c].begin(), chains[c].end());
  }
  std::sort(points.begin(), points.end());
  return points;
}

std::vector<std::size_t> sample_points(const Study& study, const Shard& shard) {
  return dealt_units(count_of_points(study), shard);
}

std::vector<std::size_t> temperatures_of(const Study& study,
                                         const std::vector<std::size_t>& points) {
  std::vector<std::size_t> temperatures;
  for (std::size_t t = 0; t < study.model.temperatures.size(); ++t) {
    const bool there = std::any_of(points.begin(), points.end(), [&](std::size_t point) {
      return point % study.model.temperatures.size() == t;
    });
    if (there) temperatures.push_back(t);
  }
  return temperatures;
}

}  // namespace headway
