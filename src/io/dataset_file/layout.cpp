#include "io/dataset_file/layout.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "headway/core/error.hpp"
#include "headway/io/dataset_file.hpp"
#include "headway/tasks/dataset.hpp"
#include "io/dataset_file/arrays.hpp"
#include "io/dataset_file/names.hpp"

namespace headway::io {
namespace {

constexpr double kSchemaMajor = 1;
constexpr std::string_view kSets = "sets/";
constexpr double kMaxPaths = std::numeric_limits<int>::max();

/// Fills a DatasetLayout; each check_* function looks at one part of the file.
class LayoutChecker : private ArrayChecker {
 public:
  LayoutChecker(const Hdf5InputFile& file, FaultList& faults) : ArrayChecker(file, faults) {}
  DatasetLayout run();

 private:
  using Wanted = WantedArray;

  template <typename Check>
  void guarded(const std::string& what, Check check);
  void check_schema();
  void check_note();
  bool find_form();
  void check_head_matrices();
  std::vector<std::string> check_layers(const std::string& group, const Wanted& wanted,
                                        std::vector<Index>& second_extent);
  std::vector<std::string> layer_members(const std::string& group);
  void set_heads(const std::string& group, const std::vector<Index>& heads);
  void check_sets();
  void check_split(SplitLayout& split);
  void check_examples(SplitLayout& split);
  void check_supplied(SplitLayout& split);
  void check_path_features(SplitLayout& split);
  void check_path_heads(const std::string& dataset, Index paths);
  void check_readout();
  void check_names();
  void check_text(const std::string& path);
  void check_same_features(const std::string& path, Index features);

  DatasetLayout layout_;
};

/// Runs one part of the checks; damage found by HDF5 on the way is a fault like any other.
template <typename Check>
void LayoutChecker::guarded(const std::string& what, Check check) {
  try {
    check();
  } catch (const Error& e) {
    faults_.add_error(what, e.what());
  }
}

DatasetLayout LayoutChecker::run() {
  guarded("/", [&] { check_schema(); });
  guarded("/", [&] { check_note(); });
  guarded("/", [&] { check_member_names(file_, faults_); });
  layout_.train.name = "train";
  bool known_form = false;
  guarded("/", [&] { known_form = find_form(); });
  if (known_form) guarded("attention", [&] { check_head_matrices(); });
  guarded("train", [&] { check_split(layout_.train); });
  guarded("test", [&] {
    if (file_.kind("test") == NodeKind::kAbsent) return;
    layout_.test.emplace();
    layout_.test->name = "test";
    check_split(*layout_.test);
  });
  guarded("sets", [&] { check_sets(); });
  guarded("network", [&] { check_network(file_, faults_, layout_); });
  guarded("/", [&] { check_readout(); });
  guarded("names", [&] { check_names(); });
  return layout_;
}

void LayoutChecker::check_schema() {
  const auto name = file_.text_attribute("/", "schema_name");
  if (!name) {
    faults_.add("/", ": root attribute schema_name is missing; allowed: \"headway-dataset\"");
  } else if (*name != "headway-dataset") {
    faults_.add("/", fmt::format(": root attribute schema_name = \"{}\"; allowed: "
                                 "\"headway-dataset\"",
                                 printable(*name)));
  }
  const auto version = file_.number_attribute("/", "schema_version");
  if (!version || version->empty() || version->size() > 2) {
    faults_.add("/", fmt::format(": root attribute schema_version {}; allowed: [1, 0]",
                                 version ? "has the wrong length" : "is missing"));
  } else if (version->front() > kSchemaMajor) {
    faults_.add("/",
                fmt::format(": root attribute schema_version = [{}]: a newer major version; this "
                            "Headway reads 1.x",
                            fmt::join(*version, ", ")));
  } else if (version->front() != kSchemaMajor) {
    faults_.add("/", fmt::format(": root attribute schema_version = [{}]; allowed: [1, 0]",
                                 fmt::join(*version, ", ")));
  }
}

void LayoutChecker::check_note() {
  layout_.note = file_.text_attribute("/", "note").value_or("");
  const std::string fault = text_fault(layout_.note, true);
  if (!fault.empty()) faults_.add("/", fmt::format(": root attribute note {}", fault));
}

bool LayoutChecker::find_form() {
  const auto has = [&](const char* path) { return file_.kind(path) != NodeKind::kAbsent; };
  std::vector<std::string> found;
  const auto note_form = [&](bool present, AttentionForm form, const char* name) {
    if (!present) return;
    layout_.form = form;
    found.emplace_back(name);
  };
  note_form(has("attention/weights"), AttentionForm::kWeights, "attention/weights");
  note_form(has("attention/query") || has("attention/key"), AttentionForm::kQueryKey,
            "attention/query and attention/key");
  const std::vector<std::string> groups = split_groups(file_);
  const auto in_a_split = [&](const char* name) {
    return std::any_of(groups.begin(), groups.end(), [&](const std::string& group) {
      return file_.kind(fmt::format("{}/{}", group, name)) != NodeKind::kAbsent;
    });
  };
  note_form(in_a_split("attention"), AttentionForm::kSupplied, "train/attention");
  note_form(in_a_split("path_features"), AttentionForm::kPathFeatures, "train/path_features");
  if (found.size() == 1) return true;
  faults_.add("/",
              fmt::format(": {}; allowed: exactly one of attention/weights, attention/query with "
                          "attention/key, train/attention, train/path_features",
                          found.empty() ? "no attention is given"
                                        : fmt::format("{} are given", fmt::join(found, ", "))));
  layout_.form = AttentionForm::kWeights;
  return false;
}

void LayoutChecker::check_head_matrices() {
  std::vector<Index> heads, key_heads;
  if (layout_.form == AttentionForm::kWeights) {
    layout_.weights =
        check_layers("attention/weights", {{-1, -1, -1}, "[H, N_0, N_0]", true}, heads);
    set_heads("attention/weights", heads);
  }
  if (layout_.form != AttentionForm::kQueryKey) return;
  const Wanted wanted{{-1, -1, -1}, "[H, G, N_0]", true};
  layout_.query = check_layers("attention/query", wanted, heads);
  layout_.key = check_layers("attention/key", wanted, key_heads);
  set_heads("attention/query", heads);
  if (layout_.query.size() != layout_.key.size()) {
    faults_.add("attention/key", fmt::format(": {} layers; allowed: {} as in attention/query",
                                             layout_.key.size(), layout_.query.size()));
    return;
  }
  for (std::size_t l = 0; l < layout_.key.size(); ++l) {
    if (layout_.query[l].empty() || layout_.key[l].empty()) continue;
    const std::vector<Index> query = file_.info(layout_.query[l]).shape;
    shape_fits(layout_.key[l], file_.info(layout_.key[l]),
               {query, fmt::format("as {}", layout_.query[l])});
  }
}

std::vector<std::string> LayoutChecker::layer_members(const std::string& group) {
  if (file_.kind(group) != NodeKind::kGroup) {
    faults_.add(group, ": is missing or no group; allowed: a group with layer_1, layer_2, ...");
    return {};
  }
  const std::vector<std::string> members = file_.members(group);
  std::vector<std::string> layers;
  for (std::size_t l = 1; l <= members.size(); ++l) {
    const std::string name = fmt::format("layer_{}", l);
    if (std::find(members.begin(), members.end(), name) == members.end()) break;
    layers.push_back(fmt::format("{}/{}", group, name));
  }
  for (const std::string& name : members) {
    const std::string path = fmt::format("{}/{}", group, name);
    if (std::find(layers.begin(), layers.end(), path) != layers.end()) continue;
    faults_.add(
        fmt::format("{}/{}", group, printable(name)),
        fmt::format(": unexpected; allowed: layer_1, layer_2, ... without a gap (layer_{} is "
                    "missing)",
                    layers.size() + 1));
  }
  if (members.empty()) faults_.add(group, ": is empty; allowed: layer_1, layer_2, ...");
  return layers;
}

/// The sound data sets of a group of layers ("" for a faulty one) and their numbers of heads (0 for
/// a faulty one).
std::vector<std::string> LayoutChecker::check_layers(const std::string& group, const Wanted& wanted,
                                                     std::vector<Index>& heads) {
  std::vector<std::string> layers = layer_members(group);
  for (std::string& path : layers) {
    const std::optional<ArrayInfo> info = wanted_array(path, wanted);
    heads.push_back(0);
    if (!info) {
      path.clear();
      continue;
    }
    heads.back() = info->shape[0];
    check_same_features(path, info->shape[2]);
    if (layout_.form == AttentionForm::kWeights && info->shape[1] != info->shape[2]) {
      faults_.add(path, fmt::format(": shape {}; allowed: {}, square matrices",
                                    shape_text(info->shape), wanted.axes));
      path.clear();
    }
  }
  return layers;
}

void LayoutChecker::set_heads(const std::string& group, const std::vector<Index>& heads) {
  double paths = 1.0;
  for (const Index h : heads) paths *= static_cast<double>(std::max<Index>(h, 1));
  if (paths > kMaxPaths) {
    faults_.add(group, fmt::format(": heads [{}] make {} paths; allowed: at most {}",
                                   fmt::join(heads, ", "), paths, kMaxPaths));
    return;
  }
  layout_.heads.assign(heads.begin(), heads.end());
}

void LayoutChecker::check_same_features(const std::string& path, Index features) {
  if (layout_.features == 0) layout_.features = features;
  if (layout_.features == features) return;
  faults_.add(path, fmt::format(": N_0 = {} (last index); allowed: {} as in the other data sets",
                                features, layout_.features));
}

void LayoutChecker::check_sets() {
  const NodeKind kind = file_.kind("sets");
  if (kind == NodeKind::kAbsent) return;
  if (kind != NodeKind::kGroup) {
    faults_.add("sets", ": is no group; allowed: a group with one group for each further set");
    return;
  }
  for (const std::string& name : file_.members("sets")) {
    const std::string fault = tasks::set_name_fault(name);
    if (!fault.empty()) {
      faults_.add("sets/" + printable(name), fmt::format(": is {}", fault));
      continue;
    }
    SplitLayout set;
    set.name = "sets/" + name;
    guarded(set.name, [&] { check_split(set); });
    layout_.sets.push_back(std::move(set));
  }
}

void LayoutChecker::check_split(SplitLayout& split) {
  const std::string& name = split.name;
  if (file_.kind(name) != NodeKind::kGroup) {
    faults_.add(name,
                ": is missing or no group; allowed: a group with labels and inputs or "
                "path_features");
    return;
  }
  const std::string labels = name + "/labels";
  if (const auto info = wanted_array(labels, {{-1, -1}, "[P] or [P, C]", true})) {
    split.labels = labels;
    split.examples = info->shape[0];
    split.outputs = info->shape.size() == 2 ? info->shape[1] : 1;
    const Index train_outputs = layout_.train.outputs;
    if (train_outputs != 0 && split.outputs != train_outputs) {
      faults_.add(labels, fmt::format(": {} outputs; allowed: {} as in train/labels", split.outputs,
                                      train_outputs));
    }
  }
  if (layout_.form == AttentionForm::kPathFeatures) {
    check_path_features(split);
  } else {
    check_examples(split);
  }
  const std::string ids = name + "/ids";
  const Index examples = split.examples == 0 ? -1 : split.examples;
  if (wanted_array(ids, {{examples}, "[P]", true, true}, false)) {
    split.ids = ids;
    check_text(ids);
  }
}

void LayoutChecker::check_examples(SplitLayout& split) {
  const Index examples = split.examples == 0 ? -1 : split.examples;
  const std::string inputs = split.name + "/inputs";
  if (const auto info = wanted_array(inputs, {{examples, -1, -1}, "[P, S, N_0]"})) {
    split.inputs = inputs;
    split.examples = info->shape[0];
    split.tokens = info->shape[1];
    check_same_features(inputs, info->shape[2]);
    if (layout_.train.tokens != 0 && split.tokens != layout_.train.tokens) {
      faults_.add(inputs, fmt::format(": S = {} tokens; allowed: {} as in train/inputs (pad the "
                                      "shorter ones and give masks)",
                                      split.tokens, layout_.train.tokens));
    }
  }
  const std::string mask = split.name + "/mask";
  const Index tokens = split.tokens == 0 ? -1 : split.tokens;
  const Index rows = split.examples == 0 ? -1 : split.examples;
  if (wanted_array(mask, {{rows, tokens}, "[P, S]", true}, false)) split.mask = mask;
  if (layout_.form == AttentionForm::kSupplied) check_supplied(split);
}

void LayoutChecker::check_supplied(SplitLayout& split) {
  const std::string group = split.name + "/attention";
  const Index examples = split.examples == 0 ? -1 : split.examples;
  const Index tokens = split.tokens == 0 ? -1 : split.tokens;
  split.attention = layer_members(group);
  std::vector<Index> heads;
  for (std::string& path : split.attention) {
    const auto info = wanted_array(path, {{examples, -1, tokens, tokens}, "[P, H, S, S]"});
    heads.push_back(info ? info->shape[1] : 0);
    if (!info) path.clear();
  }
  if (split.name == "train" || layout_.heads.empty()) {
    set_heads(group, heads);
    return;
  }
  const std::vector<Index> train(layout_.heads.begin(), layout_.heads.end());
  const bool unknown = std::find(train.begin(), train.end(), 0) != train.end() ||
                       std::find(heads.begin(), heads.end(), 0) != heads.end();
  if (heads != train && !unknown) {
    faults_.add(group, fmt::format(": heads [{}]; allowed: [{}] as in train/attention",
                                   fmt::join(heads, ", "), fmt::join(train, ", ")));
  }
}

void LayoutChecker::check_path_features(SplitLayout& split) {
  const std::string path = split.name + "/path_features";
  const Index examples = split.examples == 0 ? -1 : split.examples;
  const auto info = wanted_array(path, {{examples, -1, -1}, "[P, p, N_0]", true});
  if (file_.kind(split.name + "/inputs") != NodeKind::kAbsent) {
    faults_.add(split.name + "/inputs", ": not allowed beside path_features");
  }
  if (!info) return;
  split.path_features = path;
  split.examples = info->shape[0];
  check_same_features(path, info->shape[2]);
  guarded(path, [&] { check_path_heads(path, info->shape[1]); });
}

void LayoutChecker::check_path_heads(const std::string& dataset, Index paths) {
  auto values = file_.number_attribute(dataset, "heads");
  if (!values) values = file_.number_attribute("/", "heads");
  if (!values || values->empty()) {
    faults_.add(dataset, fmt::format(": attribute heads is missing; allowed: [H_1, ..., H_L] with "
                                     "product p = {}",
                                     paths));
    return;
  }
  double product = 1.0;
  bool whole = true;
  for (const double h : *values) {
    whole = whole && h >= 1.0 && h == std::floor(h) && h <= kMaxPaths;
    product *= h;
  }
  if (!whole || product != static_cast<double>(paths)) {
    faults_.add(dataset, fmt::format(": attribute heads = [{}]; allowed: positive integers with "
                                     "product p = {} (the second extent)",
                                     fmt::join(*values, ", "), paths));
    return;
  }
  const std::vector<int> heads(values->begin(), values->end());
  if (layout_.heads.empty()) layout_.heads = heads;
  if (heads == layout_.heads) return;
  faults_.add(dataset,
              fmt::format(": attribute heads = [{}]; allowed: [{}] as in train/path_features",
                          fmt::join(heads, ", "), fmt::join(layout_.heads, ", ")));
}

void LayoutChecker::check_readout() {
  const auto name = file_.text_attribute("/", "readout");
  if (!name && !layout_.network) return;
  if (name == "last_token") layout_.readout = Readout::kLastToken;
  if (name == "first_token") layout_.readout = Readout::kFirstToken;
  if (name == "mean") layout_.readout = Readout::kMean;
  if (layout_.readout) return;
  faults_.add("/", fmt::format(": root attribute readout {}; allowed: \"last_token\", "
                               "\"first_token\", \"mean\"",
                               name ? fmt::format("= \"{}\"", printable(*name))
                                    : "is missing beside network"));
}

void LayoutChecker::check_names() {
  layout_.names.assign(layout_.heads.size(), "");
  if (file_.kind("names") == NodeKind::kAbsent) return;
  for (const std::string& member : file_.members("names")) {
    if (member.rfind("layer_", 0) != 0) continue;
    const std::string path = "names/" + member;
    std::size_t layer = 0;
    while (layer < layout_.heads.size() && member != fmt::format("layer_{}", layer + 1)) ++layer;
    if (layer == layout_.heads.size()) {
      if (layout_.heads.empty()) continue;
      faults_.add(
          "names/" + printable(member),
          fmt::format(": no such layer; allowed: layer_1 to layer_{}", layout_.heads.size()));
      continue;
    }
    const Index heads = layout_.heads[layer] == 0 ? -1 : layout_.heads[layer];
    if (!wanted_array(path, {{heads}, "[H], one name a head", true, true})) continue;
    layout_.names[layer] = path;
    check_text(path);
  }
}

void LayoutChecker::check_text(const std::string& path) {
  const std::vector<std::string> texts = file_.read_strings(path);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string fault = text_fault(texts[i], false);
    if (!fault.empty()) faults_.add(path, fmt::format("[{}] {}", i, fault));
  }
}

}  // namespace

std::string set_name(const SplitLayout& set) { return set.name.substr(kSets.size()); }

std::vector<std::string> split_groups(const Hdf5InputFile& file) {
  std::vector<std::string> groups = {"train", "test"};
  if (file.kind("sets") != NodeKind::kGroup) return groups;
  for (const std::string& name : file.members("sets")) {
    if (tasks::set_name_fault(name).empty()) groups.push_back("sets/" + name);
  }
  return groups;
}

DatasetLayout check_layout(const Hdf5InputFile& file, FaultList& faults) {
  return LayoutChecker(file, faults).run();
}

}  // namespace headway::io
