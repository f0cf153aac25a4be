#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

constexpr const char* kPruneAbout =
    "Scores every head by how much of U_1 lies on the paths through it, and computes what the "
    "predictor loses without it. Trust what is lost more than the score: the score misleads where "
    "paths differ much in size. The order parameters of a result are used again where study and "
    "data are the same. headway prune-network removes heads from trained networks themselves; a "
    "result of headway train given here does the same.";

std::vector<ExplainedTable> prune_tables() {
  const Explained layer = {"layer, head", "which head, counted from 1"};
  return {
      {"Heads in the theory, a table for each point",
       {layer,
        {"name", "name of the head in the study or data set"},
        {"score",
         "how much of U_1 lies on paths through the head, divided by the largest such value: the "
         "best head has 1"},
        {"weighted",
         "as score, but an entry of U_1 counts less where only one of its two paths uses the head"},
        {"accuracy without", "accuracy of the predictor without the head, nothing solved again"},
        {"drop", "accuracy with all heads less that"},
        {"squared error +",
         "rise of the mean squared error without the head; this and the next three columns are of "
         "the set validation, or of the test set if there is none; accuracy and drop are always of "
         "the test set"},
        {"posterior",
         "standard deviation of that rise over the posterior; a line below the table says whether "
         "rise and deviation are those of exact draws, or of the saddle point to leading order"},
        {"examples", "standard error of that rise over the examples"},
        {"U = 1",
         "the same rise without the theory: every entry of U_1 is 1, a ridge regression on the "
         "sum of all paths"},
        {"network's drop",
         "what the trained network itself loses, where the data set carries one"}}},
      {"Below the heads",
       {{"tau, top k overlap",
         "how far the order of the heads is certain: agreement of that order with orders drawn "
         "again, and the share of the k best heads that stay among them; 1 is certain"},
        {"by score, by error", "accuracy as heads are removed, least needed first"},
        {"greedy", "the same, each time without the head that costs least"},
        {"random mean, sd", "the same in random orders: mean and standard deviation"}}},
      {"Heads of a trained network in the data set",
       {layer,
        {"accuracy drop, error rise", "what the network loses without the head, with its error"},
        {"weight norm", "norm of the head's value weights"},
        {"path norm", "norm of the effective weights of all paths through the head"},
        {"sensitivity", "mean |dL/dm| of the loss L for a factor m on the head's output"},
        {"own score", "score of the network's own U_1"},
        {"with the accuracy drop, with the rise of the squared error",
         "rank correlation of a score with what the network loses: value, 95 % interval over "
         "resampled examples, p value"}}}};
}

}  // namespace

Verb prune_verb() {
  return {.name = "prune",
          .summary = "rank the heads by score and by what is lost without each",
          .sections = {"prune"},
          .own = {kPointOption,
                  {"--theory", "FILE,...",
                   "for a result of headway train only: as --theory of headway prune-network",
                   &Options::theory, Offers::kFiles}},
          .about = kPruneAbout,
          .tables = prune_tables(),
          .examples = {{"headway prune four.h5", "heads of a study, from a result of solve"},
                       {"headway prune heads.h5 --set model.widths=[100]",
                        "heads of a trained network, from a data set of extract"}},
          .print = printed(&prune_table, &network_prune_table)};
}

}  // namespace headway::cli
