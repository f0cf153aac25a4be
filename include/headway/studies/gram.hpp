#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "headway/core/gram.hpp"
#include "headway/core/observer.hpp"
#include "headway/core/ranks.hpp"
#include "headway/core/record.hpp"
#include "headway/studies/shards.hpp"
#include "headway/studies/study.hpp"
#include "headway/tasks/dataset.hpp"

namespace headway {

template <class Visitor, RecordOf<GramMatrices> Record>
void fields(Visitor& visit, Record& r) {
  visit("examples", r.examples, "training examples P of all data sets together", {.least = 1});
  visit("features", r.gram,
        "Phi^T Phi of the unscaled path features, [p N_0, p N_0], path by path");
  visit("projection", r.projection, "Phi^T Y, [p N_0, C]");
  visit("labels", r.label_square, "Y^T Y, [C, C]");
}

}  // namespace headway

namespace headway::studies {

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
  std::vector<GramNode> nodes;  ///< of a part: of its leaves, with as few nodes as the tree allows
  std::vector<GramSet> sets;    ///< of all examples; of the parts the first has them
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

/// `headway gram`: one pass over the training examples of all data sets, in blocks. The examples
/// are summed in leaves, and the leaves in one tree. P alone decides how many leaves there are (at
/// most 256), so the numbers are the same on any number of threads. Test sets and further sets of
/// the same name are joined. The study gives readout and attention, as for `solve`. `shard`: sums
/// consecutive leaves only, reading their examples alone, for a later merge. Memory: some 4 +
/// threads matrices of p N_0 x p N_0, a block of features a thread, and the sets. Errors: kBadData,
/// naming the file, when data sets disagree in heads, features, outputs, readout or sets, when a
/// number is not finite, or when all features of a path are zero. kInterrupted when stopped,
/// because partial sums are no result.
GramResult gram(const Study& study, const std::vector<tasks::Dataset>& datasets, Observer& observer,
                const Shard& shard = {});

/// The same on all ranks, which call it together. Each reads its share of the examples. The first
/// rank gets the result, with the bits of one process; the others get nothing. If one fails, the
/// first throws its Error and the others get nothing.
std::optional<GramResult> gram_on_ranks(const Study& study,
                                        const std::vector<tasks::Dataset>& datasets,
                                        Observer& observer, Ranks& ranks);

/// The result of gram() for the whole, from the parts in the order of their shards. Errors:
/// kBadData if a part does not have the examples of its shard, or as gram().
GramResult merge_grams(std::vector<GramResult> parts);

/// The data set that solve and sample take.
tasks::Dataset dataset_of(GramResult result, std::string name);

}  // namespace headway::studies
