#include "tasks/drawing_collection.hpp"

#include "core/fail.hpp"

namespace headway::tasks {

void DrawingCollection::add(const Name& name, std::span<const std::uint8_t> pixels, Index height,
                            Index width) {
  const std::string path =
      fmt::format("{}/{}/{}", shown(name.alphabet), shown(name.character), shown(name.drawing));
  if (height != width) {
    bad_data("{}: {}: is {} x {} pixels: must be square", source_, path, width, height);
  }
  const bool is_new = classes_[{name.alphabet, name.character}]
                          .emplace(name.drawing, resize_grey(pixels, height, width, side_))
                          .second;
  if (!is_new) bad_data("{}: {} is there twice; allowed: each drawing once", source_, path);
}

ImageSet DrawingCollection::finish() const {
  if (classes_.empty()) {
    bad_data("{}: holds no drawings: must have files <alphabet>/<character>/<drawing>.png",
             source_);
  }
  ImageSet set;
  set.name = source_;
  set.side = side_;
  for (const auto& [name, drawings] : classes_) {
    std::vector<std::uint8_t> pixels;
    for (const auto& [drawing_name, drawing] : drawings) {
      pixels.insert(pixels.end(), drawing.begin(), drawing.end());
    }
    add_class(set, name.first, name.second, pixels);
  }
  return set;
}

}  // namespace headway::tasks
