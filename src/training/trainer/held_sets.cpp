#include "training/trainer/held_sets.hpp"

#include <algorithm>

namespace headway::training::detail {
namespace {

std::vector<double> rows_of(const tasks::ExampleArray& array, Index first, Index count) {
  Index row = 1;
  for (std::size_t d = 1; d < array.shape().size(); ++d) row *= array.shape()[d];
  std::vector<double> values(static_cast<std::size_t>(count * row));
  array.numbers->read(first, count, values.data());
  return values;
}

}  // namespace

HeldSets::HeldSets(std::shared_ptr<const tasks::ExampleArrays> arrays, tasks::ArrayFacts facts,
                   Index block, Index most_bytes)
    : arrays_(std::move(arrays)), facts_(std::move(facts)), block_(block) {
  const Index bytes = static_cast<Index>(sizeof(float)) * facts_.numbers() * block;
  most_blocks_ = static_cast<std::size_t>(std::max<Index>(1, most_bytes / bytes));
}

std::shared_ptr<const TaskBatch> HeldSets::block(std::size_t set, Index number) const {
  const Key key(set, number);
  {
    const std::lock_guard lock(guard_);
    const auto found = places_.find(key);
    if (found != places_.end()) {
      used_.splice(used_.begin(), used_, found->second);
      return found->second->second;
    }
  }
  std::shared_ptr<const TaskBatch> made = read(set, number);
  const std::lock_guard lock(guard_);
  if (places_.contains(key)) return made;  // another thread was faster
  used_.emplace_front(key, made);
  places_[key] = used_.begin();
  if (used_.size() > most_blocks_) {
    places_.erase(used_.back().first);
    used_.pop_back();
  }
  return made;
}

std::shared_ptr<const TaskBatch> HeldSets::read(std::size_t number_of_set, Index number) const {
  const tasks::ArraySet& set = arrays_->sets[number_of_set];
  const Index first = number * block_;
  const Index count = std::min(block_, set.size() - first);
  auto out = std::make_shared<TaskBatch>();
  out->examples = count;
  read_inputs(set, first, count, out.get());
  read_weights(set, first, count, out.get());
  read_targets(set, first, count, out.get());
  return out;
}

void HeldSets::read_inputs(const tasks::ArraySet& set, Index first, Index count,
                           TaskBatch* out) const {
  const std::vector<double> values = rows_of(set.inputs(), first, count);
  if (set.tokens.given()) {
    std::transform(values.begin(), values.end(), std::back_inserter(out->ids),
                   [](double id) { return static_cast<std::int32_t>(id); });
  } else {
    std::transform(values.begin(), values.end(), std::back_inserter(out->inputs),
                   [](double x) { return static_cast<float>(x); });
  }
}

void HeldSets::read_weights(const tasks::ArraySet& set, Index first, Index count,
                            TaskBatch* out) const {
  if (!facts_.masked) return;
  out->weights.assign(static_cast<std::size_t>(count * facts_.scored), 1.0F);
  if (!set.loss_mask.given()) return;
  const std::vector<double> mask = rows_of(set.loss_mask, first, count);
  for (Index i = 0; i < count; ++i) {
    const auto from = mask.begin() + (i + 1) * facts_.length - facts_.scored;
    std::transform(from, from + facts_.scored, out->weights.begin() + i * facts_.scored,
                   [](double counts) { return static_cast<float>(counts); });
  }
}

void HeldSets::read_targets(const tasks::ArraySet& set, Index first, Index count,
                            TaskBatch* out) const {
  const bool classes = facts_.classes > 0;
  const std::vector<double> values = rows_of(set.targets, first, count);
  const Index numbers = classes ? 1 : facts_.outputs;
  const Index tokens = facts_.every_token ? facts_.length : 1;
  for (Index i = 0; i < count; ++i) {
    for (Index t = tokens - facts_.scored; t < tokens; ++t) {
      const Index place = i * facts_.scored + t - (tokens - facts_.scored);
      const bool counts =
          out->weights.empty() || out->weights[static_cast<std::size_t>(place)] > 0.0F;
      for (Index o = 0; o < numbers; ++o) {
        const double y =
            counts ? values[static_cast<std::size_t>((i * tokens + t) * numbers + o)] : 0.0;
        if (classes) {
          out->classes.push_back(static_cast<std::int32_t>(y));
        } else {
          out->targets.push_back(static_cast<float>(y));
        }
      }
    }
  }
}

}  // namespace headway::training::detail
