#include "headway/study/train_run.hpp"

namespace headway {

std::vector<std::string> setting_words(const std::vector<Setting>& settings) {
  std::vector<std::string> words;
  for (const Setting& setting : settings) words.insert(words.end(), {setting.key, setting.value});
  return words;
}

std::vector<Setting> settings_of(const std::vector<std::string>& words) {
  std::vector<Setting> settings;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2)
    settings.push_back({words[i], words[i + 1]});
  return settings;
}

}  // namespace headway
