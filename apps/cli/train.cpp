#include "columns.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

CommandOption jobs_option() {
  CommandOption jobs{"--jobs", "N",
                     "runs at once, each with its share of the cores or --threads; by default as "
                     "many as the cores allow, on a GPU 16; changes no result, except with "
                     "train.eager",
                     &Options::jobs};
  jobs.least = 1;
  return jobs;
}

std::vector<ExplainedTable> train_tables() {
  return {
      {"A row for each variant",
       {kVariantColumn,
        kSeedsColumn,
        {"parameters", "numbers that are trained"},
        {"flops/step", "floating-point operations of a training step"},
        {"train loss",
         "training loss since the record before, at most train.log_every steps, of texts in nats "
         "a token; mean over "
         "seeds with its standard error"},
        {"SPLIT METRIC",
         "a column for each split and metric, \"held_out r2\" say: score at the end, mean over "
         "seeds with its standard error; - where a row has none"},
        {"steps/s", "training steps for each second"},
        {"seconds", "time that training took, all seeds together"},
        {"*", "marks a row with runs that were interrupted or diverged; no mean has them"}}},
      {"With --dry-run, a row for each run",
       {{"run, seed", "its number in the sweep, and its seed"},
        {"tokens", "length of a sequence"},
        {"attention", "share of the operations that attention takes"},
        {"steps, flops", "steps of the run, and its operations in all"},
        {"device", "where it would be trained"}}}};
}

}  // namespace

Verb train_verb() {
  return {
      .name = "train",
      .summary = "train transformers, or networks of attention paths",
      .sections = {"", "task", "train", "sweep"},
      .tasks = headway::Side::kTraining,
      .own = {{"--export", "FILE",
               "write the parameters at the end (not those of the best checkpoint) as NumPy "
               "arrays (.npz) or .safetensors; several runs of a sweep get a numbered file each",
               &Options::weights, Offers::kFiles},
              jobs_option(),
              kShardOption},
      .about =
          "Trains networks with softmax, linear or hypernetwork (HYLA) attention on fuzzy logic "
          "in "
          "context, symbolic Raven matrices, one-shot images, text or examples of your own "
          "(task.kind = \"arrays\"). [sweep] makes a grid of runs. After Ctrl-C the same command "
          "goes on to the same bits. Needs LibTorch.",
      .tables = train_tables(),
      .examples = {{"headway train fuzzy-logic-small -o small.h5", "nine networks, ten minutes"},
                   {"headway train sraven-small --dry-run", "parameters, costs and device only"},
                   {"headway train text-small --export weights.npz", "and the parameters"},
                   {"headway train examples.h5 -o own.h5", "a file of headway.write_examples"}},
      .input =
          "study (TOML), the name of one that comes with Headway, a file of examples, or a result "
          "of headway train (HDF5), which is trained again",
      .json =
          "print JSON lines and nothing else: one object for each record of training, and the "
          "result in the last line",
      .print = printed(&train_table)};
}

}  // namespace headway::cli
