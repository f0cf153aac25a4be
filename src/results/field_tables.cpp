#include "headway/results/field_tables.hpp"

#include <algorithm>
#include <utility>

#include "headway/core/text.hpp"
#include "headway/evaluate_results.hpp"
#include "headway/gram_results.hpp"
#include "headway/latents_results.hpp"
#include "headway/network_predict_results.hpp"
#include "headway/network_prune_results.hpp"
#include "headway/predict_results.hpp"
#include "headway/provenance.hpp"
#include "headway/prune_results.hpp"
#include "headway/rank_results.hpp"
#include "headway/results/choice.hpp"
#include "headway/sample_results.hpp"
#include "headway/train_results.hpp"

namespace headway {
namespace {

template <class Record>
FieldTable table(std::string key, std::string title, std::vector<FieldTable::Place> places,
                 const Record& record = {}) {
  return {std::move(key), std::move(title), std::move(places), list_fields(record)};
}

template <class Record>
FieldTable table_in_files(std::string key, std::string title,
                          std::vector<FieldTable::Place> places) {
  FieldTable made = table<Record>(std::move(key), std::move(title), std::move(places));
  for (ListedField& field : made.fields) field.json.clear();
  return made;
}

constexpr const char* kTheory = "solve align prune sample";

std::vector<FieldTable> tables_of_theory() {
  SamplePoint sample;
  sample.order_parameters.resize(1);
  sample.attention.emplace();
  return {table_in_files<ResultProvenance>("provenance", "The root", {{"", ""}}),
          table<SolveResult>("result", "The root, but for train", {{kTheory, ""}}),
          table<SolvePoint>(
              "point", "`points/<i>` of solve, align and prune; `points/<i>/theory` of sample",
              {{"solve align prune", "points/<i>/"}, {"sample", "points/<i>/theory/"}}),
          table<AttentionMinimum>(
              "minimum", "`points/<i>/minima/<k>` of solve, where attention is learned", {}),
          table<GaussianProcessPoint>("limit", "`gaussian_process/<j>`",
                                      {{kTheory, "gaussian_process/<j>/"}}),
          table<TemperatureChoice>("choice", "`chosen/<k>`", {{kTheory, "chosen/<k>/"}}),
          table<AlignPoint>("alignment", "`points/<i>/alignment`",
                            {{"align", "points/<i>/alignment/"}}),
          table<PrunePoint>("pruning", "`points/<i>/pruning`", {{"prune", "points/<i>/pruning/"}}),
          table<NetworkScore>("network_score",
                              "`network/scores/<name>` and `points/<i>/network/scores/<name>`",
                              {{"prune", "points/<i>/network/scores/<name>/"}}),
          table<NetworkPruning>("network", "`network`", {{"prune", "network/"}}),
          table("sample", "`points/<i>` of sample, layer 1 for each layer",
                {{"sample", "points/<i>/"}}, sample),
          table<PredictedPoint>("predicted_point", "`points/<i>` of predict",
                                {{"predict", "points/<i>/"}})};
}

std::vector<FieldTable> tables_of_networks() {
  return {
      table<PredictingRun>("predicting_run", "`runs/<i>` of predict on a train result",
                           {{"network_predict", "runs/<i>/"}}),
      table<PredictingGroup>("predicting_group", "`groups/<g>` of predict on a train result",
                             {{"network_predict", "groups/<g>/"}}),
      table<TrainedRun>("run",
                        "`runs/<i>` of train, which also has `curves/<split>`, `weights/<name>`, "
                        "`best_weights/<name>` and, where predicting needs it, `format` or "
                        "`tokenizer`",
                        {{"train", "runs/<i>/"}}),
      table<TrainGroup>("group", "`groups/<g>` of train", {{"train", "groups/<g>/"}}),
      table<RunPruning>("network_run",
                        "`runs/<i>` of prune-network; r2 in place of accuracy where that is the "
                        "metric",
                        {{"network_prune", "runs/<i>/"}}),
      table<PruneGroup>("network_group", "`groups/<g>` of prune-network",
                        {{"network_prune", "groups/<g>/"}}),
      table<LatentRun>("latent_run", "`runs/<i>` of latents", {{"latents", "runs/<i>/"}}),
      table<LatentGroup>("latent_group", "`groups/<g>` of latents", {{"latents", "groups/<g>/"}}),
      table<EvaluatedRun>("evaluated_run", "`runs/<i>` of evaluate", {{"evaluate", "runs/<i>/"}}),
      table<EvaluatedGroup>("evaluated_group", "`groups/<g>` of evaluate",
                            {{"evaluate", "groups/<g>/"}}),
      table<HeadRanking>("ranking", "`runs/<i>` of rank", {{"rank", "runs/<i>/"}}),
      table_in_files<GramResult>("gram", "Gram matrices (the root has the provenance too)", {})};
}

}  // namespace

std::vector<FieldTable> field_tables() {
  std::vector<FieldTable> all = tables_of_theory();
  for (FieldTable& one : tables_of_networks()) all.push_back(std::move(one));
  return all;
}

Documentation documentation_of(std::string_view verb) {
  Documentation out;
  for (const FieldTable& table : field_tables()) {
    for (const auto& [verbs, group] : table.places) {
      const std::vector<std::string> known = split(verbs, ' ');
      if (!verbs.empty() && std::find(known.begin(), known.end(), verb) == known.end()) continue;
      for (const ListedField& field : table.fields) {
        if (field.name.empty()) continue;
        out.field.push_back(group + field.name);
        out.meaning.push_back(field.meaning);
      }
    }
  }
  return out;
}

}  // namespace headway
