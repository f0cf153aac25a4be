#include "headway/gram_results.hpp"

#include <fmt/format.h>

#include <utility>

#include "headway/model/path_index.hpp"
#include "headway/theory/gram.hpp"

namespace headway {

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
      return fmt::format("sets/{}: holds numbers that are not finite; allowed: finite numbers",
                         set.name);
  }
  return {};
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

}  // namespace headway
