#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/gram_results.hpp"
#include "headway/results/table.hpp"
#include "jobs/json_text.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::string gram_json(const GramResult& result) {
  nlohmann::ordered_json out;
  out["examples"] = result.examples();
  out["heads"] = result.heads;
  if (!result.is_part()) {
    out["columns"] = result.data.gram.rows();
    out["outputs"] = result.data.outputs();
  }
  out["sources"] = result.sources;
  out["sets"] = nlohmann::ordered_json::object();
  for (const GramSet& set : result.sets) out["sets"][set.name] = set.labels.rows();
  out["seconds"] = result.seconds;
  return jobs::json_text(out);
}

std::string gram_text(const GramResult& result) {
  std::string text = fmt::format("{}, heads [{}]", count_text(result.examples(), "example"),
                                 numbers_text(result.heads));
  if (!result.is_part()) {
    text += fmt::format(", D = p N_0 = {}, {}", result.data.gram.rows(),
                        count_text(result.data.outputs(), "output"));
  }
  text += "\n";
  for (const GramSet& set : result.sets) {
    text += fmt::format("further set {}: {}, kept as they are\n", set.name,
                        count_text(set.labels.rows(), "example"));
  }
  return text;
}

}  // namespace

std::string print_gram(const Options& options, const jobs::Job& job) {
  const GramResult& result = *job.result<GramResult>();
  return options.json ? gram_json(result) : gram_text(result);
}

Verb gram_verb() {
  return {
      .name = headway::kGramVerb,
      .summary = "sum data sets of any size into a Gram matrix for solve, sample and prune",
      .sections = {"model"},
      .own = {kShardOption},
      .about =
          "Reads files of path features once, in blocks, and writes their Gram matrix, which has "
          "the same size for any number of examples. solve, sample and prune take it in place of "
          "the data.",
      .examples = {{"headway gram part-*.h5 -o all.h5", "then headway solve all.h5"}},
      .more_inputs = "further data-set files, whose examples are added",
      .input = "data-set file (HDF5)",
      .print = &print_gram};
}

}  // namespace headway::cli
