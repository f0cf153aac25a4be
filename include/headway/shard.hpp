#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

struct Study;

/// One of `count` parts of a study, counted from 0. Units of work are dealt to the parts in turn.
/// What a unit computes does not depend on how many parts there are. Where there are more parts
/// than units, some are empty; an empty part is a result like any other.
struct Shard {
  std::size_t index = 0;
  std::size_t count = 1;

  /// Whether there is no other part.
  [[nodiscard]] bool whole() const { return count == 1; }
  /// Whether this part has the unit with this number.
  [[nodiscard]] bool has(std::size_t unit) const { return unit % count == index; }
};

/// "1/4", and back. Error{kUsage} for anything but i/n with 0 <= i < n <= 10^6.
std::string shard_text(const Shard& shard);
Shard read_shard(std::string_view text);

/// The units of `solve`: chains of sweep points, each solved from the one before. A chain has one
/// temperature, and its widths fall from the Gaussian-process side. Chains do not depend on the
/// number of threads. Without solve.warm_start every point is a chain of its own.
std::vector<std::vector<std::size_t>> solve_chains(const Study& study);

/// The sweep points (widths outer, temperatures inner) of a part, rising. `solve` deals chains,
/// `sample` single points.
std::vector<std::size_t> solve_points(const Study& study, const Shard& shard);
std::vector<std::size_t> sample_points(const Study& study, const Shard& shard);
/// The numbers, among 0 to units - 1, of the units of a part.
std::vector<std::size_t> dealt_units(std::size_t units, const Shard& shard);
/// The indices of the temperatures of sweep points. A part has the Gaussian process at these alone.
std::vector<std::size_t> temperatures_of(const Study& study,
                                         const std::vector<std::size_t>& points);

}  // namespace headway
