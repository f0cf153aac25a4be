// The hashes by which results of earlier versions are found.
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study_file.hpp"

using headway::study_hash;

namespace {

/// The words of a command line, where only single quotes quote.
std::vector<std::string> words_of_command(const std::string& command) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : command) {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

/// Of all objects in `json` with a hash and the command that made them.
void collect_commands(const nlohmann::json& json, std::map<std::string, std::string>& hashes) {
  if (json.is_object() && json.contains("study_hash") && json.contains("command"))
    hashes[json["command"]] = json["study_hash"];
  if (!json.is_structured()) return;
  for (const auto& item : json) collect_commands(item, hashes);
}

/// What a study had until it took the choices of the authors' code, as its comments say.
std::vector<std::string> earlier_choices(const std::string& study) {
  const bool fuzzy = study == "fuzzy-logic-reference";
  if (!fuzzy && study != "sraven-reference") return {};
  return {"train.embedding_start=dims", "task.reject_uncovered=true", "train.eval_examples=4096",
          fuzzy ? "train.eval_every=1000" : "train.eval_every=5000"};
}

}  // namespace

TEST_CASE("hashes stay what they were, as results and checkpoints are found by them") {
  // Of version 0.1.0, but for the two that took the choices of the authors' code. A new key with a
  // default changes them: then old results count as other ones, which is right where the key
  // changes what they hold.
  const std::vector<std::pair<std::string, std::string>> known = {
      {"hmm-four-paths", "82a46ce5abca7a62a825d6797213dc100353897e0a1327e4c1571df092bfb08d"},
      {"hmm-two-paths-hard", "a30e31614a705e619de9e2e17ceefa41be57ca8044b8631f86a47851dd15199f"},
      {"fuzzy-logic-small", "ad1c0c6d5a4f7559ce175b20831a6f1c3ab12d736191420522d51236789a0d28"},
      {"fuzzy-logic-reference", "f38e4bb88a95c4ce12d1a838c2a5219785017552c677c261cd4e7d80a5d887d8"},
      {"sraven-reference", "ad93915054e3dc23aad020dde8dd7c616dde89f6bb3835cd1d1a969b6be97615"},
      {"omniglot-one-shot", "019589476512ab3e8722d66bc7e6dcc6e6ce5fe881452adb21b93542ec3a8a11"}};
  for (const auto& [name, hash] : known) {
    INFO(name);
    const std::string path = HEADWAY_SOURCE_DIR "/data/studies/" + name + ".toml";
    CHECK(study_hash(headway::io::read_study(path).study) == hash);
  }
}

TEST_CASE("the commands of recorded results have the hashes that were recorded") {
  const std::filesystem::path root = HEADWAY_SOURCE_DIR;
  std::map<std::string, std::string> hashes;
  for (const auto& entry : std::filesystem::directory_iterator(root / "data/results")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    collect_commands(nlohmann::json::parse(file), hashes);
  }
  std::set<std::string> studies;
  for (const auto& [command, hash] : hashes) {
    const std::vector<std::string> words = words_of_command(command);
    if (words.size() < 3) continue;
    const std::string study = std::filesystem::path(words[2]).stem();
    const std::filesystem::path path = root / "data/studies" / (study + ".toml");
    if (!std::filesystem::exists(path)) continue;  // of a data set or a result
    std::vector<std::string> overlays;
    for (std::size_t i = 3; i + 1 < words.size(); ++i) {
      if (words[i] == "--set") overlays.push_back(words[i + 1]);
      if (words[i] == "--seed") overlays.push_back("seed=" + words[i + 1]);
    }
    INFO(command);
    std::vector<std::string> earlier = earlier_choices(study);
    earlier.insert(earlier.end(), overlays.begin(), overlays.end());
    const auto hash_with = [&path](const std::vector<std::string>& with) {
      return study_hash(headway::io::read_study(path, with).study);
    };
    CHECK((hash_with(overlays) == hash || hash_with(earlier) == hash));
    studies.insert(study);
  }
  CHECK(studies.size() >= 12);
}
