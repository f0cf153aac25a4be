#include "headway/io/training_tasks.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"
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

}  // namespace

studies::TaskMaker training_task_maker() {
  auto last = std::make_shared<TextFile>();
  return [last](const studies::Study& study) {
    if (study.task.kind != "text") return studies::make_generated_task(study);
    if (last->file_path != study.task.file) {
      std::string text = read_utf8_file(study.task.file);
      std::string hash = sha256_hex(text);
      *last = {study.task.file, std::move(text), std::move(hash)};
    }
    return text_task(study, *last);
  };
}

}  // namespace headway::io
