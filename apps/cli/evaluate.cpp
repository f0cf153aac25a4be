#include "columns.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb evaluate_verb() {
  return {
      .name = "evaluate",
      .summary = "put trained networks on other data of their kind",
      .sections = {"task", "evaluate"},
      .tasks = headway::Side::kTraining,
      .own = {{"--task", "STUDY",
               "take the data from [task] of this study, a file or the name of one that comes "
               "with Headway; the split of tasks stays that of training unless it gives task.seed",
               &Options::task, Offers::kStudies}},
      .about =
          "Computes loss and metrics of every network of a train result on changed data: other "
          "lengths, splits, inputs or permutations. --set task.KEY=VALUE changes single keys. The "
          "split into training and held-out tasks stays that of training unless task.seed is "
          "given. Without a change, --set evaluate.weights=last repeats the numbers of the end "
          "of training. Of your own arrays the set train is what training calls seen.",
      .tables = {{"A row for each split and metric",
                  {kVariantColumn,
                   kSeedsColumn,
                   {"split", "which examples: train, held_out and others of the task"},
                   {"metric", "loss, r2, accuracy and others of the task"},
                   {"value", "mean over seeds with its standard error"}}}},
      .examples = {{"headway evaluate small.h5 --set task.sequence_length=48", "another length"},
                   {"headway evaluate sraven.h5 --task unpermuted.toml",
                    "the [task] of another study"}},
      .input = kTrainedInput,
      .seeded = false,
      .print = printed(&evaluate_table)};
}

}  // namespace headway::cli
