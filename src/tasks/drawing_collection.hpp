#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headway/tasks/image_set.hpp"

namespace headway::tasks {

/// Collects drawings of characters in any order, and makes an image set in the order of their
/// names. Each drawing is scaled to side x side by resize_grey().
class DrawingCollection {
 public:
  struct Name {
    std::string alphabet, character, drawing;
  };

  /// `source`: name of the set, in messages too.
  DrawingCollection(std::string source, Index side) : source_(std::move(source)), side_(side) {}

  /// `pixels`: [height, width]. Error{kBadData} for a drawing that is not square or there already.
  void add(const Name& name, std::span<const std::uint8_t> pixels, Index height, Index width);
  /// Classes by alphabet and character, drawings by name. Error{kBadData} without any.
  [[nodiscard]] ImageSet finish() const;

 private:
  using Drawings = std::map<std::string, std::vector<std::uint8_t>>;  // [side, side] by name

  std::string source_;
  Index side_;
  std::map<std::pair<std::string, std::string>, Drawings> classes_;  // by alphabet and character
};

}  // namespace headway::tasks
