#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headway/types.hpp"

namespace headway::tasks {

/// The drawings of one character, digit or kind of object.
struct ImageClass {
  std::string group;  ///< alphabet of a character; "" where the classes have no groups
  std::string name;   ///< "character01", "7"
  Index first = 0;    ///< position of its first drawing in the set
  Index count = 0;    ///< its drawings stand one after the other

  bool operator==(const ImageClass&) const = default;
};

/// Square grey images of one size, grouped by class. 255 is blank paper and 0 full ink, as Omniglot
/// has it; readers of sets with light ink on black invert.
struct ImageSet {
  std::string name;  ///< where it came from, for messages
  Index side = 0;    ///< pixels of a row and of a column
  std::vector<ImageClass> classes;
  std::vector<std::uint8_t> pixels;  ///< [drawings, side, side], row by row from the top left

  [[nodiscard]] Index pixels_per_drawing() const { return side * side; }
  [[nodiscard]] Index drawings() const {
    return side == 0 ? 0 : static_cast<Index>(pixels.size()) / pixels_per_drawing();
  }
  /// Drawing 0 <= position < drawings(): side * side pixels.
  [[nodiscard]] std::span<const std::uint8_t> drawing(Index position) const {
    const auto size = static_cast<std::size_t>(pixels_per_drawing());
    return std::span(pixels).subspan(static_cast<std::size_t>(position) * size, size);
  }
};

/// Appends a class with its drawings, [count, side, side]. Error{kInternal} when `drawings` is
/// empty or no whole number of images.
void add_class(ImageSet& set, const std::string& group, const std::string& name,
               std::span<const std::uint8_t> drawings);

/// SHA-256 of side, classes and pixels; not of the set's name, so that the same images hash the
/// same from an archive and from folders. Cost: one pass over the pixels.
std::string image_set_hash(const ImageSet& set);

/// One set with the classes of all, in the given order. A class that several sets hold with the
/// same group, name and drawings is kept once (the two small Omniglot archives share the alphabets
/// Greek and Latin), so that splits by class stay disjoint. Error{kBadData} when two sets differ in
/// size, or have a class of the same group and name with other drawings.
ImageSet merge_image_sets(std::span<const ImageSet> sets);

/// Scales a grey image [height, width] to [side, side] with an antialiased bilinear filter, along
/// each axis in turn. With scale = source size / side, a pixel of the result is the mean of the
/// source under a triangle of half-width max(1, scale) source pixels around its centre. At the
/// borders the triangle is cut and its weights are normalised. Rounds once, at the end. Image
/// libraries call this filter bilinear or area-aware bilinear; the reference scaled its images with
/// it. Cost: about side (2 scale + 1) (height + side) operations.
std::vector<std::uint8_t> resize_grey(std::span<const std::uint8_t> image, Index height,
                                      Index width, Index side);

}  // namespace headway::tasks
