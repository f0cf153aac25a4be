#include "headway/gram_results.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb gram_verb() {
  return {
      .name = headway::kGramVerb,
      .summary = "sum data sets of any size into a Gram matrix for solve, sample and prune",
      .sections = {"model"},
      .own = {kShardOption},
      .about =
          "Reads files of path features once, in blocks, and writes their Gram matrix, which has "
          "the same size for any number of examples. solve, sample and prune take it in place of "
          "the data.",
      .examples = {{"headway gram part-*.h5 -o all.h5", "then headway solve all.h5"}},
      .more_inputs = "further data-set files, whose examples are added",
      .input = "data-set file (HDF5)"};
}

}  // namespace headway::cli
