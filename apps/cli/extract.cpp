#include <fmt/format.h>

#include "verbs.hpp"

namespace headway::cli {

namespace {

std::string closing(const Options& options, const jobs::Outcome& /*outcome*/) {
  if (options.output.empty()) return "";
  return fmt::format("data set in {0}; to solve the theory of it: headway solve {0}",
                     options.output);
}

std::vector<CommandOption> extract_options() {
  CommandOption form{"--form", "FORM", "of a transformer: contributions (default) or attention",
                     &Options::form, Offers::kWords};
  form.words = {"contributions", "attention"};
  return {{"--layers", "L,...",
           "of a transformer: layers whose parts are told apart, from 1; the last one by default",
           &Options::layers},
          form};
}

}  // namespace

Verb extract_verb() {
  return {
      .name = "extract",
      .summary = "turn a trained network into a data set of the theory",
      .sections = {"extract"},
      .tasks = headway::Side::kTraining,
      .own = extract_options(),
      .about =
          "Writes a data set that solve, align, prune and sample take: the heads of the network "
          "on "
          "its examples. Of a transformer it writes what the parts of its layers contribute, or "
          "their attention alone.",
      .tables = {{"Columns",
                  {{"split", "which examples: train, test, validation and further sets"},
                   {"examples", "how many of them are written"},
                   {"accuracy, squared error", "of the trained network itself on these examples"},
                   {"U_1 of its weights",
                    "below the table, for networks of attention paths: the order parameter of the "
                    "trained weights"}}}},
      .examples = {{"headway extract trained.h5 -o heads.h5", "then headway prune heads.h5"},
                   {"headway extract hyla.h5 --layers 1,2 --set extract.run=2 -o parts.h5",
                    "two layers of the second run of a sweep"}},
      .input = kTrainedInput,
      .seeded = false,
      .closing = &closing};
}

}  // namespace headway::cli
