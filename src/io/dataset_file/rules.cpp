#include "io/dataset_file/rules.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/fail.hpp"
#include "headway/study.hpp"

namespace headway::io {
namespace {

// The only kind of JSON in this module, since each kind is thousands of lines to compile.
using json = nlohmann::ordered_json;

constexpr std::string_view kSplitPlace = "<split>";
constexpr std::string_view kLayer = "/layer_<l>";

/// Words of the table, each in the order of its enumeration.
const std::vector<std::string> kValues = {"finite", "mask", "attention", "text"};
const std::vector<std::string> kNeeded = {"always", "in its group", "never", "beside train"};

template <typename Enumeration>
Enumeration parse(const std::string& word, const std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) fail(ErrorKind::kInternal, "dataset_members.json: \"{}\"", word);
  return static_cast<Enumeration>(found - words.begin());
}

DatasetMember member_of(const json& row, const std::vector<std::string>& forms) {
  DatasetMember member;
  member.path = row.at("path");
  member.shapes = row.at("shapes").get<std::vector<std::vector<std::string>>>();
  member.values = parse<DatasetMember::Values>(row.at("values"), kValues);
  member.needed = parse<DatasetMember::Needed>(row.value("needed", "always"), kNeeded);
  member.in_memory = row.value("in_memory", true);
  member.attribute = row.value("attribute", "");
  member.hints = row.value("hints", member.hints);
  member.is_form = row.contains("is_form");
  const std::vector<std::string> named = member.is_form
                                             ? std::vector<std::string>{row.at("is_form")}
                                             : row.value("forms", std::vector<std::string>{});
  for (const std::string& name : named) {
    member.forms.push_back(parse<AttentionForm>(name, forms));
  }
  return member;
}

DatasetRules read_rules() {
  const json table = json::parse(kDatasetMemberTable);
  DatasetRules rules;
  rules.schema_name = table.at("schema_name");
  rules.schema_version = table.at("schema_version").get<std::vector<double>>();
  if (table.at("readouts").get<std::vector<std::string>>() != all_words<Readout>()) {
    fail(ErrorKind::kInternal, "dataset_members.json: readouts");  // Python has them from there
  }
  rules.largest = table.at("largest");
  rules.row_sum_tolerance = table.at("row_sum_tolerance").at("otherwise");
  rules.row_sum_tolerance_float32 = table.at("row_sum_tolerance").at("float32");
  std::vector<std::string> forms;
  for (const json& form : table.at("forms")) {
    forms.push_back(form.at("form"));
    rules.forms.push_back({form.at("name"), form.at("means")});
  }
  for (const json& row : table.at("members")) rules.members.push_back(member_of(row, forms));
  return rules;
}

}  // namespace

bool DatasetMember::has_form(AttentionForm form) const {
  return forms.empty() || std::find(forms.begin(), forms.end(), form) != forms.end();
}

std::string DatasetMember::path_in(const std::string& split) const {
  const std::string whole = in_split() ? split + path.substr(kSplitPlace.size()) : path;
  return layered() ? whole.substr(0, whole.size() - kLayer.size()) : whole;
}

std::string DatasetMember::axes(int layer, int layers) const {
  std::vector<std::string> all;
  for (const std::vector<std::string>& shape : shapes) {
    std::vector<std::string> symbols;
    for (const std::string& symbol : shape) symbols.push_back(symbol_in(symbol, layer, layers));
    all.push_back("[" + join(symbols) + "]");
  }
  return join(all, " or ");
}

std::vector<std::string> DatasetRules::children(const std::string& group) const {
  std::vector<std::string> names;
  for (const DatasetMember& member : members) {
    const std::string prefix = group.empty() ? "" : group + "/";
    if (!member.path.starts_with(prefix)) continue;
    const std::string rest = member.path.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('/'));
    if (name == kSplitPlace) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

const DatasetRules& dataset_rules() {
  static const DatasetRules kRules = read_rules();
  return kRules;
}

std::string symbol_in(const std::string& symbol, int layer, int layers) {
  const std::size_t at = symbol.find('<');
  if (at == std::string::npos) return symbol;
  const bool above = symbol.substr(at) == "<l+1>";
  return symbol.substr(0, at) +
         (above && layer == layers ? "a" : std::to_string(above ? layer + 1 : layer));
}

}  // namespace headway::io
