#include "headway/jobs/request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/text.hpp"
#include "headway/observer.hpp"
#include "jobs/request_keys.hpp"

namespace headway::jobs {

std::vector<std::string> Request::study_overlays() const {
  std::vector<std::string> all;
  if (calibrate) all.emplace_back("sample.calibrate=1000");  // --set comes later, and wins
  all.insert(all.end(), overlays.begin(), overlays.end());
  if (seed) all.push_back(fmt::format("seed={}", *seed));
  if (threads) all.push_back(fmt::format("threads={}", *threads));
  if (!layers.empty()) all.push_back(fmt::format("extract.layers=[{}]", layers));
  if (!form.empty()) all.push_back(fmt::format("extract.form={}", quoted_text(form)));
  if (!theory.empty()) {
    std::string files;
    for (const std::string& file : split(theory, ',')) {
      files += (files.empty() ? "" : ", ") + quoted_text(file);
    }
    all.push_back(fmt::format("prune.theory=[{}]", files));
  }
  return all;
}

bool is_set(const Request& request, const std::string& key) {
  return std::ranges::any_of(request.overlays, [&key](const std::string& overlay) {
    return io::overlay_key(overlay) == key;
  });
}

void warn_of_unused(const Request& request, const std::vector<std::string>& keys,
                    const std::string& why, Observer& observer) {
  for (const std::string& key : keys) {
    if (is_set(request, key)) observer.warning(fmt::format("{} has no effect: {}", key, why));
  }
}

io::LoadedStudy study_of(const Request& request) {
  if (!request.study_text) return io::read_study(request.input, request.study_overlays());
  io::LoadedStudy loaded;
  loaded.study = io::parse_study(*request.study_text, request.input, request.study_overlays());
  if (request.dataset)
    loaded.study.task.as<DatasetOptions>().file = request.dataset->name;  // a name, not a path
  if (request.examples) loaded.study.task.as<ArraysTaskOptions>().file = request.examples->name;
  return loaded;
}

}  // namespace headway::jobs
