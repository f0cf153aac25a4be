#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/path_features.hpp"
#include "verbs/theory/problem.hpp"

namespace headway {
namespace {

/// run(first, count, at) for the entries [begin, begin + count) of a part: `count` of them from
/// `first` in the whole, `at` counted from `begin`.
void for_each_run(const BlockCyclic& part, Index begin, Index count,
                  const std::function<void(Index first, Index count, Index at)>& run) {
  for (Index at = begin; at < begin + count;) {
    const Index here = std::min(part.block - at % part.block, begin + count - at);
    run(part.global(at), here, at - begin);
    at += here;
  }
}

/// Some of the examples of another source.
class PartOfExamples final : public ExampleSource {
 public:
  PartOfExamples(const ExampleSource& whole, const ExamplesRead& some)
      : whole_(whole), some_(some), heads_(whole.supplied_heads()) {}
  [[nodiscard]] Index size() const override { return some_.count; }
  [[nodiscard]] Index tokens() const override { return whole_.tokens(); }
  [[nodiscard]] Index features() const override { return whole_.features(); }
  [[nodiscard]] bool has_mask() const override { return whole_.has_mask(); }
  [[nodiscard]] bool thread_safe() const override { return whole_.thread_safe(); }
  [[nodiscard]] std::vector<int> supplied_heads() const override { return heads_; }
  void read_inputs(Index begin, Index count, double* out) const override {
    for_each_run(some_.part, some_.begin + begin, count, [&](Index first, Index here, Index at) {
      whole_.read_inputs(first, here, out + at * tokens() * features());
    });
  }
  void read_mask(Index begin, Index count, std::uint8_t* out) const override {
    for_each_run(some_.part, some_.begin + begin, count, [&](Index first, Index here, Index at) {
      whole_.read_mask(first, here, out + at * tokens());
    });
  }
  void read_attention(int layer, Index begin, Index count, double* out) const override {
    for_each_run(some_.part, some_.begin + begin, count, [&](Index first, Index here, Index at) {
      const int heads = heads_[static_cast<std::size_t>(layer - 1)];
      whole_.read_attention(layer, first, here, out + at * heads * tokens() * tokens());
    });
  }

 private:
  const ExampleSource& whole_;
  ExamplesRead some_;
  std::vector<int> heads_;  // of each layer
};

/// Error{kBadData} for numbers whose products would overflow: that would show as a singular kernel.
template <class Numbers>
void require_moderate(const Numbers& numbers, const std::string& dataset, const char* what) {
  constexpr double kLargest = 1e60;  // a kernel has products of two features, the energy of four
  for (Index i = 0; i < numbers.rows(); ++i) {
    for (Index j = 0; j < numbers.cols(); ++j) {
      if (std::abs(numbers(i, j)) <= kLargest) continue;
      throw Error(ErrorKind::kBadData,
                  fmt::format("{}: {} of example {} is {:.3g}; allowed: up to {:g} in size, since "
                              "products of larger ones overflow",
                              dataset, what, i, numbers(i, j), kLargest));
    }
  }
}

}  // namespace

ExamplesRead all_of(const tasks::Split& split) {
  const Index all = split.size();
  return {BlockCyclic{all, std::max<Index>(all, 1), 1, 0}, 0, all};
}

RowMatrixXd read_features(const tasks::Split& split, const Study& study,
                          const tasks::Dataset& dataset, const ExamplesRead& some, int threads,
                          Observer& observer) {
  const Index columns = model::path_count(dataset.heads) * dataset.features;
  if (split.examples == nullptr) {
    RowMatrixXd features(some.count, columns);
    for_each_run(some.part, some.begin, some.count, [&](Index first, Index count, Index at) {
      if (split.feature_source) {
        split.feature_source->read(first, count, features.data() + at * columns);
      } else {
        features.middleRows(at, count) = split.path_features.middleRows(first, count);
      }
    });
    return features;
  }
  model::PathFeatureOptions options;
  options.readout = readout_of(study, dataset);
  options.attention = study.model.attention;
  options.threads = threads;
  const bool supplied =
      dataset.form == AttentionForm::kSupplied;  // the layers then hold names alone
  return model::path_features(PartOfExamples(*split.examples, some), dataset.heads,
                              supplied ? std::vector<LayerHeads>{} : dataset.layers, options,
                              observer);
}

TheoryProblem outline_problem(const tasks::Dataset& dataset) {
  TheoryProblem problem;
  problem.heads = dataset.heads;
  problem.outputs = dataset.outputs();
  problem.train_labels = dataset.train.labels;
  Evaluation& evaluation = problem.evaluation;
  evaluation.test_labels = dataset.test ? dataset.test->labels : MatrixXd(0, dataset.outputs());
  for (const tasks::NamedSplit& set : dataset.sets) {
    evaluation.set_names.push_back(set.name);
    evaluation.set_labels.push_back(set.split.labels);
  }
  return problem;
}

MatrixXd scaled_features(const tasks::Split& split, const Study& study,
                         const tasks::Dataset& dataset, Observer& observer,
                         const std::optional<BlockCyclic>& part) {
  const model::Architecture architecture =
      architecture_of(study, dataset, study.model.widths.front());
  const ExamplesRead some = part ? ExamplesRead{*part, 0, part->count()} : all_of(split);
  RowMatrixXd features =
      read_features(split, study, dataset, some, resolve_threads(study.threads), observer);
  require_moderate(features, dataset.name, "a path feature");
  require_moderate(split.labels, dataset.name, "a label");
  return theory::PathKernels::scale_features(features, architecture.paths(),
                                             architecture.variance(0));
}

TheoryProblem make_evaluation(const Study& study, const tasks::Dataset& dataset,
                              Observer& observer) {
  TheoryProblem problem = outline_problem(dataset);
  if (dataset.test && dataset.sets.empty()) {
    problem.evaluation_features =
        scaled_features(*dataset.test, study, dataset, observer);  // without a copy
    return problem;
  }
  problem.evaluation_features.resize(dataset.evaluated_examples(),
                                     model::path_count(dataset.heads) * dataset.features);
  Index row = 0;
  const auto append = [&](const tasks::Split& split) {
    problem.evaluation_features.middleRows(row, split.size()) =
        scaled_features(split, study, dataset, observer);
    row += split.size();
  };
  if (dataset.test) append(*dataset.test);
  for (const tasks::NamedSplit& set : dataset.sets) append(set.split);
  return problem;
}

}  // namespace headway
