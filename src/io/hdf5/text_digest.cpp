#include "io/hdf5/text_digest.hpp"

#include <fmt/core.h>

#include "headway/core/sha256.hpp"

namespace headway::io {
namespace {

constexpr int kDigestDepth = 32;

/// Reads an object and all below it; what texts there are go into `texts`.
void read_object(const Hdf5InputFile& file, const std::string& path, int depth,
                 std::map<std::string, std::string>& texts) {
  const NodeKind kind = file.kind(path);
  if (depth > kDigestDepth || (kind != NodeKind::kGroup && kind != NodeKind::kDataset)) return;
  for (const std::string& name : file.attributes(path)) {
    const std::string text = file.attribute_text(path, name);
    if (file.has_text_attribute(path, name)) texts[text_place(path, name)] = text;
  }
  if (kind == NodeKind::kGroup) {
    for (const std::string& name : file.members(path)) {
      read_object(file, path.empty() ? name : path + "/" + name, depth + 1, texts);
    }
    return;
  }
  const ArrayInfo info = file.info(path);
  if (info.kind == ElementKind::kText) texts[path] = joined_texts(file.read_strings(path));
  if (info.is_number() && info.shape.empty()) static_cast<void>(file.read_array(path));
  if (info.is_number() && !info.shape.empty()) for_each_block(file, path, [](const auto&...) {});
}

}  // namespace

std::string text_place(const std::string& object, const std::string& name) {
  return fmt::format("{}@{}", object == "/" ? "" : object, name);
}

std::string joined_texts(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out.append(text.c_str()).push_back('\0');  // as HDF5 has it
  return out;
}

std::string text_digest(const std::map<std::string, std::string>& texts) {
  Sha256 hash;
  for (const auto& [place, text] : texts) {
    hash.update(fmt::format("{}{}{}{}", place, '\0', text, '\0'));
  }
  return hash.hex_digest();
}

std::string read_everything(const Hdf5InputFile& file) {
  std::map<std::string, std::string> texts;
  read_object(file, "", 0, texts);
  texts.erase(text_place("", kTextDigest));
  const auto sealed = file.text_attribute("/", kTextDigest);
  if (!sealed || text_digest(texts) == *sealed) return {};
  return fmt::format(
      "root attribute {}: the texts of the file have changed since it was written: damaged, or "
      "edited by hand",
      kTextDigest);
}

}  // namespace headway::io
