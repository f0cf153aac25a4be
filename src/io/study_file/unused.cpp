#include "io/study_file/unused.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "io/study_file/fields.hpp"
#include "io/study_file/schema.hpp"
#include "io/study_file/sweep.hpp"
#include "io/study_file/text.hpp"

namespace headway::io::detail {

namespace {

/// `key` of [train] counts where `condition` is `value`.
struct Rule {
  const char* key;
  const char* condition;
  const char* value;
  const char* fallback;  ///< value of `condition` where the study has none
};

constexpr Rule kRules[] = {
    {"experts", "train.feed_forward", "mixture", "gelu"},
    {"active_experts", "train.feed_forward", "mixture", "gelu"},
    {"load_balancing", "train.feed_forward", "mixture", "gelu"},
    {"position_buckets", "train.positions", "relative", "relative"},
    {"sample_tokens", "task.kind", "text", ""},
    {"sample_temperature", "task.kind", "text", ""},
};

std::string path_of(const Rule& rule) { return std::string("train.") + rule.key; }

bool counts(const Value& root, const Rule& rule) {
  const auto fits = [&rule](const Value* value) {
    const std::string* text = value->get<std::string>();
    return text != nullptr && *text == rule.value;
  };
  const Value* base = value_at(root, rule.condition);
  if (base != nullptr ? fits(base) : std::string(rule.fallback) == rule.value) return true;
  const std::vector<const Value*> swept = swept_values(root, rule.condition);
  return std::any_of(swept.begin(), swept.end(), fits);
}

StudyKey key_of(const Rule& rule) {
  const Section section = train_section();
  return *std::find_if(section.keys.begin(), section.keys.end(),
                       [&rule](const StudyKey& k) { return k.name == rule.key; });
}

/// Does the value say what is so without it? That no text is sampled is true of every other task.
bool says_nothing(const Rule& rule, const Value& value) {
  const StudyKey key = key_of(rule);
  studies::Study study;
  const std::string fallback = key.write(study);
  key.read(value, path_of(rule), study);
  return study.train.sample_tokens == 0 || key.write(study) == fallback;
}

[[noreturn]] void refuse_idle(const Rule& rule, const Value& value) {
  refuse(value, path_of(rule),
         fmt::format("absent, or {}, its default: it belongs to {} = \"{}\"",
                     key_of(rule).write(studies::Study()), rule.condition, rule.value));
}

}  // namespace

void drop_keys_made_idle(const Value& before, Value& root) {
  for (const Rule& rule : kRules) {
    const Value* value = value_at(root, path_of(rule));
    const bool by_hand = value != nullptr && value->place.line == 0;
    if (value == nullptr || by_hand || counts(root, rule) || !counts(before, rule)) continue;
    for (Entry& entry : *root.get<Value::Table>()) {
      if (entry.key != "train") continue;
      std::erase_if(*entry.value.get<Value::Table>(),
                    [&rule](const Entry& e) { return e.key == rule.key; });
    }
  }
}

void refuse_idle_keys(const Value& root) {
  for (const Rule& rule : kRules) {
    if (counts(root, rule)) continue;
    for (const Value* value : swept_values(root, path_of(rule))) refuse_idle(rule, *value);
    const Value* value = value_at(root, path_of(rule));
    if (value != nullptr && !says_nothing(rule, *value)) refuse_idle(rule, *value);
  }
}

}  // namespace headway::io::detail
