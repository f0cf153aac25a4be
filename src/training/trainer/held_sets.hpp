#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "headway/tasks/example_arrays.hpp"
#include "headway/training/training_task.hpp"

namespace headway::training::detail {

/// The examples of arrays, block by block of rows, as a task gives them. The blocks that were used
/// last are held. Thread-safe.
class HeldSets {
 public:
  /// `block`: rows of a block. `most_bytes`: of the blocks that are held, at least one.
  HeldSets(std::shared_ptr<const tasks::ExampleArrays> arrays, tasks::ArrayFacts facts, Index block,
           Index most_bytes);

  [[nodiscard]] Index block_rows() const { return block_; }
  /// Rows number * block_rows(), ... of a set. Weights are 1 or 0; targets that do not count are 0.
  [[nodiscard]] std::shared_ptr<const TaskBatch> block(std::size_t set, Index number) const;

 private:
  using Key = std::pair<std::size_t, Index>;
  using Entry = std::pair<Key, std::shared_ptr<const TaskBatch>>;

  [[nodiscard]] std::shared_ptr<const TaskBatch> read(std::size_t set, Index number) const;
  void read_inputs(const tasks::ArraySet& set, Index first, Index count, TaskBatch* out) const;
  void read_weights(const tasks::ArraySet& set, Index first, Index count, TaskBatch* out) const;
  void read_targets(const tasks::ArraySet& set, Index first, Index count, TaskBatch* out) const;

  std::shared_ptr<const tasks::ExampleArrays> arrays_;
  tasks::ArrayFacts facts_;
  Index block_;
  std::size_t most_blocks_;
  mutable std::mutex guard_;
  mutable std::list<Entry> used_;  // the last one first
  mutable std::map<Key, std::list<Entry>::iterator> places_;
};

}  // namespace headway::training::detail
