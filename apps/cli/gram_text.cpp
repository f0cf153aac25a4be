#include "gram_text.hpp"

#include <fmt/format.h>

#include "json_text.hpp"
#include "table.hpp"

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
  return json_text(out);
}

}  // namespace

std::string gram_text(const Options& options, const GramResult& result) {
  if (options.json) return gram_json(result);
  std::string text =
      fmt::format("{} examples, heads [{}]", result.examples(), numbers_text(result.heads));
  if (!result.is_part()) {
    text +=
        fmt::format(", D = p N_0 = {}, {} outputs", result.data.gram.rows(), result.data.outputs());
  }
  text += "\n";
  for (const GramSet& set : result.sets) {
    text +=
        fmt::format("further set {}: {} examples, kept as they are\n", set.name, set.labels.rows());
  }
  return text;
}

}  // namespace headway::cli
