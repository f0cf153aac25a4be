#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/gram_results.hpp"
#include "headway/results/table.hpp"
#include "jobs/json_text.hpp"
#include "result_tables.hpp"

namespace headway::cli {

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

}  // namespace headway::cli
