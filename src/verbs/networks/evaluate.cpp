#include "headway/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/parallel.hpp"
#include "headway/core/text.hpp"
#include "headway/study/sections.hpp"
#include "headway/training/task_adapters.hpp"
#include "verbs/networks/keep_runs.hpp"

namespace headway {
namespace {

EvaluatedRun evaluate_one(const TrainedNetwork& network, const Study& study,
                          const TaskMaker& make_task) {
  EvaluatedRun out;
  static_cast<NetworkRun&>(out) = run_of(network);
  out.step = network.step;
  out.held_out_seen = held_out_seen_in_training(network, study);
  out.task = section_text(study, "task");
  const ReadyNetwork ready = ready_network(network, study, make_task);
  const bool arrays = study.task.kind() == TaskKind::kArrays;
  for (const std::string& split : ready.task.task->splits()) {
    Index examples = study.evaluate.examples;
    if (arrays) {  // each example once, under the name of its set
      if (split == training::kSeenSplit) continue;
      if (examples == 0) examples = ready.trainer->options().eval_examples;
      if (split == "train") examples = std::min(examples, ready.task.task->train_examples());
    }
    out.evaluations.emplace_back(split, ready.trainer->evaluate(split, examples));
  }
  return out;
}

}  // namespace

EvaluateResult evaluate(const std::vector<TrainedNetwork>& networks, const TaskChange& change,
                        const TaskMaker& make_task, Observer& observer) {
  EvaluateResult result;
  std::vector<Study> studies;  // all before the first, so that faults show early
  for (const TrainedNetwork& network : networks) studies.push_back(changed_study(network, change));
  std::vector<std::string> texts;
  for (const Study& study : studies) texts.push_back(section_text(study, "task"));
  result.task = task_of_all(texts);
  keep_runs(result, networks, observer, [&](const TrainedNetwork& network) {
    const std::size_t i = result.runs.size();
    result.threads = resolve_threads(studies[i].threads);
    EvaluatedRun run = evaluate_one(network, studies[i], make_task);
    warn_of_seen_tasks(fmt::format("{}, seed {}", run.label, run.seed), run.held_out_seen,
                       studies[i], observer);
    observer.whole("evaluate", static_cast<double>(i + 1), static_cast<double>(networks.size()));
    return run;
  });
  return result;
}

std::string task_of_all(const std::vector<std::string>& tasks) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& task : tasks) lines.push_back(split(task, '\n'));
  std::string out;
  for (const std::string& line : lines.front()) {
    const std::string key = line.substr(0, line.find(" = "));
    std::vector<std::string> values;  // each once
    for (const std::vector<std::string>& other : lines) {
      const auto found = std::ranges::find_if(other, [&](const std::string& candidate) {
        return candidate == key || candidate.starts_with(key + " = ");
      });
      std::string value = found == other.end() ? "absent" : *found;
      if (value.starts_with(key + " = ")) value.erase(0, key.size() + 3);
      if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
    }
    out += values.size() == 1
               ? line
               : fmt::format("# {}: {}, of each network its own", key, join(values, ", "));
    out += '\n';
  }
  return out;
}

}  // namespace headway
