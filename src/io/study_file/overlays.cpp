#include <memory>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "headway/io/study_file.hpp"
#include "io/study_file/toml.hpp"
#include "studies/set_by_hand.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kLongestShown = 60;

/// Splits "a.b.c"; parts may be quoted the TOML way. Empty when it is no key.
std::vector<std::string> split_key(const std::string& text) {
  OptionValue parsed;
  try {
    parsed = detail::parse_toml(text + " = 0", "--set");
  } catch (const Error&) {
    return {};
  }
  std::vector<std::string> parts;
  const OptionValue* at = &parsed;
  while (const auto* table = at->get<OptionValue::Table>()) {
    if (table->size() != 1) return {};
    parts.push_back(table->front().key);
    at = &table->front().value;
  }
  return parts;
}

/// The key of an overlay. An axis of a sweep is one key: sweep.train.heads stands beside
/// sweep.train.
std::vector<std::string> overlay_parts(const std::string& overlay) {
  const std::size_t equals = overlay.find('=');
  std::vector<std::string> parts;
  if (equals != std::string::npos) parts = split_key(overlay.substr(0, equals));
  if (parts.size() > 2 && parts.front() == "sweep") {
    parts = {parts.front(), join({parts.begin() + 1, parts.end()}, ".")};
  }
  if (!parts.empty()) return parts;
  fail(ErrorKind::kUsage, "--set {}: must be section.key=value, for example model.temperature=0.1",
       quoted_text(clip(overlay, kLongestShown)));
}

/// The right-hand side of an overlay: a TOML value, else a string.
OptionValue overlay_value(const std::string& text) {
  try {
    OptionValue parsed = detail::parse_toml("value = " + text, "--set");
    auto* table = parsed.get<OptionValue::Table>();
    if (table != nullptr && table->size() == 1) return std::move(table->front().value);
  } catch (const Error&) {  // not TOML: a bare string
  }
  return {text, {}};
}

}  // namespace

std::string overlay_key(const std::string& overlay) { return join(overlay_parts(overlay), "."); }

namespace detail {

std::string apply_overlay(OptionValue& root, const std::string& overlay) {
  const std::vector<std::string> parts = overlay_parts(overlay);
  const Place place{
      std::make_shared<const std::string>("--set " + printable(clip(overlay, kLongestShown))), 0};
  studies::set_by_hand(root, parts, overlay_value(overlay.substr(overlay.find('=') + 1)), place);
  return join(parts, ".");
}

}  // namespace detail
}  // namespace headway::io
