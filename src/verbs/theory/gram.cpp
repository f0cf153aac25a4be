#include "headway/gram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/clock.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/labels.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/numerics/dense.hpp"
#include "verbs/theory/gram_sums.hpp"
#include "verbs/theory/problem.hpp"

namespace headway {
namespace {

constexpr double kBlockBytes = 16.0 * 1024 * 1024;  // of features that one thread reads at a time
constexpr double kMostSetBytes = 512.0 * 1024 * 1024;

/// Unscaled path features of the examples [begin, begin + count) of a split.
RowMatrixXd read_range(const tasks::Split& split, const Study& study, const tasks::Dataset& dataset,
                       Index begin, Index count) {
  Observer silent;
  return read_features(split, study, dataset, {all_of(split).part, begin, count}, 1, silent);
}

/// The training examples of all data sets, one after another.
class AllExamples {
 public:
  AllExamples(const Study& study, const std::vector<tasks::Dataset>& datasets)
      : study_(study), datasets_(datasets) {
    for (const tasks::Dataset& dataset : datasets) {
      begins_.push_back(total_);
      total_ += dataset.train.size();
    }
    columns_ = model::path_count(datasets.front().heads) * datasets.front().features;
  }
  [[nodiscard]] Index size() const { return total_; }
  [[nodiscard]] Index columns() const { return columns_; }
  [[nodiscard]] Index outputs() const { return datasets_.front().outputs(); }

  /// Adds the sums over [begin, end) to `sum`, block by block. Returns early if `stop` says so.
  template <class Stop>
  void add(Index begin, Index end, Stop& stop, GramMatrices& sum) const {
    const auto row_bytes = static_cast<double>(columns_) * sizeof(double);
    const auto block = std::max<Index>(16, static_cast<Index>(kBlockBytes / row_bytes));
    std::size_t d = 0;
    while (begin < end && !stop()) {
      while (begin >= begins_[d] + datasets_[d].train.size()) ++d;
      const Index first = begin - begins_[d];
      const Index count = std::min({block, end - begin, datasets_[d].train.size() - first});
      add_block(d, first, count, sum);
      begin += count;
    }
  }

 private:
  void add_block(std::size_t d, Index first, Index count, GramMatrices& sum) const {
    const RowMatrixXd features = read_range(datasets_[d].train, study_, datasets_[d], first, count);
    const MatrixXd labels = datasets_[d].train.labels.middleRows(first, count);
    if (!features.allFinite()) {
      for (Index i = 0; i < count; ++i) {
        if (features.row(i).allFinite()) continue;
        bad_data("{}: path features of train[{}] are not finite; allowed: finite numbers",
                 datasets_[d].name, first + i);
      }
    }
    // Row-major: its transpose lies there column by column.
    const Eigen::Map<const MatrixXd> transposed(features.data(), columns_, count);
    numerics::rank_update_lower(1.0, transposed, numerics::Transpose::kNo, 1.0, sum.gram);
    numerics::multiply(1.0, transposed, numerics::Transpose::kNo, labels, numerics::Transpose::kNo,
                       1.0, sum.projection);
    sum.label_square += labels.transpose() * labels;
    sum.examples += count;
  }

  const Study& study_;
  const std::vector<tasks::Dataset>& datasets_;
  std::vector<Index> begins_;
  Index total_ = 0;
  Index columns_ = 0;
};

/// Whether to stop, for all threads. It lets only one of them at a time ask the observer.
class StopQuestion {
 public:
  explicit StopQuestion(const Observer& observer) : observer_(observer) {}
  [[nodiscard]] bool operator()() {
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    if (lock.owns_lock() && observer_.interrupted()) stop_ = true;
    return stop_;
  }

 private:
  const Observer& observer_;
  std::mutex guard_;
  std::atomic<bool> stop_{false};
};

/// The sums over the leaves of a part.
TreeSum sum_part(const AllExamples& examples, const Shard& shard, int threads, Observer& observer) {
  const Index total = examples.size();
  const Index leaves = gram_leaves(total);
  const auto [begin, end] =
      leaves_of_part(static_cast<std::size_t>(leaves), shard.index, shard.count);
  const auto first_of = [&](std::size_t leaf) { return total * static_cast<Index>(leaf) / leaves; };
  StopQuestion stop(observer);
  TreeSum tree;
  for (std::size_t first = begin; first < end; first += static_cast<std::size_t>(threads)) {
    const std::size_t wave = std::min(static_cast<std::size_t>(threads), end - first);
    std::vector<std::vector<double>> sums(wave);
    parallel_for(static_cast<Index>(wave), threads, [&](Index i) {
      const std::size_t leaf = first + static_cast<std::size_t>(i);
      GramMatrices sum;
      sum.gram = MatrixXd::Zero(examples.columns(), examples.columns());
      sum.projection = MatrixXd::Zero(examples.columns(), examples.outputs());
      sum.label_square = MatrixXd::Zero(examples.outputs(), examples.outputs());
      examples.add(first_of(leaf), first_of(leaf + 1), stop, sum);
      sums[static_cast<std::size_t>(i)] = packed(sum);
    });
    if (stop())
      throw Error(ErrorKind::kInterrupted, "gram: stopped by the user; nothing is written");
    for (std::size_t i = 0; i < wave; ++i) tree.push(first + i, std::move(sums[i]));
    observer.progress("examples", static_cast<double>(first_of(first + wave) - first_of(begin)),
                      static_cast<double>(first_of(end) - first_of(begin)));
  }
  return tree;
}

std::vector<std::string> set_names(const tasks::Dataset& dataset) {
  std::vector<std::string> names;
  if (dataset.test) names.emplace_back("test");
  for (const tasks::NamedSplit& set : dataset.sets) names.push_back(set.name);
  return names;
}

const tasks::Split& set_of(const tasks::Dataset& dataset, const std::string& name) {
  if (name == "test") return *dataset.test;
  return std::find_if(dataset.sets.begin(), dataset.sets.end(),
                      [&](const auto& set) { return set.name == name; })
      ->split;
}

/// Throws unless the sums of the data sets may be added. The message names the first that differs,
/// and in what.
void check_alike(const Study& study, const std::vector<tasks::Dataset>& datasets) {
  const tasks::Dataset& first = datasets.front();
  for (const tasks::Dataset& other : datasets) {
    if (other.gram) bad_data("{}: holds Gram matrices already; allowed: data sets", other.name);
    const auto differs = [&](const char* what, const std::string& here, const std::string& there) {
      if (here == there) return;
      bad_data("{}: {} {}; allowed: {} as in {}", other.name, what, here, there, first.name);
    };
    const auto list = [](const auto& values) { return fmt::format("[{}]", join(values, ", ")); };
    differs("has heads", list(other.heads), list(first.heads));
    differs("has features N_0 =", std::to_string(other.features), std::to_string(first.features));
    differs("has outputs C =", std::to_string(other.outputs()), std::to_string(first.outputs()));
    const std::string_view here = names_of_two_classes(other.train.labels);
    const std::string_view there = names_of_two_classes(first.train.labels);
    if (!here.empty() && !there.empty()) {
      differs("names the two classes of train/labels by", std::string(here), std::string(there));
    }
    differs("has readout", std::string(word_of(readout_of(study, other))),
            std::string(word_of(readout_of(study, first))));
    differs("has sets", list(set_names(other)), list(set_names(first)));
    check_study_against_dataset(study, other);
  }
}

GramSet join_sets(const Study& study, const std::vector<tasks::Dataset>& datasets,
                  const std::string& name) {
  GramSet set;
  set.name = name;
  Index rows = 0;
  for (const tasks::Dataset& dataset : datasets) rows += set_of(dataset, name).size();
  const tasks::Dataset& first = datasets.front();
  const Index columns = model::path_count(first.heads) * first.features;
  if (static_cast<double>(rows) * static_cast<double>(columns) * sizeof(double) > kMostSetBytes) {
    bad_data(
        "{}: the set {} has {} examples of {} numbers; allowed: at most 0.5 GiB, because sets are "
        "kept whole. Make the set smaller",
        first.name, name, rows, columns);
  }
  set.path_features.resize(rows, columns);
  set.labels.resize(rows, first.outputs());
  Index begin = 0;
  for (const tasks::Dataset& dataset : datasets) {
    const tasks::Split& split = set_of(dataset, name);
    set.path_features.middleRows(begin, split.size()) =
        read_range(split, study, dataset, 0, split.size());
    set.labels.middleRows(begin, split.size()) = split.labels;
    begin += split.size();
  }
  return set;
}

/// All but the sums.
GramResult describe(const Study& study, const std::vector<tasks::Dataset>& datasets,
                    const Shard& shard) {
  numerics::prepare_blas();
  if (study.model.value_network) {
    throw OptionError(
        "model.value_network: must be absent in gram: the kernel of a value network is no sum over "
        "examples, so no matrix of fixed size holds what the theory needs of them",
        {"model.value_network"});
  }
  check_alike(study, datasets);
  GramResult result;
  result.heads = datasets.front().heads;
  result.head_names = names_of_heads(datasets.front());
  result.readout = readout_of(study, datasets.front());
  result.threads = resolve_threads(study.threads);
  for (const tasks::Dataset& dataset : datasets) result.sources.push_back(dataset.name);
  if (shard.index > 0) return result;
  for (const std::string& name : set_names(datasets.front()))
    result.sets.push_back(join_sets(study, datasets, name));
  return result;
}

}  // namespace

GramResult gram(const Study& study, const std::vector<tasks::Dataset>& datasets, Observer& observer,
                const Shard& shard) {
  const Clock::time_point began = Clock::now();
  GramResult result = describe(study, datasets, shard);
  const AllExamples examples(study, datasets);
  TreeSum sums = sum_part(examples, shard, result.threads, observer);
  if (shard.whole()) {
    set_total(std::move(sums).total(), examples.columns(), examples.outputs(), result);
  } else {
    result.nodes = nodes_of(sums, examples.columns(), examples.outputs());
  }
  result.seconds = seconds_since(began);
  return result;
}

std::optional<GramResult> gram_on_ranks(const Study& study,
                                        const std::vector<tasks::Dataset>& datasets,
                                        Observer& observer, Ranks& ranks) {
  const Clock::time_point began = Clock::now();
  const Shard mine{static_cast<std::size_t>(ranks.rank()), static_cast<std::size_t>(ranks.size())};
  GramResult result;
  std::optional<AllExamples> examples;
  TreeSum sums;
  const bool fine = agree(ranks, [&] {
    result = describe(study, datasets, mine);
    examples.emplace(study, datasets);
    sums = sum_part(*examples, mine, result.threads, observer);
  });
  if (!fine) return std::nullopt;
  const std::vector<double> total = total_on_first(ranks, std::move(sums));
  if (!ranks.is_first()) return std::nullopt;
  set_total(total, examples->columns(), examples->outputs(), result);
  result.seconds = seconds_since(began);
  return result;
}

}  // namespace headway
