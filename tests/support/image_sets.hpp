// Image sets of random pixels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headway/core/rng.hpp"
#include "headway/tasks/image_set.hpp"

namespace headway::testing {

// `classes` classes in groups of `per_group`, with 3, 4, 5, 3, 4, ... drawings of random pixels.
inline std::shared_ptr<const tasks::ImageSet> random_image_set(int classes, int per_group = 4,
                                                               Index side = 32) {
  auto set = std::make_shared<tasks::ImageSet>();
  set->name = "random images";
  set->side = side;
  Rng rng(11, StreamPurpose::kTests, static_cast<std::uint64_t>(classes));
  for (int c = 0; c < classes; ++c) {
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>((3 + c % 3) * side * side));
    for (std::uint8_t& x : pixels) x = static_cast<std::uint8_t>(rng.uniform_index(256));
    tasks::add_class(*set, "group" + std::to_string(c / per_group), "class" + std::to_string(c),
                     pixels);
  }
  return set;
}

}  // namespace headway::testing
