#include "headway/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/labels.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"

namespace headway::tasks {
namespace {

/// Whether an array has P rows of `columns` numbers: [P, p, N_0] or [P, p N_0].
bool has_rows(const std::vector<Index>& shape, Index examples, double columns) {
  return shape.size() > 1 && shape.front() == examples &&
         std::accumulate(shape.begin() + 1, shape.end(), 1.0, std::multiplies<>()) == columns;
}

/// The checks of one data set; `in` is where a split lies: "train", "test", "sets/<name>".
class DatasetChecker {
 public:
  explicit DatasetChecker(const Dataset& dataset) : dataset_(dataset) {}

  void check() const {
    check_heads();
    if (dataset_.gram) {
      check_gram(*dataset_.gram);
    } else {
      check_split("train", dataset_.train);
      if (dataset_.train.size() == 0) fault("train: has no examples; allowed: at least one");
      if (dataset_.outputs() == 0) fault("train/labels: has no columns; allowed: C, at least 1");
    }
    if (dataset_.test) {
      check_split("test", *dataset_.test);
      check_labels("test", dataset_.test->labels);
    }
    check_sets();
  }

 private:
  template <class... Args>
  [[noreturn]] void fault(fmt::format_string<Args...> text, Args&&... args) const {
    bad_data("{}: {}", dataset_.name, fmt::format(text, std::forward<Args>(args)...));
  }

  void check_heads() const {
    const std::vector<int>& heads = dataset_.heads;
    if (heads.empty() || std::any_of(heads.begin(), heads.end(), [](int h) { return h < 1; })) {
      fault("heads = [{}]; allowed: one number H_l >= 1 for each layer", join(heads, ", "));
    }
    const std::size_t layers = dataset_.layers.size();
    const bool nameless = layers == 0 && (dataset_.form == AttentionForm::kSupplied ||
                                          dataset_.form == AttentionForm::kPathFeatures);
    if (layers != heads.size() && !nameless) {
      fault("layers: has {} entries; allowed: {}, one for each layer of heads = [{}]", layers,
            heads.size(), join(heads, ", "));
    }
    if (dataset_.features < 1) fault("features = {}; allowed: N_0 >= 1", dataset_.features);
  }

  /// p N_0, which may be more than an Index holds.
  [[nodiscard]] double columns() const {
    return std::accumulate(dataset_.heads.begin(), dataset_.heads.end(),
                           static_cast<double>(dataset_.features), std::multiplies<>());
  }

  void check_split(const std::string& in, const Split& split) const {
    if (dataset_.form == AttentionForm::kPathFeatures) {
      check_path_features(in, split);
    } else {
      check_examples(in, split);
    }
    if (!split.ids.empty() && static_cast<Index>(split.ids.size()) != split.size()) {
      fault("{}/ids: has {} entries; allowed: none, or {}, one for each example", in,
            split.ids.size(), split.size());
    }
  }

  void check_examples(const std::string& in, const Split& split) const {
    if (split.examples == nullptr) {
      fault("{}/inputs: is missing; allowed: examples, since form is not that of path features",
            in);
    }
    const ExampleSource& examples = *split.examples;
    check_rows(in, split, examples.size());
    if (examples.features() != dataset_.features) {
      fault("{}/inputs: has {} features a token; allowed: N_0 = {}, as features says", in,
            examples.features(), dataset_.features);
    }
    if (examples.tokens() < 1) fault("{}/inputs: has no tokens; allowed: at least one", in);
    const std::vector<int> supplied = examples.supplied_heads();
    if (dataset_.form == AttentionForm::kSupplied && supplied != dataset_.heads) {
      fault("{}/attention: has heads [{}]; allowed: [{}], as heads says", in, join(supplied, ", "),
            join(dataset_.heads, ", "));
    }
  }

  void check_rows(const std::string& in, const Split& split, Index examples) const {
    if (split.labels.rows() == examples) return;
    fault("{}/labels: has {} rows; allowed: {}, one for each example", in, split.labels.rows(),
          examples);
  }

  void check_path_features(const std::string& in, const Split& split) const {
    if (split.examples != nullptr) {
      fault("{}/inputs: is given; allowed: path features alone, since form is theirs", in);
    }
    std::vector<Index> shape = {split.path_features.rows(), split.path_features.cols()};
    if (split.feature_source) shape = split.feature_source->shape();
    check_rows(in, split, shape.empty() ? 0 : shape.front());
    if (has_rows(shape, split.size(), columns())) return;
    fault("{}/path_features: is [{}]; allowed: [P, p N_0] = [{}, {}]", in, join(shape, ", "),
          split.size(), columns());
  }

  /// Outputs, and the numbers of two classes: accuracy and error would be those of other labels.
  void check_labels(const std::string& in, const MatrixXd& labels) const {
    if (labels.cols() != dataset_.outputs()) {
      fault("{}/labels: has {} columns; allowed: C = {}, as in train/labels", in, labels.cols(),
            dataset_.outputs());
    }
    const std::string_view train = names_of_two_classes(dataset_.train.labels);
    const std::string_view here = names_of_two_classes(labels);
    if (train.empty() || here.empty() || train == here) return;
    fault("{}/labels: names two classes by {}; allowed: {}, as in train/labels", in, here, train);
  }

  void check_sets() const {
    std::set<std::string> names;
    for (const NamedSplit& set : dataset_.sets) {
      const std::string in = "sets/" + set.name;
      std::string wrong = set_name_fault(set.name);
      if (wrong.empty() && !names.insert(set.name).second) {
        wrong = "given twice; allowed: each name once";
      }
      if (wrong.empty() && set.split.size() == 0) wrong = "empty; allowed: at least one example";
      if (wrong.empty() && set.split.labels.cols() != dataset_.outputs()) {
        wrong = fmt::format("of {} outputs; allowed: {} as in train", set.split.labels.cols(),
                            dataset_.outputs());
      }
      if (!wrong.empty()) fault("{}: is {}", in, wrong);
      check_split(in, set.split);
      check_labels(in, set.split.labels);
    }
  }

  void check_gram(const GramMatrices& gram) const {
    const Split& train = dataset_.train;
    if (train.examples != nullptr || train.feature_source || train.path_features.rows() > 0 ||
        train.size() > 0) {
      fault("train: has examples beside Gram matrices; allowed: one of both");
    }
    const auto check = [&](const char* name, const MatrixXd& m, double rows, double cols) {
      if (static_cast<double>(m.rows()) == rows && static_cast<double>(m.cols()) == cols) return;
      fault("gram: {} is {} x {}; allowed: {} x {}", name, m.rows(), m.cols(), rows, cols);
    };
    if (gram.examples < 1) fault("gram: examples = {}; allowed: at least 1", gram.examples);
    const auto outputs = static_cast<double>(dataset_.outputs());
    if (outputs == 0) fault("train/labels: has no columns; allowed: C, at least 1");
    check("gram", gram.gram, columns(), columns());
    check("projection", gram.projection, columns(), outputs);
    check("label_square", gram.label_square, outputs, outputs);
  }

  const Dataset& dataset_;
};

}  // namespace

void check_dataset(const Dataset& dataset) { DatasetChecker(dataset).check(); }

std::string set_name_fault(const std::string& name) {
  constexpr std::size_t kLongest = 40;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool allowed = std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (name.empty() || name.size() > kLongest || !letter(name.front()) || !allowed) {
    return fmt::format(
        "not a valid set name; allowed: a letter, then letters, digits, - and _, at most {}",
        kLongest);
  }
  if (name != "train" && name != "test") return {};
  return "taken by a split outside sets; allowed: any other name";
}

Index Dataset::evaluated_examples() const {
  Index count = test ? test->size() : 0;
  for (const NamedSplit& set : sets) count += set.split.size();
  return count;
}

MemoryExamples::MemoryExamples(Tensor inputs, std::vector<std::uint8_t> mask,
                               std::vector<Tensor> attention)
    : inputs_(std::move(inputs)), mask_(std::move(mask)), attention_(std::move(attention)) {
  if (inputs_.shape.size() != 3 || inputs_.values.size() != inputs_.count()) {
    throw Error(ErrorKind::kBadData,
                fmt::format("inputs: is [{}] of {} values: must be [P, S, N_0] with as many values",
                            join(inputs_.shape, ", "), inputs_.values.size()));
  }
  const auto positions = static_cast<std::size_t>(size() * tokens());
  if (!mask_.empty() && mask_.size() != positions) {
    throw Error(ErrorKind::kBadData,
                fmt::format("mask: has {} values: must be empty or [P, S] = [{}, {}]", mask_.size(),
                            size(), tokens()));
  }
  for (std::size_t l = 0; l < attention_.size(); ++l) {
    const Tensor& a = attention_[l];
    if (a.shape.size() != 4 || a.shape[0] != size() || a.shape[2] != tokens() ||
        a.shape[3] != tokens() || a.values.size() != a.count()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("attention of layer {}: is [{}]: must be [P, H, S, S] = [{}, H, {}, "
                              "{}] with as many values",
                              l + 1, join(a.shape, ", "), size(), tokens(), tokens()));
    }
  }
}

std::vector<int> MemoryExamples::supplied_heads() const {
  std::vector<int> heads;
  for (const Tensor& layer : attention_) heads.push_back(static_cast<int>(layer.shape[1]));
  return heads;
}

void MemoryExamples::read_inputs(Index begin, Index count, double* out) const {
  check_range(begin, count);
  const Index stride = tokens() * features();
  std::copy_n(inputs_.values.data() + begin * stride, count * stride, out);
}

void MemoryExamples::read_mask(Index begin, Index count, std::uint8_t* out) const {
  if (mask_.empty()) ExampleSource::read_mask(begin, count, out);  // throws
  check_range(begin, count);
  std::copy_n(mask_.data() + begin * tokens(), count * tokens(), out);
}

void MemoryExamples::read_attention(int layer, Index begin, Index count, double* out) const {
  const auto at = static_cast<std::size_t>(layer - 1);
  if (at >= attention_.size()) ExampleSource::read_attention(layer, begin, count, out);  // throws
  check_range(begin, count);
  const Tensor& a = attention_[at];
  const Index stride = a.shape[1] * a.shape[2] * a.shape[3];
  std::copy_n(a.values.data() + begin * stride, count * stride, out);
}

std::vector<int> SourcedExamples::supplied_heads() const {
  std::vector<int> heads;
  for (const Source& layer : attention_) heads.push_back(static_cast<int>(layer->shape()[1]));
  return heads;
}

void SourcedExamples::read_inputs(Index begin, Index count, double* out) const {
  check_range(begin, count);
  inputs_->read(begin, count, out);
  if (mask_.empty()) return;
  for (Index i = 0; i < count * tokens(); ++i) {
    if (is_real(begin * tokens() + i)) continue;
    std::fill_n(out + i * features(), features(), 0.0);
  }
}

void SourcedExamples::read_mask(Index begin, Index count, std::uint8_t* out) const {
  check_range(begin, count);
  if (mask_.empty()) return ExampleSource::read_mask(begin, count, out);
  std::copy_n(mask_.data() + begin * tokens(), count * tokens(), out);
}

void SourcedExamples::read_attention(int layer, Index begin, Index count, double* out) const {
  if (layer < 1 || static_cast<std::size_t>(layer) > attention_.size()) {
    return ExampleSource::read_attention(layer, begin, count, out);
  }
  check_range(begin, count);
  const ArraySource& array = *attention_[static_cast<std::size_t>(layer - 1)];
  array.read(begin, count, out);
  if (mask_.empty()) return;
  const Index heads = array.shape()[1];
  for (Index r = 0; r < count * heads * tokens(); ++r) {
    if (is_real((begin + r / (heads * tokens())) * tokens() + r % tokens())) continue;
    std::fill_n(out + r * tokens(), tokens(), 0.0);
  }
}

bool SourcedExamples::is_real(Index token) const {
  return mask_[static_cast<std::size_t>(token)] != 0;
}

}  // namespace headway::tasks
