#pragma once

#include <string>
#include <vector>

#include "headway/study.hpp"

namespace headway {

/// What a sweep sets in one run: a key of the study and its value as TOML text.
struct Setting {
  std::string key;
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// One run of a grid: a study without a sweep, and what makes it differ from the others.
struct TrainRun {
  std::vector<Setting> settings;
  Study study;
};

/// Settings as a list of key, value, key, value, ..., and back.
std::vector<std::string> setting_words(const std::vector<Setting>& settings);
std::vector<Setting> settings_of(const std::vector<std::string>& words);

}  // namespace headway
