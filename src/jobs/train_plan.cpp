#include "jobs/train_plan.hpp"

#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/results/table.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/training/backend.hpp"
#include "jobs/json_text.hpp"

namespace headway::jobs {

std::string train_plan_text(const Study& study, const TrainPlan& plan, const std::string& output) {
  const std::vector<PlannedRun>& runs = plan.runs;
  std::string out =
      wrapped(fmt::format("{}: {}, {}{}{}\n\n", study.name, word_of(study.task.kind()),
                          runs.size() == plan.in_all ? "" : fmt::format("{} of ", runs.size()),
                          count_text(plan.in_all, "run"),
                          output.empty() ? ", without a result file" : ", into " + output));
  Table table({"run", "variant<", "seed", "tokens", "parameters", "flops/step", "attention",
               "steps", "flops", "device"});
  double total = 0.0;
  for (const PlannedRun& run : runs) {
    const auto steps = static_cast<double>(run.study.train.run.steps);
    total += steps * run.cost.flops_per_step;
    table.add({std::to_string(run.number), run.label, std::to_string(run.seed),
               std::to_string(run.format.tokens), std::to_string(run.cost.parameters),
               amount_text(run.cost.flops_per_step, "flop"),
               fmt::format("{:.0f} %",
                           100.0 * run.cost.attention_flops_per_step / run.cost.flops_per_step),
               std::to_string(run.study.train.run.steps),
               amount_text(steps * run.cost.flops_per_step, "flop"), run.cost.device});
  }
  out += table.text();
  const std::string ceilings = ceilings_text(plan.ceilings);
  if (!ceilings.empty()) out += "\n" + wrapped(ceilings);
  out += fmt::format("\nall runs {}\nstudy hash {}\n", amount_text(total, "flop"),
                     headway::study_hash(study));
  const std::string obstacle = training::training_obstacle();
  if (!obstacle.empty()) out += fmt::format("this program can plan but not train: {}\n", obstacle);
  return out;
}

std::string train_plan_json(const Study& study, const TrainPlan& plan) {
  const auto add = [](nlohmann::ordered_json& out, const PlannedRun& run) {
    out["variant"] = run.variant;
    out["label"] = run.label;
    out["seed"] = run.seed;
    out["parameters"] = run.cost.parameters;
    out["flops_per_step"] = run.cost.flops_per_step;
    out["attention_flops_per_step"] = run.cost.attention_flops_per_step;
    out["device"] = run.cost.device;
    out["tokens"] = run.format.tokens;
    out["batch"] = run.study.train.run.batch;
    out["steps"] = run.study.train.run.steps;
  };
  nlohmann::ordered_json out;
  out["dry_run"] = true;
  out["verb"] = "train";
  out["study"] = study.name;
  out["study_hash"] = headway::study_hash(study);
  out["task"] = word_of(study.task.kind());
  out["can_train"] = training::training_available();
  if (!plan.runs.empty()) add(out, plan.runs.front());
  for (const auto& [split, best] : plan.ceilings) {
    for (const CeilingNumber& ceiling : headway::ceiling_numbers()) {
      out["ceilings"][split][ceiling.name] = best.*ceiling.number;
    }
  }
  out["runs"] = nlohmann::ordered_json::array();
  for (const PlannedRun& run : plan.runs) {
    nlohmann::ordered_json one;
    add(one, run);
    out["runs"].push_back(std::move(one));
  }
  return json_text(out, -1);
}

}  // namespace headway::jobs
