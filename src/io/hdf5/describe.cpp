#include "io/hdf5/describe.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "headway/io/gram_file.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "io/dataset_file/layout.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/dimensions.hpp"
#include "io/hdf5/isolated.hpp"

namespace headway::io {
namespace {

constexpr int kDescribedDepth = 12;
constexpr int kMaxLines = 2000;
constexpr std::size_t kMaxAttributeText = 72;

bool is_number(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The tree of a file, one line for each group, data set and attribute, indented; numbered groups
/// (points/0, points/1, ...) are shown once. At most kMaxLines.
class TreeWriter {
 public:
  explicit TreeWriter(const Hdf5InputFile& file) : file_(file) {}

  std::string run() {
    group("/", 0);
    return text_;
  }

 private:
  void line(int depth, const std::string& text) {
    if (++lines_ == kMaxLines) text_ += "  ...\n";
    if (lines_ < kMaxLines) text_ += fmt::format("{:{}}{}\n", "", 2 + 2 * depth, text);
  }

  void attributes(const std::string& object, int depth) {
    for (const std::string& name : file_.attributes(object)) {
      if (name == "DIMENSION_LIST") continue;
      const std::string value = file_.attribute_text(object, name);
      const std::string start = value.substr(0, std::min(value.find('\n'), kMaxAttributeText));
      line(depth, fmt::format("@{} = {}{}", shown(name), printable(start),
                              start.size() < value.size() ? " ..." : ""));
    }
  }

  void dataset(const std::string& path, const std::string& name, int depth) {
    const ArrayInfo info = file_.info(path);
    std::string value;
    if (info.shape.empty() && info.is_number()) {
      value = fmt::format(" = {}", file_.read_array(path).values.at(0));
    }
    line(depth,
         fmt::format("{}  {} {}{}", shown(name), shape_text(info.shape), info.type_name, value));
    attributes(path, depth + 1);
  }

  /// A dimension of the file: it has a name and a size, and nothing to read.
  [[nodiscard]] bool is_scale(const std::string& path) const {
    return file_.has_text_attribute(path, "CLASS") &&
           file_.text_attribute(path, "CLASS") == kScaleClass;
  }

  void member(const std::string& path, const std::string& name, int depth) {
    if (depth == 0 && file_.kind(path) == NodeKind::kDataset && is_scale(path)) return;
    switch (file_.kind(path)) {
      case NodeKind::kDataset:
        return dataset(path, name, depth);
      case NodeKind::kGroup:
        line(depth, shown(name) + "/");
        return group(path, depth + 1);
      case NodeKind::kDanglingLink:
        return line(depth, shown(name) + "  (a link that leads nowhere)");
      case NodeKind::kExternalLink:
        return line(depth, shown(name) + "  (a link to another file)");
      default:
        return line(depth, shown(name) + "  (neither a group nor a data set)");
    }
  }

  void group(const std::string& path, int depth) {
    if (depth > kDescribedDepth) return line(depth, "...");
    attributes(path, depth);
    const std::vector<std::string> names = file_.members(path);
    const bool numbered = names.size() > 1 && std::all_of(names.begin(), names.end(), is_number);
    const std::string prefix = path == "/" ? "" : path + "/";
    for (const std::string& name : names) {
      if (lines_ >= kMaxLines) return;
      member(prefix + name, name, depth);
      if (numbered) break;
    }
    if (numbered) line(depth, fmt::format("... {} in all; the first is shown", names.size()));
  }

  const Hdf5InputFile& file_;
  std::string text_;
  int lines_ = 0;
};

/// A description of one part, or why there is none.
template <typename Describe>
std::string or_reason(Describe describe) {
  try {
    return describe();
  } catch (const Error& e) {
    return fmt::format("  incomplete: {}\n", e.what());
  }
}

/// A schema, what its files are called, and the function that describes them.
struct Kind {
  std::string_view schema;
  const char* name;
  std::string (*describe)(const Hdf5InputFile&);
};
constexpr Kind kKinds[] = {{"headway-result", "Headway result", describe_result},
                           {"headway-dataset", "Headway data set", describe_dataset},
                           {"headway-checkpoint", "Headway checkpoint", describe_checkpoint},
                           {kExamplesSchema, "Headway examples", describe_examples},
                           {kGramSchema, "Headway Gram matrices", describe_gram}};

/// `faults` are those of the first reading; for a data set all of them.
std::string describe(const std::string& file_path, const std::vector<std::string>& faults) {
  const Hdf5InputFile file(file_path);
  const char* name = "HDF5 file";
  const std::string head = or_reason([&]() -> std::string {
    const std::string schema = file.text_attribute("/", "schema_name").value_or("");
    const Kind* kind = std::ranges::find(kKinds, schema, &Kind::schema);
    if (kind == std::end(kKinds)) {
      return "  not a file of Headway (root attribute schema_name is missing or unknown)\n";
    }
    name = kind->name;
    return kind->describe(file);
  });
  std::string told;
  for (const std::string& fault : faults) {
    if (is_missing_attention(fault)) continue;  // the description says it
    told += fmt::format("  fault      {}\n", printable(fault));
  }
  return fmt::format("{}: {}\n{}{}\nContents:\n{}", file_path, name, told, head,
                     or_reason([&] { return TreeWriter(file).run(); }));
}

}  // namespace

std::string describe_hdf5_file(const std::string& file_path) {
  const FirstReading reading = first_reading(file_path);
  if (reading.schema == kResultSchema || reading.schema == kGramSchema) {
    read_hdf5(file_path, reading.schema, [](const Hdf5InputFile&) { return true; });
  }
  return run_isolated(file_path,
                      [&] { return std::vector<std::string>{describe(file_path, reading.faults)}; })
      .at(0);
}

}  // namespace headway::io
