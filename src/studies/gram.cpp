#include "headway/studies/gram.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/parallel.hpp"
#include "headway/model/path_features.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/theory/gram.hpp"
#include "problem.hpp"

namespace headway::studies {
namespace {

constexpr Index kSmallestLeaf = 1024;  // examples
constexpr Index kMostLeaves = 256;
constexpr double kBlockBytes = 16.0 * 1024 * 1024;  // of features that one thread reads at a time
constexpr double kMostSetBytes = 512.0 * 1024 * 1024;

/// A range of another source's examples.
class ExampleRange final : public ExampleSource {
 public:
  ExampleRange(const ExampleSource& whole, Index begin, Index count)
      : whole_(whole), begin_(begin), count_(count) {}
  [[nodiscard]] Index size() const override { return count_; }
  [[nodiscard]] Index tokens() const override { return whole_.tokens(); }
  [[nodiscard]] Index features() const override { return whole_.features(); }
  [[nodiscard]] bool has_mask() const override { return whole_.has_mask(); }
  [[nodiscard]] bool thread_safe() const override { return whole_.thread_safe(); }
  void read_inputs(Index begin, Index count, double* out) const override {
    whole_.read_inputs(begin_ + begin, count, out);
  }
  void read_mask(Index begin, Index count, std::uint8_t* out) const override {
    whole_.read_mask(begin_ + begin, count, out);
  }
  void read_attention(int layer, Index begin, Index count, double* out) const override {
    whole_.read_attention(layer, begin_ + begin, count, out);
  }

 private:
  const ExampleSource& whole_;
  Index begin_, count_;
};

/// Unscaled path features of a range of a split's examples.
class SplitFeatures {
 public:
  SplitFeatures(const Study& study, const tasks::Dataset& dataset, const tasks::Split& split)
      : dataset_(dataset), split_(split) {
    options_.readout = readout_of(study, dataset);
    options_.attention = study.model.attention;
  }

  [[nodiscard]] RowMatrixXd read(Index begin, Index count) const {
    if (split_.feature_source != nullptr) {
      RowMatrixXd block(count, model::path_count(dataset_.heads) * dataset_.features);
      split_.feature_source->read(begin, count, block.data());
      return block;
    }
    if (split_.examples == nullptr) return split_.path_features.middleRows(begin, count);
    const bool supplied = dataset_.form == AttentionForm::kSupplied;
    Observer silent;
    return model::path_features(ExampleRange(*split_.examples, begin, count), dataset_.heads,
                                supplied ? std::vector<LayerHeads>{} : dataset_.layers, options_,
                                silent);
  }

 private:
  const tasks::Dataset& dataset_;
  const tasks::Split& split_;
  model::PathFeatureOptions options_;
};

/// The training examples of all data sets, one after another.
class AllExamples {
 public:
  AllExamples(const Study& study, const std::vector<tasks::Dataset>& datasets)
      : datasets_(datasets) {
    for (const tasks::Dataset& dataset : datasets) {
      begins_.push_back(total_);
      total_ += dataset.train.size();
      features_.emplace_back(study, dataset, dataset.train);
    }
    columns_ = model::path_count(datasets.front().heads) * datasets.front().features;
  }
  [[nodiscard]] Index size() const { return total_; }
  [[nodiscard]] Index columns() const { return columns_; }
  [[nodiscard]] Index outputs() const { return datasets_.front().outputs(); }

  /// Adds the sums over [begin, end) to `sum`, block by block.
  void add(Index begin, Index end, GramMatrices& sum) const {
    const auto row_bytes = static_cast<double>(columns_) * sizeof(double);
    const auto block = std::max<Index>(16, static_cast<Index>(kBlockBytes / row_bytes));
    std::size_t d = 0;
    while (begin < end) {
      while (begin >= begins_[d] + datasets_[d].train.size()) ++d;
      const Index first = begin - begins_[d];
      const Index count = std::min({block, end - begin, datasets_[d].train.size() - first});
      add_block(d, first, count, sum);
      begin += count;
    }
  }

 private:
  void add_block(std::size_t d, Index first, Index count, GramMatrices& sum) const {
    const RowMatrixXd features = features_[d].read(first, count);
    const MatrixXd labels = datasets_[d].train.labels.middleRows(first, count);
    if (!features.allFinite()) {
      for (Index i = 0; i < count; ++i) {
        if (features.row(i).allFinite()) continue;
        bad_data("{}: path features of train[{}]: not finite; allowed: finite numbers",
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

  const std::vector<tasks::Dataset>& datasets_;
  std::vector<Index> begins_;
  std::vector<SplitFeatures> features_;
  Index total_ = 0;
  Index columns_ = 0;
};

/// Sums of leaves in the order of their index: equal halves are added as soon as both are there,
/// as a binary counter carries.
class SumTree {
 public:
  void push(GramMatrices leaf) {
    int level = 0;
    while (!parts_.empty() && parts_.back().first == level) {
      parts_.back().second.add(leaf);
      leaf = std::move(parts_.back().second);
      parts_.pop_back();
      ++level;
    }
    parts_.emplace_back(level, std::move(leaf));
  }
  [[nodiscard]] GramMatrices total() {
    GramMatrices sum = std::move(parts_.back().second);
    for (parts_.pop_back(); !parts_.empty(); parts_.pop_back()) {
      parts_.back().second.add(sum);
      sum = std::move(parts_.back().second);
    }
    return sum;
  }

 private:
  std::vector<std::pair<int, GramMatrices>> parts_;
};

GramMatrices sum_all(const AllExamples& examples, int threads, Observer& observer) {
  const Index total = examples.size();
  const Index leaves =
      std::clamp<Index>((total + kSmallestLeaf - 1) / kSmallestLeaf, 1, kMostLeaves);
  SumTree tree;
  for (Index first = 0; first < leaves; first += threads) {
    const Index wave = std::min<Index>(threads, leaves - first);
    std::vector<GramMatrices> sums(static_cast<std::size_t>(wave));
    parallel_for(wave, threads, [&](Index i) {
      GramMatrices& sum = sums[static_cast<std::size_t>(i)];
      sum.gram = MatrixXd::Zero(examples.columns(), examples.columns());
      sum.projection = MatrixXd::Zero(examples.columns(), examples.outputs());
      sum.label_square = MatrixXd::Zero(examples.outputs(), examples.outputs());
      examples.add(total * (first + i) / leaves, total * (first + i + 1) / leaves, sum);
    });
    for (GramMatrices& sum : sums) tree.push(std::move(sum));
    observer.progress("examples", static_cast<double>(total * (first + wave) / leaves),
                      static_cast<double>(total));
    if (observer.interrupted())
      throw Error(ErrorKind::kInterrupted, "gram: stopped by the user; nothing is written");
  }
  GramMatrices sum = tree.total();
  numerics::mirror_lower(sum.gram);
  return sum;
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

/// Data sets whose sums may be added: the message names the first that differs, and in what.
void check_alike(const Study& study, const std::vector<tasks::Dataset>& datasets) {
  const tasks::Dataset& first = datasets.front();
  for (const tasks::Dataset& other : datasets) {
    if (other.gram) bad_data("{}: holds Gram matrices already; allowed: data sets", other.name);
    const auto differs = [&](const char* what, const std::string& here, const std::string& there) {
      if (here == there) return;
      bad_data("{}: {} {}; allowed: {} as in {}", other.name, what, here, there, first.name);
    };
    const auto list = [](const auto& values) {
      return fmt::format("[{}]", fmt::join(values, ", "));
    };
    differs("has heads", list(other.heads), list(first.heads));
    differs("has features N_0 =", std::to_string(other.features), std::to_string(first.features));
    differs("has outputs C =", std::to_string(other.outputs()), std::to_string(first.outputs()));
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
        "{}: the set {} has {} examples of {} numbers: allowed: 0.5 GiB of a set "
        "that is not summed; make it smaller",
        first.name, name, rows, columns);
  }
  set.path_features.resize(rows, columns);
  set.labels.resize(rows, first.outputs());
  Index begin = 0;
  for (const tasks::Dataset& dataset : datasets) {
    const tasks::Split& split = set_of(dataset, name);
    set.path_features.middleRows(begin, split.size()) =
        SplitFeatures(study, dataset, split).read(0, split.size());
    set.labels.middleRows(begin, split.size()) = split.labels;
    begin += split.size();
  }
  return set;
}

}  // namespace

GramResult gram(const Study& study, const std::vector<tasks::Dataset>& datasets,
                Observer& observer) {
  const auto began = std::chrono::steady_clock::now();
  numerics::use_single_threaded_blas();
  check_alike(study, datasets);
  GramResult result;
  result.heads = datasets.front().heads;
  result.head_names = names_of_heads(datasets.front());
  result.readout = readout_of(study, datasets.front());
  result.threads = resolve_threads(study.threads);
  for (const tasks::Dataset& dataset : datasets) result.sources.push_back(dataset.name);
  for (const std::string& name : set_names(datasets.front()))
    result.sets.push_back(join_sets(study, datasets, name));
  result.data = sum_all(AllExamples(study, datasets), result.threads, observer);
  const std::string fault = theory::gram_fault(result.data, model::path_count(result.heads));
  if (!fault.empty()) bad_data("{}: {}", fmt::join(result.sources, ", "), fault);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

tasks::Dataset dataset_of(GramResult result, std::string name) {
  tasks::Dataset dataset;
  dataset.name = std::move(name);
  dataset.form = AttentionForm::kPathFeatures;
  dataset.heads = std::move(result.heads);
  dataset.layers.resize(dataset.heads.size());
  for (std::size_t l = 0; l < dataset.layers.size() && l < result.head_names.size(); ++l)
    dataset.layers[l].names = std::move(result.head_names[l]);
  dataset.readout = result.readout;
  dataset.features = result.data.gram.rows() / model::path_count(dataset.heads);
  dataset.train.labels.resize(0, result.data.outputs());
  for (GramSet& set : result.sets) {
    tasks::Split split;
    split.path_features = set.path_features;
    split.labels = std::move(set.labels);
    if (set.name == "test") {
      dataset.test = std::move(split);
    } else {
      dataset.sets.push_back({set.name, std::move(split)});
    }
  }
  dataset.gram = std::move(result.data);
  return dataset;
}

std::string gram_fault(const GramResult& result) {
  constexpr double kMostPaths = 1e6;
  if (result.heads.empty() || model::path_count<double>(result.heads) > kMostPaths)
    return "root attribute heads: allowed: at least one layer, at most 10^6 paths";
  const std::string fault = theory::gram_fault(result.data, model::path_count(result.heads));
  if (!fault.empty()) return "gram: " + fault;
  for (const GramSet& set : result.sets) {
    if (set.path_features.cols() != result.data.gram.rows() ||
        set.labels.cols() != result.data.outputs() ||
        set.labels.rows() != set.path_features.rows() || set.labels.rows() == 0) {
      return fmt::format(
          "sets/{}: path_features of {} x {} and labels of {} x {}; allowed: as many "
          "examples, {} numbers and {} outputs as in gram",
          set.name, set.path_features.rows(), set.path_features.cols(), set.labels.rows(),
          set.labels.cols(), result.data.gram.rows(), result.data.outputs());
    }
    if (!set.path_features.allFinite() || !set.labels.allFinite())
      return fmt::format("sets/{}: numbers that are not finite; allowed: finite ones", set.name);
  }
  return {};
}

}  // namespace headway::studies
