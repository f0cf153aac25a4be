#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "headway/core/interruption.hpp"
#include "headway/core/parallel.hpp"
#include "headway/dataset.hpp"
#include "headway/extract.hpp"
#include "headway/observer.hpp"
#include "headway/study.hpp"
#include "headway/training/training_task.hpp"
#include "verbs/networks/scored_labels.hpp"

/// Private to `extract`: examples of a trained transformer, split by split.
namespace headway {

/// Which split becomes what.
struct Part {
  std::string split;
  std::string set;  ///< "train", "test", else the name of a further set
  Index examples;
};
std::vector<Part> parts_of(const training::TrainingTask& task, const Study& study);

/// Labels of one split and what the network answers there.
struct Answers {
  RowMatrixXd labels, outputs;
};
ExtractedSplit quality_of(const Part& part, const Answers& answers,
                          const training::TaskFormat& format);

void add_split(const Part& part, tasks::Split split, tasks::Dataset& dataset);
std::vector<tasks::Split*> splits_of(tasks::Dataset& dataset);

/// Reads a transformer example by example.
class PartReader {
 public:
  static constexpr Index kBlock = 64;  ///< examples of a batch

  /// Error{kBadStudy} where study.extract.position is no scored token.
  PartReader(const Study& study, const training::TrainingTask& task, Observer& observer);

  [[nodiscard]] Index token() const { return token_; }

  /// Calls read(example of the split, batch, index in it) in parallel, block by block. What it
  /// returns are the network's outputs.
  template <class Read>
  Answers read(const Part& part, const Read& read_example) const {
    Answers out{RowMatrixXd::Zero(part.examples, format_.outputs),
                RowMatrixXd(part.examples, format_.outputs)};
    training::TaskBatch batch;
    for (Index first = 0; first < part.examples; first += kBlock) {
      const Index count = std::min(kBlock, part.examples - first);
      task_.batch(part.split, first, count, batch);
      parallel_for(count, threads_, [&](Index i) {
        throw_if_interrupted(observer_);
        out.outputs.row(first + i) = read_example(first + i, batch, i).transpose();
        add_label(format_, batch, i, place_, out.labels.row(first + i));
      });
      observer_.progress("extract " + part.split, static_cast<double>(first + count),
                         static_cast<double>(part.examples));
    }
    return out;
  }

 private:
  const training::TrainingTask& task_;
  training::TaskFormat format_;
  int threads_;
  Observer& observer_;
  Index place_ = 0, token_ = 0;
};

}  // namespace headway
