#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headway/core/gram.hpp"
#include "headway/core/observer.hpp"
#include "headway/core/record.hpp"
#include "headway/studies/study.hpp"
#include "headway/tasks/dataset.hpp"

namespace headway {

template <class Visitor, RecordOf<GramMatrices> Record>
void fields(Visitor& visit, Record& r) {
  visit("examples", r.examples, "P, of all data sets together", {.least = 1});
  visit("features", r.gram, "Phi^T Phi of unscaled path features, [p N_0, p N_0], path-major");
  visit("projection", r.projection, "Phi^T Y, [p N_0, C]");
  visit("labels", r.label_square, "Y^T Y, [C, C]");
}

}  // namespace headway

namespace headway::studies {

/// A test set or further set that goes along: its examples are needed one by one.
struct GramSet {
  std::string name;        ///< "test", or of the further set
  MatrixXd path_features;  ///< unscaled
  MatrixXd labels;
};
template <class Visitor, RecordOf<GramSet> Record>
void fields(Visitor& visit, Record& r) {
  visit("name", r.name, "\"test\", or of the further set", {.layout = FieldLayout::kKey});
  visit("path_features", r.path_features, "unscaled, [examples, p N_0]");
  visit("labels", r.labels, "[examples, C]");
}

/// Data sets reduced to what the theory needs of their training examples (eq. 64).
struct GramResult {
  std::vector<int> heads;
  std::vector<std::vector<std::string>> head_names;
  Readout readout = Readout::kLastToken;
  GramMatrices data;
  std::vector<GramSet> sets;
  std::vector<std::string> sources;
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};
template <class Visitor, RecordOf<GramResult> Record>
void fields(Visitor& visit, Record& r) {
  visit("heads", r.heads, "H_1, ..., H_L", {.layout = FieldLayout::kAttribute, .least = 1});
  visit("readout", r.readout, "that the path features were taken with");
  visit("sources", r.sources, "the data sets, in order", {.layout = FieldLayout::kAttribute});
  visit("names", r.head_names, "of the heads", {.layout = FieldLayout::kLayers});
  visit("gram", r.data, "sums over the training examples");
  visit("sets", r.sets, "test set and further sets", {.layout = FieldLayout::kByName});
}

/// `headway gram`: one pass over the training examples of all data sets, in blocks. They are summed
/// in fixed leaves, whose number P alone decides, and these in one fixed tree, so that the numbers
/// are the same on any number of threads. Test sets and further sets of the same name are put
/// together. The study says readout and attention, as for `solve`. Memory: some 8 + threads
/// matrices of p N_0 x p N_0, a block of features a thread, and the sets.
/// Errors: kBadData when data sets disagree in heads, features, outputs, readout or sets, when a
/// number is not finite, or when a path's features are all zero, naming the file and what; partial
/// sums are no result: kInterrupted.
GramResult gram(const Study& study, const std::vector<tasks::Dataset>& datasets,
                Observer& observer);

/// The data set that solve and sample take.
tasks::Dataset dataset_of(GramResult result, std::string name);

}  // namespace headway::studies
