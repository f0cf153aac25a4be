#include "columns.hpp"
#include "headway/predict_results.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

Verb predict_verb() {
  return {
      .name = PredictResult::kVerb,
      .summary = "predict new inputs, without labels",
      .sections = {"solve", "evaluate"},
      .own = {kPointOption},
      .about =
          "Gives the mean and the standard deviation of the predictor on new inputs, and the "
          "probability that the predictor has the sign of its mean. Every point of the result "
          "predicts. Nothing is solved or sampled again; the data of the result must still be "
          "where its study says. A result of sample predicts with the mean over its draws of U_1. "
          "Of a result of train the networks themselves predict: their answers, as mean and "
          "spread over seeds. Networks of text take a text file; they give the bits of its tokens "
          "and the likeliest next ones. --set evaluate.weights=last takes the last weights.",
      .tables =
          {{"Columns",
            {kWidthsColumn,
             kTemperatureColumn,
             {"set", "set of the new inputs"},
             {"example", "number of the example in its set, from 1"},
             {"mean", "mean of the predictor, one number for each output"},
             {"sd", "standard deviation of the predictor, likewise"},
             {"right sign",
              "probability that the predictor has the sign of its mean; of two classes alone"},
             {"class",
              "sign of the mean; of several outputs the largest one, counted from 0; real targets "
              "have none"}}},
           {"Columns of trained networks",
            {kVariantColumn,
             kSeedsColumn,
             {"mean, sd", "output of the network, its mean and standard deviation over seeds"},
             {"right sign", "share of the seeds whose output has the sign of the mean"},
             {"class", "sign of the mean, or the likeliest class of each scored token"},
             {"probability", "of that class, or of that next token"},
             {"bits/byte", "of a text: bits over bytes, of all tokens but the first"},
             {"next token", "the likeliest tokens after the end of the text"}}}},
      .examples = {{"headway predict four.h5 new.h5 -o predictions.h5",
                    "new inputs, with the result of solve or sample"},
                   {"headway predict trained.h5 new.h5", "the same, by trained networks"},
                   {"headway predict text.h5 letter.txt", "a text, by networks of text"}},
      .more_inputs =
          "data set of the new inputs (HDF5): further sets, which need no labels; for "
          "networks of text a text file",
      .input = "result of headway solve, sample or train (HDF5)",
      .seeded = false,
      .print = printed(&predict_table, &network_predict_table)};
}

}  // namespace headway::cli
