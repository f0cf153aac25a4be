#include "headway/gram_results.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::string print_merged(const Options& options, const jobs::Job& job) {
  if (job.result<GramResult>() != nullptr) return print_gram(options, job);
  return printed(&solve_table, &sample_table, &train_table)(options, job);
}

}  // namespace

Verb merge_verb() {
  return {.name = "merge",
          .summary = "put together the parts that --shard made",
          .about =
              "Joins the results of all parts of a study into the result of the undivided study, "
              "and prints its table. It refuses parts that do not belong together, and names those "
              "that are missing.",
          .examples = {{"headway merge part-*.h5 -o whole.h5", "the parts, in any order"}},
          .more_inputs = "the other parts, in any order",
          .takes = Takes::kParts,
          .print = &print_merged};
}

}  // namespace headway::cli
