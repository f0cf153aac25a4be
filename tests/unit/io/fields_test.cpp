// src/io/README.md and apps/python/headway/fields.json say of every field what the lists say.
// HEADWAY_WRITE_FIELDS=1 build/release/bin/unit_sanitized_tests -# "[#fields_test]" writes both
// anew.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "catch.hpp"
#include "field_table.hpp"
#include "headway/evaluate.hpp"
#include "headway/gram.hpp"
#include "headway/latents.hpp"
#include "headway/predict.hpp"
#include "headway/predict_networks.hpp"
#include "headway/prune_network.hpp"
#include "headway/rank_results.hpp"
#include "headway/result_file.hpp"
#include "headway/results/choice.hpp"
#include "headway/sample_results.hpp"
#include "headway/train.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

struct Section {
  std::string key;    ///< in fields.json
  std::string title;  ///< in the README
  std::vector<ListedField> fields;
};

std::vector<Section> sections() {
  headway::SamplePoint sample;
  sample.order_parameters.resize(1);
  sample.attention.emplace();
  std::vector<ListedField> provenance = list_fields(headway::ResultProvenance{});
  std::vector<ListedField> gram = list_fields(headway::GramResult{});
  for (std::vector<ListedField>* only_in_files : {&provenance, &gram})
    for (ListedField& field : *only_in_files) field.json.clear();
  return {{"provenance", "The root", provenance},
          {"result", "The root, but for train", list_fields(headway::SolveResult{})},
          {"point", "`points/<i>` of solve, align and prune; `points/<i>/theory` of sample",
           list_fields(headway::SolvePoint{})},
          {"minimum", "`points/<i>/minima/<k>` of solve, where attention is learned",
           list_fields(headway::AttentionMinimum{})},
          {"limit", "`gaussian_process/<j>`", list_fields(headway::GaussianProcessPoint{})},
          {"choice", "`chosen/<k>`", list_fields(headway::TemperatureChoice{})},
          {"alignment", "`points/<i>/alignment`", list_fields(headway::AlignPoint{})},
          {"pruning", "`points/<i>/pruning`", list_fields(headway::PrunePoint{})},
          {"network_score", "`network/scores/<name>` and `points/<i>/network/scores/<name>`",
           list_fields(headway::NetworkScore{})},
          {"network", "`network`", list_fields(headway::NetworkPruning{})},
          {"sample", "`points/<i>` of sample, layer 1 for each layer", list_fields(sample)},
          {"predicted_point", "`points/<i>` of predict", list_fields(headway::PredictedPoint{})},
          {"predicting_run", "`runs/<i>` of predict on a train result",
           list_fields(headway::PredictingRun{})},
          {"predicting_group", "`groups/<g>` of predict on a train result",
           list_fields(headway::PredictingGroup{})},
          {"run",
           "`runs/<i>` of train, which also has `curves/<split>`, `weights/<name>` and "
           "`best_weights/<name>`",
           list_fields(headway::TrainedRun{})},
          {"group", "`groups/<g>` of train", list_fields(headway::TrainGroup{})},
          {"network_run",
           "`runs/<i>` of prune-network; r2 in place of accuracy where that "
           "is the metric",
           list_fields(headway::RunPruning{})},
          {"network_group", "`groups/<g>` of prune-network", list_fields(headway::PruneGroup{})},
          {"latent_run", "`runs/<i>` of latents", list_fields(headway::LatentRun{})},
          {"latent_group", "`groups/<g>` of latents", list_fields(headway::LatentGroup{})},
          {"evaluated_run", "`runs/<i>` of evaluate", list_fields(headway::EvaluatedRun{})},
          {"evaluated_group", "`groups/<g>` of evaluate", list_fields(headway::EvaluatedGroup{})},
          {"ranking", "`runs/<i>` of rank", list_fields(headway::HeadRanking{})},
          {"gram", "Gram matrices (the root has the provenance too)", gram}};
}

/// A text as Markdown's tables take it.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, "\\");
  }
  return text;
}

std::string markdown() {
  std::string out;
  for (const Section& section : sections()) {
    out += "\n" + section.title + ":\n\n| in the file | in JSON | meaning |\n|---|---|---|\n";
    for (const ListedField& f : section.fields) {
      const std::string file =
          f.name.empty() ? "" : "`" + f.name + "`" + (f.kind == "array" ? " (array)" : "");
      const std::string json = f.json.empty()     ? ""
                               : f.json == f.name ? "the same"
                                                  : "`" + f.json + "`";
      out += "| " + file + " | " + json + " | " + cell(f.meaning) + " |\n";
    }
  }
  return out + "\n";
}

std::string json() {
  nlohmann::ordered_json out;
  for (const Section& section : sections()) {
    for (const ListedField& f : section.fields) {
      if (f.name.empty()) continue;
      nlohmann::ordered_json& field = out[section.key][f.name];
      field = {{"kind", f.kind}, {"type", f.type}, {"meaning", f.meaning}};
      if (!f.axes.empty()) field["axes"] = f.axes;
    }
  }
  return out.dump(1) + "\n";
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// The README with `table` between its two marks.
std::string with_table(const std::string& readme, const std::string& table) {
  const std::string begin = "<!-- fields:begin -->\n", end = "<!-- fields:end -->";
  const std::size_t from = readme.find(begin), to = readme.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  return readme.substr(0, from + begin.size()) + table + readme.substr(to);
}

void check(const std::string& path, const std::string& wanted) {
  if (std::getenv("HEADWAY_WRITE_FIELDS") != nullptr) std::ofstream(path) << wanted;
  INFO(path << " is not what the lists say: HEADWAY_WRITE_FIELDS=1 with this test writes it anew");
  CHECK((read(path) == wanted));
}

}  // namespace

TEST_CASE("The table of fields in src/io/README.md is that of the lists") {
  const std::string path = HEADWAY_SOURCE_DIR "/src/io/README.md";
  check(path, with_table(read(path), markdown()));
}

TEST_CASE("The fields that Python documents are those of the lists") {
  check(HEADWAY_SOURCE_DIR "/apps/python/headway/fields.json", json());
}
