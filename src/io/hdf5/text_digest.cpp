#include "io/hdf5/text_digest.hpp"

#include <fmt/core.h>

#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"

namespace headway::io {
namespace {

void gather(const Hdf5InputFile& file, const std::string& path,
            std::map<std::string, std::string>& texts) {
  for (auto& [name, text] : file.text_attributes(path)) {
    texts[text_place(path, name)] = std::move(text);
  }
  switch (file.kind(path)) {
    case NodeKind::kGroup:
      for (const std::string& name : file.members(path)) {
        gather(file, path.empty() ? name : path + "/" + name, texts);
      }
      return;
    case NodeKind::kDataset:
      if (file.info(path).kind == ElementKind::kText) {
        texts[path] = joined_texts(file.read_strings(path));
      }
      return;
    default:
      return;
  }
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

void check_text_digest(const Hdf5InputFile& file) {
  const auto sealed = file.text_attribute("/", kTextDigest);
  if (!sealed) return;
  std::map<std::string, std::string> texts;
  gather(file, "", texts);
  texts.erase(text_place("", kTextDigest));
  if (text_digest(texts) == *sealed) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("root attribute {}: the texts of the file are not those that were "
                          "written: damaged, or changed by hand",
                          kTextDigest));
}

}  // namespace headway::io
