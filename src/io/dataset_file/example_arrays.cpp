#include "headway/tasks/example_arrays.hpp"

#include <algorithm>
#include <array>

#include "core/fail.hpp"
#include "headway/core/nearest_word.hpp"
#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/training_tasks.hpp"
#include "io/dataset_file/layout.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/describe.hpp"
#include "io/hdf5/file_seal.hpp"
#include "io/hdf5/isolated.hpp"
#include "io/hdf5/shared_array.hpp"

namespace headway::io {
namespace {

using File = std::shared_ptr<const Hdf5InputFile>;

constexpr std::array<std::string_view, 5> kArrays = {"tokens", "vectors", "targets", "loss_mask",
                                                     "factors"};
constexpr const char* kAllowed =
    "a group with tokens or vectors, targets and, if wanted, loss_mask and factors";

void check_schema_of_examples(const Hdf5InputFile& file) {
  if (!file.has_text_attribute("/", "schema_name")) return;
  const std::string schema = file.text_attribute("/", "schema_name").value_or("");
  if (schema == kExamplesSchema) return;
  bad_data("root attribute schema_name = {}; allowed: \"{}\" or none. {}",
           quoted_text(shown(schema)), kExamplesSchema,
           schema == "headway-dataset" ? "A data set of the theory has other arrays"
                                       : "This is no file of examples");
}

void check_names(const Hdf5InputFile& file, const std::string& group) {
  for (const std::string& name : file.members(group)) {
    if (std::find(kArrays.begin(), kArrays.end(), name) != kArrays.end()) continue;
    const std::string guess =
        nearest_word(name, std::vector<std::string>(kArrays.begin(), kArrays.end()));
    bad_data("{}/{}: is no array of examples; allowed: {}{}", group, shown(name),
             join(kArrays, ", "),
             guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess));
  }
}

tasks::ExampleArray array_at(const File& file, const std::string& path) {
  tasks::ExampleArray out;
  out.place = path;
  const NodeKind kind = file->kind(path);
  if (kind == NodeKind::kAbsent) return out;
  if (kind != NodeKind::kDataset) {
    bad_data("{}: {}; allowed: a data set in this file", path, absence(kind, "a data set"));
  }
  const auto array = std::make_shared<SharedArray>(file, path);
  const ElementKind type = array->info().kind;
  out.integers = type == ElementKind::kInteger || type == ElementKind::kBoolean;
  out.numbers = array;
  return out;
}

/// Of the group factors: an array for each.
std::vector<tasks::Factor> factors_at(const File& file, const std::string& group) {
  const NodeKind kind = file->kind(group);
  if (kind == NodeKind::kAbsent) return {};
  if (kind != NodeKind::kGroup) {
    bad_data("{}: {}; allowed: a group with one array of integers [n] for each factor", group,
             absence(kind, "a group"));
  }
  std::vector<tasks::Factor> out;
  for (const std::string& name : file->members(group)) {
    out.push_back({shown(name), array_at(file, group + "/" + name)});
  }
  return out;
}

tasks::ArraySet set_at(const File& file, const std::string& group, const std::string& name) {
  const NodeKind kind = file->kind(group);
  if (kind != NodeKind::kGroup) {
    bad_data("{}: {}; allowed: {}", group, absence(kind, "a group"), kAllowed);
  }
  check_names(*file, group);
  return {name,
          array_at(file, group + "/tokens"),
          array_at(file, group + "/vectors"),
          array_at(file, group + "/targets"),
          array_at(file, group + "/loss_mask"),
          factors_at(file, group + "/factors")};
}

/// Under an Hdf5Lock.
std::vector<tasks::ArraySet> sets_of(const File& file) {
  check_schema_of_examples(*file);
  std::vector<tasks::ArraySet> sets = {set_at(file, "train", "train")};
  if (file->kind("test") != NodeKind::kAbsent) sets.push_back(set_at(file, "test", "test"));
  const NodeKind further = file->kind("sets");
  if (further != NodeKind::kAbsent && further != NodeKind::kGroup) {
    bad_data("sets: {}; allowed: a group with one group for each further set",
             absence(further, "a group"));
  }
  for (const std::string& name : file->members("sets")) {
    const std::string fault = tasks::set_name_fault(name);
    if (!fault.empty()) bad_data("sets/{}: {}", shown(name), fault);
    sets.push_back(set_at(file, "sets/" + name, name));
  }
  return sets;
}

template <class Work>
auto naming_file(const std::string& file_path, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& e) {
    if (std::string_view(e.what()).starts_with(file_path)) throw;
    fail(e.kind(), "{}: {}", file_path, e.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorKind::kUnavailable, "{}: not enough memory for it", file_path);
  }
}

/// In another process: reads all, so that whatever HDF5 does to a damaged file happens there.
std::vector<std::string> read_through(const std::string& file_path) {
  return naming_file(file_path, [&]() -> std::vector<std::string> {
    const std::string damage = broken_seal(file_path);
    if (!damage.empty()) bad_data("{}", damage);
    const auto file = std::make_shared<const Hdf5InputFile>(file_path);
    for (const tasks::ArraySet& set : sets_of(file)) {
      std::vector<const tasks::ExampleArray*> arrays = {&set.tokens, &set.vectors, &set.targets,
                                                        &set.loss_mask};
      for (const tasks::Factor& factor : set.factors) arrays.push_back(&factor.values);
      for (const tasks::ExampleArray* array : arrays) {
        const bool rows = array->given() && !array->shape().empty();
        if (rows) for_each_block(*file, array->place, [](const auto&...) {});
      }
    }
    return {};
  });
}

/// Token ids [n, length] as numbers [n, length, 1].
class OneNumberAToken final : public tasks::ArraySource {
 public:
  explicit OneNumberAToken(std::shared_ptr<const tasks::ArraySource> ids)
      : ids_(std::move(ids)), shape_(ids_->shape()) {
    shape_.push_back(1);
  }
  const std::vector<Index>& shape() const override { return shape_; }
  void read(Index begin, Index count, double* out) const override { ids_->read(begin, count, out); }

 private:
  std::shared_ptr<const tasks::ArraySource> ids_;
  std::vector<Index> shape_;
};

tasks::Split inputs_of(const tasks::ArraySet& set, const std::string& file_path) {
  if (set.tokens.given() == set.vectors.given()) {
    bad_data("{}: {}: has {}; allowed: one of them", file_path, set.name,
             set.tokens.given() ? "both tokens and vectors" : "neither tokens nor vectors");
  }
  const std::vector<Index>& shape = set.inputs().shape();
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (shape.size() != (set.tokens.given() ? 2U : 3U) || empty) {
    bad_data("{}: {}: has shape [{}]; allowed: {}, none zero", file_path, set.inputs().place,
             join(shape, ", "),
             set.tokens.given() ? "integers [n, length]" : "numbers [n, length, width]");
  }
  std::shared_ptr<const tasks::ArraySource> numbers = set.inputs().numbers;
  if (set.tokens.given()) numbers = std::make_shared<OneNumberAToken>(numbers);
  tasks::Split out;
  out.examples = std::make_shared<tasks::SourcedExamples>(
      numbers, std::vector<std::uint8_t>{}, std::vector<tasks::SourcedExamples::Source>{});
  out.labels.resize(set.size(), 0);
  return out;
}

}  // namespace

tasks::Dataset read_new_examples(const std::string& file_path) {
  const std::shared_ptr<const tasks::ExampleArrays> arrays = read_example_arrays(file_path);
  tasks::Dataset out;
  out.name = file_path;
  out.content_hash = arrays->content_hash;
  for (const tasks::ArraySet& set : arrays->sets) {
    tasks::Split split = inputs_of(set, file_path);
    if (set.name == "train") {
      out.train = std::move(split);
    } else if (set.name == "test") {
      out.test = std::move(split);
    } else {
      out.sets.push_back({set.name, std::move(split)});
    }
  }
  return out;
}

bool is_examples_file(const std::string& file_path) {
  const std::string schema = schema_name(file_path);
  if (!schema.empty() || !is_hdf5(file_path)) return schema == kExamplesSchema;
  try {  // one that another program wrote
    static_cast<void>(first_reading(file_path));
    const Hdf5Lock lock;
    const Hdf5InputFile file(file_path);
    return file.kind("train/tokens") == NodeKind::kDataset ||
           file.kind("train/vectors") == NodeKind::kDataset;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kInterrupted) throw;
    return false;
  }
}

std::vector<std::string> validate_examples(const std::string& file_path,
                                           std::vector<std::string>* warnings) {
  try {
    const std::shared_ptr<const tasks::ExampleArrays> arrays = read_example_arrays(file_path);
    const bool new_examples = std::ranges::none_of(
        arrays->sets, [](const tasks::ArraySet& set) { return set.targets.given(); });
    if (new_examples) {
      for (const tasks::ArraySet& set : arrays->sets) inputs_of(set, file_path);
    } else {
      *warnings = tasks::check_arrays(*arrays, {}).warnings;
    }
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::kBadData) throw;
    return {e.what()};
  }
  return {};
}

std::string describe_examples(const Hdf5InputFile& file) {
  std::vector<std::string> sets = {"train"};
  if (file.kind("test") == NodeKind::kGroup) sets.emplace_back("test");
  for (const std::string& name : file.members("sets")) sets.push_back(shown(name));
  const std::string path = shell_command({file.file_path()});
  if (file.kind("train/targets") == NodeKind::kAbsent) {
    return fmt::format(
        "  sets       {}\n\nTo check all of it:  headway validate {}\n"
        "To predict on it:    headway predict RESULT.h5 {}\n",
        join(sets), path, path);
  }
  return fmt::format(
      "  sets       {}\n\nTo check all of it:  headway validate {}\nTo train on it:      headway "
      "train "
      "{} -o RESULT.h5\n",
      join(sets), path, path);
}

std::shared_ptr<const tasks::ExampleArrays> read_example_arrays(const std::string& file_path) {
  check_is_hdf5(file_path);
  run_isolated(file_path, [&] { return read_through(file_path); });
  const Hdf5Lock lock;
  auto out = std::make_shared<tasks::ExampleArrays>();
  out->name = file_path;
  out->sets = naming_file(
      file_path, [&] { return sets_of(std::make_shared<const Hdf5InputFile>(file_path)); });
  out->content_hash = sha256_hex(content_mark(file_path));
  return out;
}

}  // namespace headway::io
