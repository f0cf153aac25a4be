#include "headway/results/trained_network.hpp"

#include <fmt/format.h>

#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"

namespace headway {

void add_weights(const std::vector<training::NamedTensor>& parameters, Sha256& hash) {
  for (const training::NamedTensor& tensor : parameters) {
    hash.update(tensor.name);
    hash.update(tensor.values.data(), tensor.values.size() * sizeof(float));
  }
}

std::string weights_hash(const std::vector<training::NamedTensor>& parameters) {
  Sha256 hash;
  add_weights(parameters, hash);
  return hash.hex_digest();
}

void check_change_of_trained(const std::string& overlay, const std::string& key,
                             const std::vector<std::string>& allowed) {
  std::vector<std::string> words;
  for (const std::string& name : allowed) {
    const bool section = name.ends_with('.');
    if (key == name || (section && key.starts_with(name))) return;
    words.push_back(section ? fmt::format("a key of [{}]", name.substr(0, name.size() - 1)) : name);
  }
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("--set {}: must be {}: the other keys are fixed by the training of the network",
                  overlay, join(words)));
}

void check_extractable(const Study& study) {
  const bool linear_value = study.train.model.network == training::NetworkKind::kLinearValue;
  if (linear_value ? study.task.kind() != TaskKind::kOmniglot
                   : study.task.kind() == TaskKind::kText) {
    throw OptionError(
        fmt::format("task.kind = \"{}\": must be {}", word_of(study.task.kind()),
                    linear_value
                        ? "\"omniglot\" for train.network = \"linear_value\""
                        : "another one: texts have too many classes, and every token is scored"),
        {"task.kind"});
  }
  const ExtractOptions& wanted = study.extract;
  const std::pair<const char*, bool> of_transformers[] = {
      {"extract.layers", !wanted.layers.empty()},
      {"extract.form", wanted.form.has_value()},
      {"extract.parts", wanted.parts.has_value()},
      {"extract.position", wanted.position.has_value()}};
  for (const auto& [key, given] : of_transformers) {
    if (!linear_value || !given) continue;
    throw OptionError(
        fmt::format(
            "{}: must be absent for train.network = \"linear_value\": it is for transformers", key),
        {key, "train.network"});
  }
  if (!linear_value && study.train.model.encoder_layers > 0) {
    throw OptionError(fmt::format("train.encoder_layers = {}: must be 0: the theory has no encoder",
                                  study.train.model.encoder_layers),
                      {"train.encoder_layers"});
  }
}

}  // namespace headway
