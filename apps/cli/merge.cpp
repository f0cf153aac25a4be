#include "verbs.hpp"

namespace headway::cli {

Verb merge_verb() {
  return {.name = "merge",
          .summary = "put together the parts that --shard made",
          .about =
              "Joins the results of all parts of a study into the result of the undivided study, "
              "and prints its table. It refuses parts that do not belong together, and names those "
              "that are missing.",
          .examples = {{"headway merge part-*.h5 -o whole.h5", "the parts, in any order"}},
          .more_inputs = "the other parts, in any order",
          .takes = Takes::kParts};
}

}  // namespace headway::cli
