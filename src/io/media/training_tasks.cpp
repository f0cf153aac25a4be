#include "headway/io/training_tasks.hpp"

#include <memory>

#include "core/whole_file.hpp"
#include "io/media/image_files.hpp"

namespace headway::io {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{4} << 30U;

}  // namespace

tasks::TextCorpus read_text_corpus(const std::string& file_path, const tasks::TextShares& shares) {
  return {file_path, read_whole_file(file_path, kLargestText), shares};
}

std::string read_text(const std::string& file_path) {
  require_readable_file(file_path);
  std::string text = read_whole_file(file_path, kLargestText);
  tasks::require_utf8(text, file_path);
  return text;
}

TaskFiles task_files() {
  return {read_text_corpus,
          [](const std::vector<std::string>& paths) {
            return std::make_shared<tasks::ImageSet>(read_omniglot(paths, tasks::kOneShotSide));
          },
          [](const OutOfDistributionSet& set) {
            return std::make_shared<tasks::ImageSet>(
                read_idx(set.images, set.labels, {tasks::kOneShotSide, set.invert}));
          },
          read_example_arrays};
}

}  // namespace headway::io
