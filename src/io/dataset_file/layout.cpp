#include "io/dataset_file/layout.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <string_view>

#include "headway/core/nearest_word.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset.hpp"
#include "headway/model/path_index.hpp"
#include "headway/study.hpp"

namespace headway::io {
namespace {

using Needed = DatasetMember::Needed;

constexpr std::string_view kSets = "sets/";
constexpr const char* kSplit = "a group with labels and inputs or path_features";
constexpr const char* kNoAttention = "no attention is given";
constexpr const char* kUnlessLearned = ", or none where a study has model.attention_prior";
constexpr const char* kAttentionRows = "attention_rows";
constexpr const char* kAnyRows = "any";
constexpr double kMaxPaths = std::numeric_limits<int>::max();

std::string layer_name(Index layer) { return fmt::format("layer_{}", layer); }

/// Is the name one of layer_1, ..., layer_<layers>?
bool is_layer(const std::string& name, Index layers) {
  for (Index l = 1; l <= layers; ++l) {
    if (name == layer_name(l)) return true;
  }
  return false;
}

/// Such as "Test" and "test", "input" and "inputs".
bool nearly(std::string name, const std::string& known) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name.size() <= known.size() + 2 &&
         edit_distance(name, known) <= (known.size() > 5 ? 2 : 1);
}

/// Fills a DatasetLayout by walking the table; each check_* function looks at one part of the file.
class LayoutChecker {
 public:
  LayoutChecker(const DatasetTree& tree, FaultList& faults)
      : tree_(tree), faults_(faults), arrays_{tree, faults, layout_} {}

  DatasetLayout run() {
    faults_.guard("/", [&] { check_schema(); });
    faults_.guard("/", [&] { check_note(); });
    faults_.guard("/", [&] { find_splits(); });
    faults_.guard("/", [&] { check_member_names(); });
    faults_.guard("/", [&] { find_form(); });
    faults_.guard("/", [&] { check_attention_rows(); });
    for (const std::string& split : layout_.splits) {
      for (const DatasetMember& member : rules_.members) {
        if (member.in_split()) check_member(member, split);
      }
    }
    for (const DatasetMember& member : rules_.members) {
      if (!member.in_split()) check_member(member, "");
    }
    check_paths();
    faults_.guard("network", [&] { check_network(); });
    faults_.guard("/", [&] { check_readout(); });
    return std::move(layout_);
  }

 private:
  /// A fault of a root attribute, which is an argument where there is no file.
  template <class... Args>
  void root_fault(fmt::format_string<Args...> text, Args&&... args) {
    faults_.add("/", "{}{}", tree_.in_memory() ? "" : "root attribute ",
                fmt::format(text, std::forward<Args>(args)...));
  }

  void check_schema() {
    const auto name = tree_.text_attribute("/", "schema_name");
    if (name != rules_.schema_name) {
      root_fault("schema_name {}; allowed: \"{}\"",
                 name ? fmt::format("= \"{}\"", shown(*name)) : "is missing", rules_.schema_name);
    }
    const auto version = tree_.number_attribute("/", "schema_version");
    const std::vector<double>& ours = rules_.schema_version;
    if (!version || version->empty() || version->size() > ours.size()) {
      root_fault("schema_version {}; allowed: [{}]",
                 version ? "has the wrong length" : "is missing", join(ours, ", "));
    } else if (version->front() > ours.front()) {
      root_fault(
          "schema_version = [{}]: a newer major version; this Headway reads "
          "{}.x",
          join(*version, ", "), ours.front());
    } else if (version->front() != ours.front()) {
      root_fault("schema_version = [{}]; allowed: [{}]", join(*version, ", "), join(ours, ", "));
    }
  }

  void check_note() {
    layout_.note = tree_.text_attribute("/", "note").value_or("");
    const std::string fault = text_fault(layout_.note, true);
    if (!fault.empty()) root_fault("note {}", fault);
  }

  void check_attention_rows() {
    const auto rows = tree_.text_attribute("/", kAttentionRows);
    layout_.any_rows = rows == kAnyRows;
    if (rows && !layout_.any_rows) {
      root_fault("{} = \"{}\"; allowed: \"{}\", or none", kAttentionRows, shown(*rows), kAnyRows);
    } else if (rows && layout_.known_form && layout_.form != AttentionForm::kSupplied) {
      root_fault("{} = \"{}\"; allowed with {} only", kAttentionRows, kAnyRows,
                 rules_.forms[static_cast<std::size_t>(AttentionForm::kSupplied)].name);
    }
  }

  void find_splits() {
    const auto take = [&](const std::string& split, bool needed) {
      const NodeKind kind = tree_.kind(split);
      if (kind == NodeKind::kGroup) {
        layout_.splits.push_back(split);
      } else if (kind != NodeKind::kAbsent || needed) {
        faults_.add(split, ": {}; allowed: {}", absence(kind, "a group"), kSplit);
      }
    };
    // A file of further sets alone holds new inputs.
    layout_.new_inputs = tree_.kind("train") == NodeKind::kAbsent &&
                         tree_.kind("test") == NodeKind::kAbsent && !tree_.members("sets").empty();
    take("train", !layout_.new_inputs);
    take("test", false);
    const NodeKind kind = tree_.kind("sets");
    if (kind != NodeKind::kAbsent && kind != NodeKind::kGroup) {
      faults_.add("sets", ": {}; allowed: a group with one group for each further set",
                  absence(kind, "a group"));
    }
    for (const std::string& name : tree_.members("sets")) {
      const std::string fault = tasks::set_name_fault(name);
      if (!fault.empty()) {
        faults_.add("sets/" + shown(name), ": is {}", fault);
      } else {
        take("sets/" + name, true);
      }
    }
  }

  /// A fault for each member of a group that is not part of the schema but whose name is nearly one
  /// that is: such a data set would be ignored in silence. Other extra members are welcome.
  void check_names(const std::string& group, const std::vector<std::string>& known) {
    for (const std::string& name : tree_.members(group)) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const auto meant = std::find_if(known.begin(), known.end(),
                                      [&name](const std::string& k) { return nearly(name, k); });
      if (meant == known.end()) continue;
      const std::string prefix = group == "/" ? "" : group + "/";
      faults_.add(prefix + shown(name), ": unknown name; did you mean {}?",
                  tree_.name_of(prefix + *meant));
    }
  }

  void check_member_names() {
    std::vector<std::string> root = {"train", "test", "sets"};
    for (const std::string& name : rules_.children("")) root.push_back(name);
    check_names("/", root);
    for (const std::string& split : layout_.splits) check_names(split, rules_.children("<split>"));
    for (const char* group : {"attention", "network"}) check_names(group, rules_.children(group));
  }

  void find_form() {
    std::vector<std::string> found, all;
    for (std::size_t f = 0; f < rules_.forms.size(); ++f) {
      const auto form = static_cast<AttentionForm>(f);
      all.push_back(form_name(f));
      if (std::none_of(rules_.members.begin(), rules_.members.end(), [&](const auto& member) {
            return member.is_form && member.has_form(form) && is_there(member);
          })) {
        continue;
      }
      layout_.form = form;
      found.push_back(form_name(f));
    }
    layout_.known_form = found.size() == 1;
    if (layout_.known_form || (found.empty() && layout_.new_inputs && has_inputs())) return;
    faults_.add("/", "{}; allowed: exactly one of {}{}",
                found.empty() ? kNoAttention : join(found) + " are given", join(all),
                found.empty() && may_be_learned() ? kUnlessLearned : "");
  }

  /// "query and key" of their two places in a file.
  [[nodiscard]] std::string form_name(std::size_t form) const {
    constexpr std::string_view kAnd = " and ";
    const std::string& name = rules_.forms[form].name;
    const std::size_t at = name.find(kAnd);
    if (at == std::string::npos) return tree_.name_of(name);
    return fmt::format("{}{}{}", tree_.name_of(name.substr(0, at)), kAnd,
                       tree_.name_of(name.substr(at + kAnd.size())));
  }

  /// Inputs alone: where there is something named attention, its form is what is wrong.
  [[nodiscard]] bool may_be_learned() const {
    return has_inputs() && tree_.kind("attention") == NodeKind::kAbsent;
  }

  /// Whether every split has inputs: their attention may then be learned, or that of a result.
  [[nodiscard]] bool has_inputs() const {
    return std::all_of(layout_.splits.begin(), layout_.splits.end(), [&](const auto& split) {
      return tree_.kind(split + "/inputs") != NodeKind::kAbsent;
    });
  }

  [[nodiscard]] bool is_there(const DatasetMember& member) const {
    if (!member.in_split()) return tree_.kind(member.path_in("")) != NodeKind::kAbsent;
    return std::any_of(layout_.splits.begin(), layout_.splits.end(), [&](const auto& split) {
      return tree_.kind(member.path_in(split)) != NodeKind::kAbsent;
    });
  }

  void check_member(const DatasetMember& member, const std::string& split) {
    const std::string path = member.path_in(split);
    faults_.guard(path, [&] {
      if (layout_.known_form && !member.has_form(layout_.form)) {
        if (tree_.kind(path) != NodeKind::kAbsent) {
          const std::string& name = rules_.forms[static_cast<std::size_t>(layout_.form)].name;
          faults_.add(path, ": not allowed beside {}", name.substr(name.find('/') + 1));
        }
        return;
      }
      if (member.layered()) return check_layers(member, split);
      arrays_.check(member, split, 0, needed(member));
      if (!member.attribute.empty() && layout_.find(path) != nullptr) check_path_heads(path);
    });
  }

  [[nodiscard]] bool needed(const DatasetMember& member) const {
    if (member.needed == Needed::kBesideTrain) return !layout_.new_inputs;
    if (member.needed == Needed::kAlways) return layout_.known_form || member.forms.empty();
    return member.needed == Needed::kInItsGroup &&
           tree_.kind(member.path.substr(0, member.path.find('/'))) == NodeKind::kGroup;
  }

  void check_layers(const DatasetMember& member, const std::string& split) {
    const std::string group = member.path_in(split);
    const NodeKind kind = tree_.kind(group);
    if (kind == NodeKind::kAbsent && !needed(member)) return;
    if (kind != NodeKind::kGroup) {
      faults_.add(group, ": {}; allowed: a group with layer_1, layer_2, ...",
                  absence(kind, "a group"));
      return;
    }
    const std::vector<std::string> members = tree_.members(group);
    if (layout_.extent("L") == 0 && member.is_form) count_layers(group, members);
    const Index layers = layout_.extent("L");
    if (layers == 0) return;
    const bool counted = layout_.extents.at("L").source == group;  // then count_layers said it
    for (const std::string& name : members) {
      const bool welcome = member.needed == Needed::kNever && !name.starts_with("layer_");
      if (counted || welcome || is_layer(name, layers)) continue;
      faults_.add(group + "/" + shown(name), ": no such layer; allowed: layer_1 to layer_{}",
                  layers);
    }
    for (Index l = 1; l <= layers; ++l) {
      arrays_.check(member, split, static_cast<int>(l), needed(member));
    }
  }

  /// The first group of layers says how many there are.
  void count_layers(const std::string& group, const std::vector<std::string>& members) {
    Index layers = 0;
    while (std::binary_search(members.begin(), members.end(), layer_name(layers + 1))) ++layers;
    for (const std::string& name : members) {
      if (is_layer(name, layers)) continue;
      faults_.add(
          group + "/" + shown(name),
          ": unexpected; allowed: layer_1, layer_2, ... without a gap (layer_{} is missing)",
          layers + 1);
    }
    if (members.empty()) faults_.add(group, ": is empty; allowed: layer_1, layer_2, ...");
    if (layers > 0) layout_.extents["L"] = {layers, group};
  }

  /// Path features say in an attribute of how many heads each layer of their paths is.
  void check_path_heads(const std::string& path) {
    const Index paths = layout_.find(path)->shape[1];
    auto heads = tree_.number_attribute(path, "heads");
    if (!heads) heads = tree_.number_attribute("/", "heads");
    if (!heads || heads->empty()) {
      return heads_fault(path, "is missing; allowed: [H_1, ..., H_L] with product p = {}", paths);
    }
    const bool whole = std::all_of(heads->begin(), heads->end(), [](double h) {
      return h >= 1.0 && h == std::floor(h) && h <= kMaxPaths;
    });
    if (!whole || model::path_count<double>(*heads) != static_cast<double>(paths)) {
      return heads_fault(
          path, "= [{}]; allowed: positive integers with product p = {} (the second extent)",
          join(*heads, ", "), paths);
    }
    if (layout_.heads.empty()) {
      layout_.heads.assign(heads->begin(), heads->end());
      layout_.extents["L"] = {static_cast<Index>(heads->size()), path};
      for (std::size_t l = 0; l < heads->size(); ++l) {
        layout_.extents[fmt::format("H_{}", l + 1)] = {layout_.heads[l], path};
      }
    } else if (std::vector<double>(layout_.heads.begin(), layout_.heads.end()) != *heads) {
      heads_fault(path, "= [{}]; allowed: [{}] as in {}", join(*heads, ", "),
                  join(layout_.heads, ", "), tree_.name_of(layout_.extents.at("L").source));
    }
  }

  /// In memory one argument serves all splits: one fault is enough.
  template <class... Args>
  void heads_fault(const std::string& path, fmt::format_string<Args...> text, Args&&... args) {
    const std::string what = fmt::format(text, std::forward<Args>(args)...);
    if (!tree_.in_memory()) {
      faults_.add(path, ": attribute heads {}", what);
    } else if (faults_.count("heads") == 0) {
      faults_.add("heads", " {}", what);
    }
  }

  /// The heads of every layer, and a bound on the paths through them.
  void check_paths() {
    std::vector<Index> heads;
    double paths = 1.0;
    for (Index l = 1; l <= layout_.extent("L"); ++l) {
      heads.push_back(layout_.extent(fmt::format("H_{}", l)));
      paths *= static_cast<double>(std::max<Index>(heads.back(), 1));
    }
    if (paths > kMaxPaths) {
      faults_.add(layout_.extents.at("L").source, ": heads [{}] make {} paths; allowed: at most {}",
                  join(heads, ", "), paths, kMaxPaths);
      return;
    }
    layout_.heads.assign(heads.begin(), heads.end());
  }

  void check_network() {
    const NodeKind kind = tree_.kind("network");
    layout_.network = kind == NodeKind::kGroup;
    if (layout_.network || kind == NodeKind::kAbsent) return;
    faults_.add("network", ": {}; allowed: a group with {}", absence(kind, "a group"),
                join(rules_.children("network")));
  }

  void check_readout() {
    const auto name = tree_.text_attribute("/", "readout");
    if (!name && !layout_.network) return;
    Readout readout{};
    if (name && read_word(*name, readout)) {
      layout_.readout = readout;
      return;
    }
    root_fault("readout {}; allowed: \"{}\"",
               name ? fmt::format("= \"{}\"", shown(*name)) : "is missing beside network",
               join(all_words<Readout>(), "\", \""));
  }

  const DatasetTree& tree_;
  FaultList& faults_;
  const DatasetRules& rules_ = dataset_rules();
  DatasetLayout layout_;
  ArrayChecker arrays_;
};

}  // namespace

const ArrayInfo* DatasetLayout::find(const std::string& path) const {
  const auto found = std::find_if(arrays.begin(), arrays.end(),
                                  [&](const FoundArray& array) { return array.path == path; });
  return found == arrays.end() ? nullptr : &found->info;
}

Index DatasetLayout::extent(const std::string& symbol) const {
  const auto found = extents.find(symbol);
  return found == extents.end() ? 0 : found->second.value;
}

bool is_missing_attention(const std::string& fault) {
  return fault.starts_with(kNoAttention) && fault.ends_with(kUnlessLearned);
}

std::string set_name(const std::string& split) {
  return split.starts_with(kSets) ? split.substr(kSets.size()) : "";
}

std::string extent_key(const std::string& symbol, const std::string& split) {
  return symbol == "P" ? split + ": P" : symbol;
}

DatasetLayout check_layout(const DatasetTree& tree, FaultList& faults) {
  return LayoutChecker(tree, faults).run();
}

DatasetLayout check_layout(const Hdf5InputFile& file, FaultList& faults) {
  return check_layout(FileTree(file), faults);
}

}  // namespace headway::io
