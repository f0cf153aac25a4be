#include "columns.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::vector<ExplainedTable> latents_tables() {
  const Explained layer = {"layer", "of the codes, from 1; all: the codes of all layers together"};
  return {{"First table, what is decoded",
           {kVariantColumn,
            kSeedsColumn,
            layer,
            {"decoder",
             "what is asked: term, bits (fuzzy logic), rule (SRAVEN), a factor of your own "
             "examples, or answer, the right answer"},
            {"metric", "how the answers are scored: f1, balanced_accuracy or r2"},
            {"train", "score on tasks of training"},
            {"held out", "score on tasks never seen, mean over seeds with its standard error"},
            {"+- tasks", "standard error of that score over the held-out tasks"},
            {"chance", "the best score without looking at the codes"},
            {"shuffled", "score of decoders fitted to labels exchanged between tasks"},
            {"untrained", "score with the random weights that training began with"}}},
          {"Second table, how alike the codes are",
           {kVariantColumn,
            layer,
            {"same label, different labels",
             "mean cosine between a code of a training task and one of a held-out task"}}}};
}

}  // namespace

Verb latents_verb() {
  return {
      .name = "latents",
      .summary = "decode what the attention weights of trained networks say of unseen tasks",
      .sections = {"latents"},
      .tasks = headway::Side::kTraining,
      .about =
          "Takes the attention weights of a query-key pair over the heads, the latent code of "
          "that pair. Linear decoders are fitted to the codes of training tasks and asked about "
          "tasks that neither network nor decoder has seen. A study in place of a result is "
          "trained first.",
      .tables = latents_tables(),
      .examples = {{"headway latents small.h5 -o codes.h5", "networks of a train result"},
                   {"headway latents fuzzy-logic-latents -o codes.h5", "a study, trained first"}},
      .input =
          "result of headway train (HDF5) that holds the weights, or a study, which is trained "
          "first",
      .print = printed(&latents_table)};
}

}  // namespace headway::cli
