#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headway/core/option_table.hpp"
#include "headway/error.hpp"
#include "headway/training/task_adapters.hpp"
#include "training/trainer/example_order.hpp"
#include "training/trainer/held_sets.hpp"

namespace headway::training {
namespace {

using detail::ExampleOrder;
using detail::HeldSets;

Index bytes_of(const tasks::ArrayFacts& facts, Index examples) {
  return static_cast<Index>(sizeof(float)) * facts.numbers() * examples;
}

/// Rows that held_bytes hold, in whole blocks.
Index window_of(const tasks::ArrayFacts& facts, Index held_bytes) {
  constexpr Index kLeastBlocks = 16;
  const Index blocks = held_bytes / bytes_of(facts, ExampleOrder::kBlock);
  return ExampleOrder::kBlock * std::max(kLeastBlocks, blocks);
}

TaskFormat format_of(const tasks::ArrayFacts& facts) {
  TaskFormat format;
  format.tokens = facts.length;
  format.features = facts.width;
  format.vocabulary = facts.vocabulary;
  format.outputs = facts.outputs;
  format.loss = facts.classes > 0 ? LossKind::kCrossEntropy : LossKind::kSquaredError;
  format.scored = facts.scored;
  format.signs = facts.signs;
  format.weighted = facts.masked;
  return format;
}

/// Adds example `row` of a block, with its numbers of a kind, to those of a batch.
template <class T>
void add_row(const std::vector<T>& block, Index row, Index rows, std::vector<T>* out) {
  const auto size = static_cast<Index>(block.size()) / rows;
  out->insert(out->end(), block.begin() + row * size, block.begin() + (row + 1) * size);
}

class ArrayTask final : public TrainingTask {
 public:
  ArrayTask(const CheckedArrays& checked, const ArrayOptions& options)
      : arrays_(checked.arrays), facts_(checked.facts), format_(format_of(checked.facts)) {
    format_.validate();
    const Index window = window_of(facts_, options.held_bytes);
    const detail::Walk walk =
        options.order == ArrayOrder::kFile ? detail::Walk::kInOrder : detail::Walk::kShuffled;
    for (std::size_t i = 0; i < arrays_->sets.size(); ++i) {
      const tasks::ArraySet& set = arrays_->sets[i];
      if (set.name == kSeenSplit) {
        throw Error(ErrorKind::kBadData,
                    fmt::format("{}: {}: is the name of train's own examples where they are "
                                "evaluated; allowed: another name of this set",
                                arrays_->name, set.name));
      }
      splits_.push_back(set.name);
      sets_.push_back(i);
      orders_.emplace_back(walk, set.size(), window, options.seed);
    }
    if (std::find(splits_.begin(), splits_.end(), tasks::kValidationSet) == splits_.end()) {
      splits_.insert(splits_.begin() + 1, kSeenSplit);
      sets_.insert(sets_.begin() + 1, 0);
    }
    // Sets that are not held as a whole: train goes through windows of blocks. The others are read
    // example by example, as only some of them are.
    const auto of_window = [&](Index block, Index rows) {
      return std::make_shared<HeldSets>(arrays_, facts_, block, bytes_of(facts_, rows));
    };
    const bool whole = checked.held != nullptr;
    train_ = whole ? checked.held : of_window(ExampleOrder::kBlock, window);
    others_ = whole ? checked.held : of_window(1, 1);
  }
  const TaskFormat& format() const override { return format_; }
  const std::vector<std::string>& splits() const override { return splits_; }
  Index size(std::string_view split) const override {
    const std::size_t place = place_of(split);
    return place == 0 ? 0 : arrays_->sets[sets_[place]].size();
  }
  Index train_examples() const override { return arrays_->sets.front().size(); }
  std::string_view selection_split() const override {
    return splits_[1] == kSeenSplit ? kSeenSplit : tasks::kValidationSet;
  }
  std::vector<FactorValues> factors(std::string_view split, Index first,
                                    Index count) const override {
    const std::size_t set = sets_[place_of(split)];
    std::vector<FactorValues> out;
    for (const tasks::Factor& factor : arrays_->sets[set].factors) {
      FactorValues& one = out.emplace_back(FactorValues{factor.name, {}});
      std::vector<double> all(static_cast<std::size_t>(arrays_->sets[set].size()));
      factor.values.numbers->read(0, arrays_->sets[set].size(), all.data());
      for (Index i = first; i < first + count; ++i) {
        one.values.push_back(static_cast<int>(all[static_cast<std::size_t>(orders_[set].row(i))]));
      }
    }
    return out;
  }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    const std::size_t place = place_of(split);
    const std::size_t set = sets_[place];
    const Index size = arrays_->sets[set].size();
    if (first < 0 || count < 0 || (place > 0 && first + count > size)) {
      throw Error(ErrorKind::kBadStudy, fmt::format("examples {} to {} of split \"{}\": it has {}",
                                                    first, first + count, split, size));
    }
    clear(&out);
    out.examples = count;
    const HeldSets& held = place == 0 ? *train_ : *others_;
    for (Index i = first; i < first + count; ++i) {
      const Index row = orders_[set].row(i);
      const auto block = held.block(set, row / held.block_rows());
      const Index at = row % held.block_rows(), rows = block->examples;
      add_row(block->inputs, at, rows, &out.inputs);
      add_row(block->ids, at, rows, &out.ids);
      add_row(block->targets, at, rows, &out.targets);
      add_row(block->classes, at, rows, &out.classes);
      add_row(block->weights, at, rows, &out.weights);
    }
    add_variances(&out);
    // Set only now: 0 and 1 say what counts.
    for (float& weight : out.weights) weight /= static_cast<float>(facts_.counted_share);
  }

 private:
  std::size_t place_of(std::string_view split) const {
    require_split(*this, split);
    return static_cast<std::size_t>(std::find(splits_.begin(), splits_.end(), split) -
                                    splits_.begin());
  }
  static void clear(TaskBatch* out) {
    out->inputs.clear();
    out->ids.clear();
    out->targets.clear();
    out->classes.clear();
    out->weights.clear();
    out->target_variances.clear();
  }
  /// Of the targets that count in an example, mean over outputs: real ones of several tokens.
  void add_variances(TaskBatch* out) const {
    if (facts_.classes > 0 || facts_.scored < 2 || facts_.signs) return;
    const Index size = facts_.scored * facts_.outputs;
    for (Index b = 0; b < out->examples; ++b) {
      double sum = 0.0;
      for (Index o = 0; o < facts_.outputs; ++o) {
        sum += variance(*out, b * facts_.scored, b * size + o);
      }
      out->target_variances.push_back(
          static_cast<float>(sum / static_cast<double>(facts_.outputs)));
    }
  }
  /// Population variance of one output over the tokens of an example, whose first is `token` among
  /// all and has its target at `at`.
  double variance(const TaskBatch& batch, Index token, Index at) const {
    double count = 0.0, mean = 0.0, squares = 0.0;
    for (const bool second : {false, true}) {
      for (Index t = 0; t < facts_.scored; ++t) {
        if (!batch.weights.empty() && batch.weights[static_cast<std::size_t>(token + t)] == 0.0F) {
          continue;
        }
        const double y = batch.targets[static_cast<std::size_t>(at + t * facts_.outputs)];
        if (second) {
          squares += (y - mean) * (y - mean);
        } else {
          count += 1.0;
          mean += y;
        }
      }
      if (count == 0.0) return 0.0;
      if (!second) mean /= count;
    }
    return squares / count;
  }

  std::shared_ptr<const tasks::ExampleArrays> arrays_;
  tasks::ArrayFacts facts_;
  TaskFormat format_;
  std::vector<std::string> splits_;
  std::vector<std::size_t> sets_;     // of each split
  std::vector<ExampleOrder> orders_;  // of each set
  std::shared_ptr<const HeldSets> train_, others_;
};

}  // namespace

Words<ArrayOrder> words_of(ArrayOrder) {
  static constexpr Word<ArrayOrder> kWords[] = {{"shuffled", ArrayOrder::kShuffled},
                                                {"file", ArrayOrder::kFile}};
  return kWords;
}

const OptionTable<ArrayOptions>& ArrayOptions::table() {
  using A = ArrayOptions;
  constexpr std::int64_t kMostIds = 1 << 24;
  using C = tasks::ArrayCounts;
  static const OptionTable<C> counts = {{
      option("vocabulary", &C::vocabulary, integer<Index>(0, kMostIds),
             "number of token ids; 0: one more than the largest of train"),
      option("classes", &C::classes, integer<Index>(0, kMostIds),
             "number of classes of integer targets; 0: one more than the largest of train"),
  }};
  static const OptionTable<A> own = {{
      option("order", &A::order, choice<ArrayOrder>(),
             "how training goes through the examples: every epoch in a random order of its own, "
             "which task.seed draws, or as they lie in the file"),
  }};
  static const OptionTable<A> table =
      joined<A>({options_of_part<A>(
                     [](auto& options) -> auto& { return options.counts; }, counts),
                 own});
  return table;
}

CheckedArrays checked_arrays(std::shared_ptr<const tasks::ExampleArrays> arrays,
                             const ArrayOptions& options) {
  CheckedArrays out{std::move(arrays), {}, nullptr};
  out.facts = tasks::check_arrays(*out.arrays, options.counts);
  Index examples = 0;
  for (const tasks::ArraySet& set : out.arrays->sets) examples += set.size();
  const Index bytes = bytes_of(out.facts, examples);
  if (bytes <= options.held_bytes) {
    const Index blocks_of_sets = static_cast<Index>(out.arrays->sets.size());
    const Index room = bytes + bytes_of(out.facts, blocks_of_sets * ExampleOrder::kBlock);
    out.held = std::make_shared<HeldSets>(out.arrays, out.facts, ExampleOrder::kBlock, room);
  }
  return out;
}

std::unique_ptr<TrainingTask> make_array_task(const CheckedArrays& arrays,
                                              const ArrayOptions& options) {
  return std::make_unique<ArrayTask>(arrays, options);
}

}  // namespace headway::training
