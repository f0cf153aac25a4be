#pragma once

#include <string>
#include <vector>

#include "headway/tasks/image_set.hpp"
#include "headway/types.hpp"

namespace headway::io {

/// Reads Omniglot: an original archive (images_background.zip, images_evaluation.zip, the "small"
/// ones), or a folder with its contents. Drawings are PNG files <alphabet>/<character>/<file>.png,
/// all below one common folder or none; other files, hidden ones and __MACOSX are passed over.
/// Classes are sorted by alphabet and character, drawings by file name, so that archive and folder
/// give the same set. Each drawing, grey and square, is scaled to side x side by
/// tasks::resize_grey(); 255 is paper. Colour is turned into grey, transparency into paper.
///
/// Files are taken as hostile: at most 500,000 drawings of 1 MiB and 1024 x 1024 pixels each, 1 GiB
/// of them when unpacked; checksums are checked; nothing is unpacked to disk.
/// Errors: kMissingFile when `path` is missing or unreadable; kBadData, naming file, entry and what
/// is wrong, when the archive or a PNG is damaged, too large or not square, when a PNG lies outside
/// an alphabet and character, when there is none, and for the archive of one-shot runs. Cost: about
/// 0.1 ms a drawing.
tasks::ImageSet read_omniglot(const std::string& path, Index side = 32);

/// The same for several archives or folders, merged by tasks::merge_image_sets(): a character that
/// several of them hold is kept once.
tasks::ImageSet read_omniglot(const std::vector<std::string>& paths, Index side = 32);

struct IdxOptions {
  Index side = 32;  ///< of the resulting images
  /// MNIST and FashionMNIST are light on black; true turns them into dark on light, as Omniglot is,
  /// so that out-of-distribution images differ in what they show and not in polarity. (The
  /// reference fed them as they are.)
  bool invert = true;
};

/// Reads images and labels in the IDX format of MNIST (idx3-ubyte and idx1-ubyte), plain or
/// compressed by gzip, and scales them as read_omniglot() does. A class is a label, named by its
/// number, in rising order and without group; drawings keep the order of the file.
/// Errors: kMissingFile when a file is missing or unreadable; kBadData, naming file, field, value
/// and what is allowed, on a wrong magic number, sizes out of bounds (1 to 1,000,000 square images
/// of up to 1024 x 1024), a number of labels that is not that of the images, a file that is too
/// short or too long, or damaged compression.
tasks::ImageSet read_idx(const std::string& images_path, const std::string& labels_path,
                         const IdxOptions& options = {});

}  // namespace headway::io
