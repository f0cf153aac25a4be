#include "headway/study/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headway/core/text.hpp"
#include "study/sweep_axes.hpp"

namespace headway {
namespace {

template <class Part, class Access>
Section section(std::string name, std::string help, Access part, const OptionTable<Part>& table,
                Side side) {
  return {std::move(name), std::nullopt, std::move(help), options_of_part<Study>(part, table),
          side};
}

std::vector<Section> make_sections() {
  const auto task = [](auto& study) -> auto& { return study.task; };
  std::vector<Section> all = {
      {"", std::nullopt, "", Study::table(), Side::kBoth},
      section("task", "what makes the examples", task, TaskOptions::table(), Side::kBoth)};
  for (const TaskDescription& kind : task_kinds()) {
    all.push_back(section("task", kind.help, task, kind.table, Side::kBoth));
    all.back().task = kind.kind;
  }
  const auto add = [&all](Section section) { all.push_back(std::move(section)); };
  add(section(
      "model", "the network. Each width with each temperature is one sweep point.",
      [](auto& study) -> auto& { return study.model; }, ModelOptions::table(), Side::kTheory));
  add(section(
      "solve", "how the saddle point is found", [](auto& study) -> auto& { return study.solve; },
      SolveOptions::table(), Side::kTheory));
  add(section(
      "align", "overlap of the kernel's eigenvectors with the labels",
      [](auto& study) -> auto& { return study.align; }, AlignOptions::table(), Side::kTheory));
  add(section(
      "prune", "scores of heads, and what removing them costs",
      [](auto& study) -> auto& { return study.prune; }, PruneOptions::table(), Side::kBoth));
  add(section(
      "sample", "how the posterior is sampled", [](auto& study) -> auto& { return study.sample; },
      SampleOptions::table(), Side::kTheory));
  add(section(
      "train", "which network is trained, and how",
      [](auto& study) -> auto& { return study.train; }, TrainOptions::table(), Side::kTraining));
  add(section(
      "extract", "how a trained network becomes a data set of the theory",
      [](auto& study) -> auto& { return study.extract; }, ExtractOptions::table(),
      Side::kTraining));
  add(section(
      "evaluate", "how trained networks are evaluated on other data of their kind",
      [](auto& study) -> auto& { return study.evaluate; }, EvaluateOptions::table(),
      Side::kTraining));
  add(section(
      "latents", "latent codes of trained networks, and what is decoded from them",
      [](auto& study) -> auto& { return study.latents; }, LatentsOptions::table(),
      Side::kTraining));
  add(section(
      "rank", "heads by what their removal costs, with errors",
      [](auto& study) -> auto& { return study.rank; }, RankOptions::table(), Side::kBoth));
  return all;
}

}  // namespace

const std::vector<Section>& study_sections() {
  static const std::vector<Section> sections = make_sections();
  return sections;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Section& section : study_sections()) {
    const bool known = std::find(names.begin(), names.end(), section.name) != names.end();
    if (!section.name.empty() && !known) names.push_back(section.name);
  }
  return names;
}

bool applies(const Section& section, TaskKind kind) {
  if (section.side != Side::kBoth && section.side != description_of(kind).side) return false;
  return !section.task || *section.task == kind;
}

const Option<Study>* find_option(const std::string& key, TaskKind kind) {
  const std::size_t dot = key.find('.');
  const std::string name = dot == std::string::npos ? "" : key.substr(0, dot);
  const std::string rest = dot == std::string::npos ? key : key.substr(dot + 1);
  for (const Section& section : study_sections()) {
    if (section.name != name || !applies(section, kind)) continue;
    for (const Option<Study>& o : section.table.options) {
      if (o.name == rest) return &o;
    }
  }
  return nullptr;
}

namespace {

/// The sections that `wanted` takes.
template <class Wanted>
std::string sections_text(const Study& study, const Wanted& wanted) {
  std::string out;
  std::string open_section;
  for (const Section& section : study_sections()) {
    if (!applies(section, study.task.kind()) || !wanted(section.name)) continue;
    if (section.name != open_section) out += fmt::format("\n[{}]\n", section.name);
    open_section = section.name;
    for (const Option<Study>& o : section.table.options) {
      const std::string text = o.write(study);
      if (!text.empty()) out += fmt::format("{} = {}\n", o.name, text);
    }
  }
  return out;
}

}  // namespace

std::string study_text(const Study& study, const std::vector<std::string>& left_out) {
  const auto wanted = [&](const std::string& name) {
    return std::find(left_out.begin(), left_out.end(), name) == left_out.end();
  };
  return sections_text(study, wanted) + sweep_text(study.sweep);
}

std::string section_text(const Study& study, const std::string& name) {
  return sections_text(study, [&](const std::string& other) { return other == name; });
}

}  // namespace headway
