#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::vector<ExplainedTable> prune_network_tables() {
  return {{"Heads, a table for each run",
           {{"layer, head", "which head, counted from 1"},
            {"METRIC drop",
             "drop of the network's score without the head, with its error; positive: the head is "
             "needed"},
            {"mean in its place", "the same with the head's mean output in its place"},
            {"loss rise",
             "rise of the loss without the head, with its error; positive: the head is needed"},
            {"sensitivity", "mean |dL/dm| of the loss L for a factor m on the head's output"}}},
          {"Below the heads",
           {{"with the drop, with the rise of the loss",
             "rank correlation of a score with what the removals cost, and its 95 % interval over "
             "resampled examples"},
            {"by SCORE", "the metric as heads are removed, the lowest of this score first"},
            {"greedy", "the same, each time without the head that costs least"},
            {"random mean, sd", "the same in random orders: mean and standard deviation"},
            {"mean over seeds",
             "rank correlations over the runs that differ in their seeds alone, with standard "
             "errors"}}}};
}

}  // namespace

Verb prune_network_verb() {
  return {
      .name = "prune-network",
      .summary = "remove the heads from trained networks themselves",
      .sections = {"prune"},
      .tasks = headway::Side::kTraining,
      .own = {{"--theory", "FILE,...",
               "results of headway prune on the data that headway extract made from these networks",
               &Options::theory, Offers::kFiles}},
      .about =
          "Removes every head of a trained network, one by one and cumulatively, with nothing and "
          "with the head's mean in its place. Then it says how well each score of the heads, "
          "those of the theory among them, agrees with what the removals cost.",
      .tables = prune_network_tables(),
      .examples = {{"headway prune-network trained.h5", "all networks of a train result"},
                   {"headway prune-network trained.h5 --theory theory.h5",
                    "beside what headway prune says of their parts"}},
      .input = kTrainedInput,
      .print = printed(&network_prune_table)};
}

}  // namespace headway::cli
