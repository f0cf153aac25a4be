#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/core/gram.hpp"
#include "headway/core/record.hpp"
#include "headway/dataset.hpp"
#include "headway/types.hpp"

namespace headway {

template <class Visitor, RecordOf<GramMatrices> Record>
void fields(Visitor& visit, Record& r) {
  visit("examples", r.examples, "training examples P of all data sets together", {.least = 1});
  visit("features", r.gram,
        "Phi^T Phi of the unscaled path features, [p N_0, p N_0], path by path");
  visit("projection", r.projection, "Phi^T Y, [p N_0, C]");
  visit("labels", r.label_square, "Y^T Y, [C, C]");
}

inline constexpr const char* kGramVerb = "gram";

/// A test set or further set. It is kept whole, because its examples are needed one by one.
struct GramSet {
  std::string name;        ///< "test", or of the further set
  MatrixXd path_features;  ///< unscaled
  MatrixXd labels;
};
template <class Visitor, RecordOf<GramSet> Record>
void fields(Visitor& visit, Record& r) {
  visit("name", r.name, "\"test\", or the name of the further set", {.layout = FieldLayout::kKey});
  visit("path_features", r.path_features, "unscaled path features, [examples, p N_0]");
  visit("labels", r.labels, "labels, [examples, C]");
}

/// The sums over some leaves of the examples: a node of the tree in which they are added.
struct GramNode {
  int level = 0;
  Index index = 0;
  GramMatrices sums;
};
template <class Visitor, RecordOf<GramNode> Record>
void fields(Visitor& visit, Record& r) {
  visit("level", r.level, "level in the tree: the node sums 2^level leaves", {.least = 0});
  visit("index", r.index, "the first of its leaves is index 2^level", {.least = 0});
  fields(visit, r.sums);
}

/// Data sets reduced to what the theory needs of their training examples (eq. 64).
struct GramResult {
  std::vector<int> heads;
  std::vector<std::vector<std::string>> head_names;
  Readout readout = Readout::kLastToken;
  GramMatrices data;            ///< empty in a part
  std::vector<GramNode> nodes;  ///< in a part: its leaves, in as few nodes as the tree allows
  std::vector<GramSet> sets;    ///< empty in all parts but the first
  std::vector<std::string> sources;
  double seconds = 0.0;
  int threads = 1;

  [[nodiscard]] bool is_part() const { return data.gram.size() == 0; }
  /// Training examples that are summed here.
  [[nodiscard]] Index examples() const;
};
template <class Visitor, RecordOf<GramResult> Record>
void fields(Visitor& visit, Record& r) {
  visit("heads", r.heads, "heads of each layer, H_1, ..., H_L",
        {.layout = FieldLayout::kAttribute, .least = 1});
  visit("readout", r.readout, "readout that the path features were taken with");
  visit("sources", r.sources, "names of the data sets, in order",
        {.layout = FieldLayout::kAttribute});
  visit("names", r.head_names, "names of the heads", {.layout = FieldLayout::kLayers});
  // A reader does not know yet which of the two there is.
  const bool reads = !std::is_const_v<Record>;
  if (reads || shows(visit, !r.is_part())) {
    visit("gram", r.data, "sums over the training examples", {.optional = true});
  }
  if (reads || shows(visit, r.is_part())) {
    visit("nodes", r.nodes, "in a part, in place of gram: sums over its share of the examples",
          {.optional = true});
  }
  visit("sets", r.sets, "test set and further sets", {.layout = FieldLayout::kByName});
}

/// What is wrong with the numbers (theory::gram_fault, sizes that do not fit), or "".
std::string gram_fault(const GramResult& result);

/// The data set that solve, sample and prune take.
tasks::Dataset dataset_of(GramResult result, std::string name);

}  // namespace headway
