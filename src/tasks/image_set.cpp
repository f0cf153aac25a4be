#include "headway/tasks/image_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "headway/core/sha256.hpp"
#include "headway/error.hpp"

namespace headway::tasks {
namespace {

// The source pixels of one pixel of a scaled line, and their weights.
struct Taps {
  Index first = 0;
  std::vector<double> weights;  // sum 1
};

// Triangles of half-width max(1, source / target) around the centres of the target's pixels.
std::vector<Taps> triangle_taps(Index source, Index target) {
  const double scale = static_cast<double>(source) / static_cast<double>(target);
  const double reach = std::max(1.0, scale);
  std::vector<Taps> all(static_cast<std::size_t>(target));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<Index>(std::max(0.0, std::ceil(centre - reach - 0.5)));
    const auto last = std::min(source - 1, static_cast<Index>(std::floor(centre + reach - 0.5)));
    double sum = 0.0;
    all[i].first = first;
    for (Index j = first; j <= last; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - centre);
      all[i].weights.push_back(std::max(0.0, 1.0 - distance / reach));
      sum += all[i].weights.back();
    }
    for (double& weight : all[i].weights) weight /= sum;
  }
  return all;
}

std::span<const std::uint8_t> drawings_of(const ImageSet& set, const ImageClass& c) {
  const auto size = static_cast<std::size_t>(set.pixels_per_drawing());
  return std::span(set.pixels)
      .subspan(static_cast<std::size_t>(c.first) * size, static_cast<std::size_t>(c.count) * size);
}

}  // namespace

void add_class(ImageSet& set, const std::string& group, const std::string& name,
               std::span<const std::uint8_t> drawings) {
  const auto size = static_cast<std::size_t>(set.pixels_per_drawing());
  if (size == 0 || drawings.empty() || drawings.size() % size != 0) {
    throw Error(
        ErrorKind::kInternal,
        fmt::format("image set: class {} {} has {} pixels: must be one or more images of {} "
                    "x {}",
                    group, name, drawings.size(), set.side, set.side));
  }
  set.classes.push_back({group, name, set.drawings(), static_cast<Index>(drawings.size() / size)});
  set.pixels.insert(set.pixels.end(), drawings.begin(), drawings.end());
}

std::string image_set_hash(const ImageSet& set) {
  Sha256 hash;
  hash.update(fmt::format("image_set 1\nside {}\nclasses {}\n", set.side, set.classes.size()));
  for (const ImageClass& c : set.classes) {
    hash.update(fmt::format("{} {} {} {} {} {}\n", c.group.size(), c.group, c.name.size(), c.name,
                            c.first, c.count));
  }
  hash.update(set.pixels.data(), set.pixels.size());
  return hash.hex_digest();
}

ImageSet merge_image_sets(std::span<const ImageSet> sets) {
  ImageSet merged;
  std::map<std::pair<std::string, std::string>, std::size_t> position_of;
  for (const ImageSet& set : sets) {
    if (merged.side == 0) merged.side = set.side;
    if (set.side != merged.side) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("{}: images are {} x {}, but those of {} are {} x {}", set.name,
                              set.side, set.side, merged.name, merged.side, merged.side));
    }
    for (const ImageClass& c : set.classes) {
      const std::span<const std::uint8_t> drawings = drawings_of(set, c);
      const auto [known, is_new] =
          position_of.try_emplace({c.group, c.name}, merged.classes.size());
      if (is_new) {
        add_class(merged, c.group, c.name, drawings);
      } else if (!std::ranges::equal(drawings,
                                     drawings_of(merged, merged.classes[known->second]))) {
        throw Error(ErrorKind::kBadData,
                    fmt::format("{}: class {}/{} is also in {}, with other drawings: must have the "
                                "same drawings in all sets",
                                set.name, c.group, c.name, merged.name));
      }
    }
    merged.name += merged.name.empty() ? set.name : ", " + set.name;
  }
  return merged;
}

std::vector<std::uint8_t> resize_grey(std::span<const std::uint8_t> image, Index height,
                                      Index width, Index side) {
  if (height < 1 || width < 1 || side < 1 || static_cast<Index>(image.size()) != height * width) {
    throw Error(ErrorKind::kInternal,
                fmt::format("resize_grey: {} pixels of an image of {} x {} to {} x {}",
                            image.size(), height, width, side, side));
  }
  const std::vector<Taps> columns = triangle_taps(width, side);
  const std::vector<Taps> rows = triangle_taps(height, side);
  RowMatrixXd narrow(height, side);
  for (Index r = 0; r < height; ++r) {
    const std::uint8_t* line = image.data() + r * width;
    for (Index c = 0; c < side; ++c) {
      const Taps& taps = columns[static_cast<std::size_t>(c)];
      double sum = 0.0;
      for (std::size_t k = 0; k < taps.weights.size(); ++k) {
        sum += taps.weights[k] * line[taps.first + static_cast<Index>(k)];
      }
      narrow(r, c) = sum;
    }
  }
  std::vector<std::uint8_t> out;
  out.reserve(static_cast<std::size_t>(side * side));
  for (const Taps& taps : rows) {
    Eigen::RowVectorXd line = Eigen::RowVectorXd::Zero(side);
    for (std::size_t k = 0; k < taps.weights.size(); ++k) {
      line += taps.weights[k] * narrow.row(taps.first + static_cast<Index>(k));
    }
    for (const double value : line) out.push_back(static_cast<std::uint8_t>(std::lround(value)));
  }
  return out;
}

}  // namespace headway::tasks
