#include "headway/tasks/example_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/text.hpp"
#include "tasks/example_shapes.hpp"

namespace headway::tasks {
namespace {

constexpr Index kBlockNumbers = Index{2} << 20;
constexpr Index kMostIds = Index{1} << 24;
/// Networks compute in single precision, where the squares of norms overflow at 1e19.
constexpr double kLargestReal = 1e15;
constexpr double kMostFactorValues = 1000;

Index row_of(const std::vector<Index>& shape) {
  Index row = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) row *= shape[d];
  return row;
}

/// "7", "0.5", "nan"
std::string value_text(double value) {
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  return whole ? fmt::format("{:.0f}", value) : number_text(value);
}

/// "[3, 7]": where number `at` of a row-major array is.
std::string place_text(const std::vector<Index>& shape, Index at) {
  std::vector<Index> place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; at /= shape[d]) place[d] = at % shape[d];
  return shape_text(place);
}

/// The pass over all numbers.
class Scan {
 public:
  Scan(const ExampleArrays& arrays, const ArrayCounts& counts, ArrayFacts facts)
      : arrays_(arrays), counts_(counts), facts_(std::move(facts)) {
    column_counts_.assign(static_cast<std::size_t>(facts_.length), 0);
  }

  ArrayFacts run() {
    for (const ArraySet& set : arrays_.sets) scan(set);
    if (facts_.every_token) find_scored();
    facts_.signs = signs_ && least_ < most_;
    warn();
    return std::move(facts_);
  }

 private:
  using Values = std::vector<double>;

  [[noreturn]] void refuse(const ExampleArray& array, Index at, double value,
                           const std::string& allowed) const {
    bad_data("{}: {}{}: {}; allowed: {}", arrays_.name, array.place, place_text(array.shape(), at),
             value_text(value), allowed);
  }

  [[nodiscard]] bool is_train(const ArraySet& set) const { return &set == &arrays_.sets.front(); }

  void scan(const ArraySet& set) {
    const Index size = set.size();
    const bool integers = set.targets.integers;
    Index ids = most(counts_.vocabulary, facts_.vocabulary, set);
    Index classes = integers ? most(counts_.classes, facts_.classes, set) : 0;
    counted_ = 0;
    const Index row =
        std::max({row_of(set.inputs().shape()), row_of(set.targets.shape()), Index{1}});
    const Index block = std::max<Index>(1, kBlockNumbers / row);
    for (Index begin = 0; begin < size; begin += block) {
      const Index count = std::min(block, size - begin);
      scan_inputs(set, begin, count, ids);
      const Values mask = mask_of(set, begin, count);
      scan_targets(set, begin, count, classes, mask);
    }
    for (const Factor& factor : set.factors) scan_factor(factor.values);
    if (counted_ == 0) {
      bad_data("{}: {}: hides every target of {}; allowed: at least one 1", arrays_.name,
               set.loss_mask.place, set.name);
    }
    if (is_train(set)) {
      if (set.tokens.given())
        facts_.vocabulary = counts_.vocabulary > 0
                                ? counts_.vocabulary
                                : std::max(largest_id_ + 1, counts_.least_vocabulary);
      if (integers)
        facts_.outputs = facts_.classes = counts_.classes > 0
                                              ? counts_.classes
                                              : std::max(largest_class_ + 1, counts_.least_classes);
      train_counted_ = counted_;
    }
    all_counted_ += counted_;
    all_examples_ += size;
  }

  /// Ids below this are allowed: what the study says, else what train has; in train itself any.
  [[nodiscard]] Index most(Index said, Index of_train, const ArraySet& set) const {
    return said > 0 ? said : is_train(set) ? kMostIds : of_train;
  }

  void scan_inputs(const ArraySet& set, Index begin, Index count, Index ids) {
    const ExampleArray& array = set.inputs();
    const Index row = row_of(array.shape());
    values_.resize(static_cast<std::size_t>(count * row));
    array.numbers->read(begin, count, values_.data());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const double x = values_[i];
      const bool fits = set.tokens.given() ? x >= 0.0 && x < static_cast<double>(ids)
                                           : std::abs(x) <= kLargestReal;
      if (!fits) refuse(array, begin * row + static_cast<Index>(i), x, allowed_input(set, ids));
      if (set.tokens.given()) largest_id_ = std::max(largest_id_, static_cast<Index>(x));
    }
  }

  void scan_factor(const ExampleArray& array) {
    values_.resize(static_cast<std::size_t>(array.shape().front()));
    array.numbers->read(0, array.shape().front(), values_.data());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] >= 0.0 && values_[i] < kMostFactorValues) continue;
      refuse(array, static_cast<Index>(i), values_[i],
             fmt::format("integers from 0 to {}", kMostFactorValues - 1));
    }
  }

  [[nodiscard]] std::string allowed_input(const ArraySet& set, Index ids) const {
    if (!set.tokens.given()) return fmt::format("finite numbers up to {:g} in size", kLargestReal);
    return fmt::format("ids from 0 to {}{}", ids - 1,
                       known_by("vocabulary", counts_.vocabulary, set));
  }

  [[nodiscard]] std::string known_by(const char* key, Index said, const ArraySet& set) const {
    if (said > 0) return fmt::format(", as task.{} = {}", key, said);
    return is_train(set) ? "" : fmt::format(", those of train; task.{} allows more", key);
  }

  /// 1 where a target counts, [count, length]; empty: all do.
  Values mask_of(const ArraySet& set, Index begin, Index count) {
    const ExampleArray& array = set.loss_mask;
    if (!array.given()) {
      for (Index& column : column_counts_) column += count;
      return {};
    }
    Values mask(static_cast<std::size_t>(count * facts_.length));
    array.numbers->read(begin, count, mask.data());
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (mask[i] != 0.0 && mask[i] != 1.0) {
        refuse(array, begin * facts_.length + static_cast<Index>(i), mask[i],
               "0, or 1 where the target counts");
      }
      if (mask[i] == 1.0) ++column_counts_[i % column_counts_.size()];
    }
    return mask;
  }

  void scan_targets(const ArraySet& set, Index begin, Index count, Index classes,
                    const Values& mask) {
    const ExampleArray& array = set.targets;
    const Index row = row_of(array.shape());
    const Index of_token = array.integers ? 1 : facts_.outputs;
    values_.resize(static_cast<std::size_t>(count * row));
    array.numbers->read(begin, count, values_.data());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::size_t token = i / static_cast<std::size_t>(of_token);
      if (!mask.empty() && mask[token] == 0.0) continue;  // may be anything
      const double y = values_[i];
      const bool fits = array.integers ? y >= 0.0 && y < static_cast<double>(classes)
                                       : std::abs(y) <= kLargestReal;
      if (!fits) {
        refuse(array, begin * row + static_cast<Index>(i), y,
               array.integers ? fmt::format("classes from 0 to {}{}", classes - 1,
                                            known_by("classes", counts_.classes, set))
                              : fmt::format("finite numbers up to {:g} in size", kLargestReal));
      }
      note(set, y);
    }
  }

  /// A target that counts.
  void note(const ArraySet& set, double y) {
    ++counted_;
    signs_ = signs_ && !set.targets.integers && (y == 1.0 || y == -1.0);
    if (!is_train(set)) return;
    least_ = std::min(least_, y);
    most_ = std::max(most_, y);
    if (set.targets.integers) {
      largest_class_ = std::max(largest_class_, static_cast<Index>(y));
    } else if (whole_numbers_.size() <= kMostWhole) {
      whole_ = whole_ && y == std::floor(y);
      if (whole_) whole_numbers_.insert(y);
    }
  }

  void find_scored() {
    Index first = 0;
    while (column_counts_[static_cast<std::size_t>(first)] == 0) ++first;
    facts_.scored = facts_.length - first;
    const Index of_token = facts_.classes > 0 ? 1 : facts_.outputs;
    const Index targets = facts_.scored * of_token;
    facts_.masked = all_counted_ < all_examples_ * targets;
    if (facts_.masked) {
      facts_.counted_share = static_cast<double>(train_counted_) /
                             static_cast<double>(arrays_.sets.front().size() * targets);
    }
  }

  void warn() {
    const std::string& place = arrays_.sets.front().targets.place;
    if (least_ == most_) {
      facts_.warnings.push_back(fmt::format("{}: {}: are all {}: there is nothing to tell apart",
                                            arrays_.name, place, value_text(least_)));
    } else if (facts_.classes == 0 && facts_.outputs == 1 && !facts_.signs && whole_ &&
               whole_numbers_.size() <= kMostWhole) {
      facts_.warnings.push_back(
          fmt::format("{}: {}: are whole numbers from {} to {}, taken as real targets; for classes "
                      "give integers from 0",
                      arrays_.name, place, value_text(least_), value_text(most_)));
    }
  }

  static constexpr std::size_t kMostWhole = 100;

  const ExampleArrays& arrays_;
  ArrayCounts counts_;
  ArrayFacts facts_;
  Values values_;
  Index largest_id_ = 0, largest_class_ = 0;
  Index counted_ = 0, train_counted_ = 0, all_counted_ = 0, all_examples_ = 0;
  std::vector<Index> column_counts_;
  double least_ = std::numeric_limits<double>::infinity(), most_ = -least_;
  bool signs_ = true, whole_ = true;
  std::set<double> whole_numbers_;
};

void refuse_idle(const char* key, Index said, const std::string& why) {
  if (said == 0) return;
  throw OptionError(fmt::format("task.{} = {}: must be absent: {}", key, said, why),
                    {fmt::format("task.{}", key)});
}

}  // namespace

ArrayFacts check_arrays(const ExampleArrays& arrays, const ArrayCounts& counts) {
  ArrayFacts sizes = check_shapes(arrays);
  if (sizes.width > 0) refuse_idle("vocabulary", counts.vocabulary, "the examples are vectors");
  if (sizes.outputs > 0) refuse_idle("classes", counts.classes, "the targets are real numbers");
  return Scan(arrays, counts, std::move(sizes)).run();
}

}  // namespace headway::tasks
