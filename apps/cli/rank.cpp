#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::vector<ExplainedTable> rank_tables() {
  return {
      {"Columns",
       {{"rank", "from 1, the smallest estimate; heads that cannot be told apart share one"},
        {"head", "layer and number"},
        {"part", "of a data set: the name of the part"},
        {"estimate",
         "rise of the squared error without the head: the measured rise, moved towards the "
         "rise that the readout predicts; the larger the error of the measurement, the "
         "further"},
        {"90 %",
         "90 % interval of the estimate; on fresh tasks it held the true rise in 83 to 94 of 100 "
         "cases"},
        {"among k cheapest", "probability to be one of the k heads that cost least"},
        {"among k smallest cuts",
         "of a data set: probability to be one of the k parts with the smallest frozen cuts"},
        {"removal", "the rise as it was measured, each example left out"},
        {"frozen cut",
         "of a data set: the rise when the part is taken off and everything else stays as it was; "
         "no removal"},
        {"frozen cut, U = 1",
         "rise when the head's part is left out and a ridge regression reads the other frozen "
         "parts of its layer"},
        {"frozen cut, theory's U", "the same with the order parameters of the theory at N = 10"},
        {"gradient", "mean |dL/dm| of the loss L for a factor m on the head's output"}}}};
}

}  // namespace

Verb rank_verb() {
  return {
      .name = "rank",
      .summary = "rank heads by what their removal costs, and say how sure that is",
      .sections = {"rank"},
      .tasks = headway::Side::kTraining,
      .about =
          "Removes each head and measures the squared error of a ridge readout on examples "
          "that it "
          "was not fitted to. Every number has its error. Of a data set of contributions it "
          "ranks frozen cuts: a part is taken off, and everything else stays as it was. That "
          "is no removal.",
      .tables = rank_tables(),
      .examples = {{"headway rank trained.h5", "the heads of every network of a train result"},
                   {"headway rank parts.h5 --set rank.readout=refitted -o ranking.h5",
                    "frozen cuts of the parts in a data set of extract, the readout fitted again"}},
      .input =
          "result of headway train (HDF5) that holds the weights, or a data set of "
          "contributions",
      .print = printed(&rank_table)};
}

}  // namespace headway::cli
