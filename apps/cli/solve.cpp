#include "columns.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::vector<ExplainedTable> solve_tables() {
  return {
      {"First table, the saddle point",
       {kWidthsColumn,
        kTemperatureColumn,
        kAccuracyColumn,
        {"GP", "the same number for the Gaussian process, the limit of infinite width"},
        kSetsColumns,
        kReadoutColumn,
        kDiagonalColumn,
        kSecondsColumn,
        {"*", "marks a point that did not converge"},
        {"S/max N",
         "below the table: the action divided by the largest width; the largest entry of "
         "its gradient in any row, and the smallest eigenvalue of its Hessian, which is "
         "above 0 at a minimum"}}},
      {"Minima, where model.attention_prior lets attention be learned",
       {{"S/max N", "joint action of order parameters and attention, lowest first"},
        kReadoutColumn,
        {"entropy", "of a head's attention at the tokens that the readout takes, last layer, mean"},
        {"largest", "largest weight of the heads' mean attention there, mean over examples"},
        {"starts", "starts of solve.attention_starts that led here, heads exchanged or not"},
        kDiagonalColumn}},
      {"Hidden weights, where model.value_network gives values a hidden layer",
       {{"S eigenvalues", "largest eigenvalues of the covariance S of the hidden weights"},
        {"dimension", "effective dimension (tr S)^2 / tr S^2, of so many"},
        {"share of each head", "of its block in tr S"}}},
      {"Second table, 1/N-corrected means where the correction exists",
       {{"accuracy, U_a", "as above, with the next order of 1/N"},
        {"U_1 diagonal +- posterior deviation",
         "mean of each diagonal entry, and how far posterior draws lie from it"}}},
      {"Third table, the temperature that each rule chooses, where several are swept",
       {{"widths", "of the network; GP is the Gaussian process"},
        {"chosen by",
         "validation: largest accuracy on the set of that name, then smallest squared error; "
         "evidence: largest log p(y); test labels: as validation, on the test set, which is "
         "optimistic"},
        {"T, accuracy", "the temperature, and the accuracy there"},
        {"log evidence", "log p(y) in nats at that temperature"}}}};
}

}  // namespace

Verb solve_verb() {
  return Verb{
      .name = "solve",
      .summary = "solve the theory at every width and temperature of a study",
      .sections = {"", "task", "model", kAttentionPriorSection, kValueNetworkSection, "solve"},
      .tasks = headway::Side::kTheory,
      .own = {kShardOption},
      .about =
          "Finds the saddle point of the action at each width and temperature of the "
          "study. The "
          "order parameters there say how the network weighs its attention paths. The "
          "table shows "
          "them beside the accuracy of the mean predictor and that of the Gaussian "
          "process, the "
          "limit of infinite width. Every entry of model.widths and of model.temperature "
          "makes a "
          "row.",
      .tables = solve_tables(),
      .examples = {{"headway solve hmm-four-paths", "a study that comes with Headway"},
                   {"headway solve hmm-four-paths -o four.h5", "and keep everything"},
                   {"headway solve data.h5 --set model.widths=[10,100]",
                    "a data set, with two widths"},
                   {"headway solve four.h5", "compute a result again"}},
      .print = printed(&solve_table)};
}

}  // namespace headway::cli
