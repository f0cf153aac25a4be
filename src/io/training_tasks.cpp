#include "headway/io/training_tasks.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"
#include "headway/io/image_files.hpp"
#include "io/text_file.hpp"

namespace headway::io {
namespace {

struct TextFile {
  std::string file_path, text, hash;
};

/// Token ids of byte-level text are its bytes. Bytes that make no UTF-8 are shown as U+FFFD.
std::string decode_bytes(std::span<const std::int32_t> ids) {
  std::string text;
  text.reserve(ids.size());
  for (const std::int32_t id : ids) text += static_cast<char>(static_cast<unsigned char>(id));
  return with_replacements(text);
}

/// The one place that knows the levels of text: a new one needs its tokeniser here, and its word
/// in the study's schema.
studies::TrainTask text_task(const studies::Study& study, const TextFile& file) {
  training::TextOptions options = study.task.text;
  options.seed = studies::task_seed(study);
  studies::TrainTask out;
  out.content_hash = file.hash;
  if (study.task.level == "bytes") {
    out.task = training::make_byte_text_task(file.text, options);
    out.decode = &decode_bytes;
    return out;
  }
  throw Error(ErrorKind::kBadStudy,
              fmt::format("task.level = \"{}\": must be \"bytes\"", study.task.level));
}

/// The files of the last task, kept for the next run of a grid.
struct KeptFiles {
  TextFile text;
  std::vector<std::string> image_paths;
  std::shared_ptr<const tasks::ImageSet> images;
};

std::shared_ptr<const tasks::ImageSet> read_images(const std::vector<std::string>& paths,
                                                   KeptFiles& kept) {
  if (kept.images == nullptr || kept.image_paths != paths) {
    kept.images = std::make_shared<tasks::ImageSet>(read_omniglot(paths, tasks::kOneShotSide));
    kept.image_paths = paths;
  }
  return kept.images;
}

training::OneShotExamples one_shot_examples(const studies::Study& study, KeptFiles& kept) {
  const studies::OmniglotOptions& task = study.task.omniglot;
  tasks::OneShotImagesOptions options = task.images;
  options.seed = studies::task_seed(study);
  training::OneShotExamples out;
  out.images =
      std::make_shared<tasks::OneShotImagesGenerator>(read_images(task.files, kept), options);
  for (const studies::OutOfDistributionSet& set : task.out_of_distribution) {
    auto images = std::make_shared<tasks::ImageSet>(
        read_idx(set.images, set.labels, {tasks::kOneShotSide, set.invert}));
    out.out_of_distribution.push_back(
        {set.name,
         std::make_shared<tasks::OneShotImagesGenerator>(
             tasks::OneShotImagesGenerator::out_of_distribution(std::move(images), options))});
  }
  return out;
}

/// Of the images, and of everything else that the examples depend on.
std::string content_hash(const training::OneShotExamples& examples) {
  Sha256 hash;
  hash.update(examples.images->content_hash());
  for (const training::OutOfDistributionImages& other : examples.out_of_distribution) {
    hash.update(other.name + " " + other.examples->content_hash());
  }
  return hash.hex_digest();
}

studies::TrainTask one_shot_task(const studies::Study& study, KeptFiles& kept) {
  training::OneShotExamples examples = one_shot_examples(study, kept);
  studies::TrainTask out;
  out.content_hash = content_hash(examples);
  out.task = training::make_one_shot_task(std::move(examples));
  return out;
}

}  // namespace

training::OneShotExamples read_one_shot_examples(const studies::Study& study) {
  KeptFiles none;
  return one_shot_examples(study, none);
}

studies::TaskMaker training_task_maker() {
  auto kept = std::make_shared<KeptFiles>();
  return [kept](const studies::Study& study) {
    if (study.task.kind == "omniglot") return one_shot_task(study, *kept);
    if (study.task.kind != "text") return studies::make_generated_task(study);
    if (kept->text.file_path != study.task.file) {
      std::string text = read_utf8_file(study.task.file);
      std::string hash = sha256_hex(text);
      kept->text = {study.task.file, std::move(text), std::move(hash)};
    }
    return text_task(study, kept->text);
  };
}

}  // namespace headway::io
