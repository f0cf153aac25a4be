#include "study/set_by_hand.hpp"

#include "headway/core/text.hpp"
#include "headway/sweep.hpp"

namespace headway {
namespace {

void set_place(OptionValue& value, const Place& place) {
  value.place = place;
  if (auto* array = value.get<OptionValue::Array>()) {
    for (OptionValue& item : *array) set_place(item, place);
  } else if (auto* table = value.get<OptionValue::Table>()) {
    for (OptionEntry& entry : *table) set_place(entry.value, place);
  }
}

}  // namespace

void set_by_hand(OptionValue& root, const std::vector<std::string>& parts, OptionValue value,
                 const Place& place) {
  OptionValue* at = &root;
  for (const std::string& part : parts) at = &child(*at, part, place);
  set_place(value, place);
  *at = value;
  drop_axes(root, join(parts, "."), value);
}

}  // namespace headway
