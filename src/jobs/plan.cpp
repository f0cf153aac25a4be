#include "jobs/plan.hpp"

#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/results/table.hpp"
#include "headway/study/study_hash.hpp"
#include "jobs/json_text.hpp"

namespace headway::jobs {

namespace {

std::string calibration_text(const TheoryPlan& plan, const Study& study) {
  std::string text =
      fmt::format("{} with a chain each at every point: {:.3g} times the transitions of the draws",
                  count_text(study.sample.calibrate, "network"),
                  plan.calibration_transitions / plan.draw_transitions);
  if (plan.calibration_flops > 0) {
    text += fmt::format("; {} for their kernels, {} of them in memory",
                        amount_text(plan.calibration_flops, "flop"),
                        amount_text(plan.calibration_bytes, "B"));
  }
  return text;
}

}  // namespace

std::string plan_text(const TheoryPlan& plan, const Study& study, const std::string& verb,
                      const std::string& output) {
  std::string out;
  const auto line = [&out](const std::string& name, const std::string& value) {
    constexpr std::size_t kWidth = 18;
    out += fmt::format("{:<{}}{}\n", name, kWidth, indented(value, kWidth));
  };
  line("study", study.name);
  line("verb", verb);
  line("output", output.empty() ? "none; -o FILE.h5 keeps the result" : output);
  line("train, test",
       fmt::format("{}, {}", plan.train_examples, count_text(plan.test_examples, "example")));
  for (const auto& [name, examples] : plan.sets) {
    line("further set", fmt::format("{}, {}", name, count_text(examples, "example")));
  }
  if (plan.tokens > 0) line("tokens", std::to_string(plan.tokens));
  line("features", std::to_string(plan.features));
  line("outputs", std::to_string(plan.outputs));
  line("heads", fmt::format("[{}], {}", numbers_text(plan.heads), count_text(plan.paths, "path")));
  line("sweep points", fmt::format("{:.0f}", plan.points));
  line("unknowns", fmt::format("{:.0f} at each point", plan.unknowns));
  line("path features", fmt::format("{}, {}", amount_text(plan.path_feature_flops, "flop"),
                                    amount_text(plan.feature_bytes, "B")));
  const theory::KernelCost& cost = plan.kernels;
  line("kernels",
       fmt::format("{}, {}, {}", word_of(cost.form), amount_text(cost.construction_flops, "flop"),
                   amount_text(cost.kernel_bytes, "B")));
  line("one evaluation",
       amount_text(cost.evaluation_flops, "flop") + "; a point takes some tens of them");
  line("one Hessian", amount_text(cost.hessian_flops, "flop"));
  line("memory",
       fmt::format("about {}, less where features have empty directions; {} more for each further "
                   "point that is solved at the same time",
                   amount_text(plan.memory_bytes, "B"), amount_text(plan.point_bytes, "B")));
  if (verb == "sample") {
    line("draws", fmt::format("{} chains of {} after {} of warm-up, sampler {}; about {} in memory",
                              study.sample.chains, study.sample.draws, study.sample.warmup,
                              word_of(study.sample.sampler), amount_text(plan.draw_bytes, "B")));
    if (study.sample.calibrate > 0) line("calibration", calibration_text(plan, study));
  }
  line("study hash", headway::study_hash(study));
  return out;
}

std::string plan_json(const TheoryPlan& plan, const Study& study, const std::string& verb) {
  nlohmann::ordered_json out;
  out["dry_run"] = true;
  out["verb"] = verb;
  out["study"] = study.name;
  out["study_hash"] = headway::study_hash(study);
  out["train_examples"] = plan.train_examples;
  out["test_examples"] = plan.test_examples;
  for (const auto& [name, examples] : plan.sets) out["set_examples"][name] = examples;
  out["tokens"] = plan.tokens;
  out["features"] = plan.features;
  out["outputs"] = plan.outputs;
  out["heads_per_layer"] = plan.heads;
  out["paths"] = plan.paths;
  out["points"] = plan.points;
  out["unknowns"] = plan.unknowns;
  out["path_feature_flops"] = plan.path_feature_flops;
  out["kernels"] = word_of(plan.kernels.form);
  out["kernel_flops"] = plan.kernels.construction_flops;
  out["evaluation_flops"] = plan.kernels.evaluation_flops;
  out["hessian_flops"] = plan.kernels.hessian_flops;
  out["feature_bytes"] = plan.feature_bytes;
  out["kernel_bytes"] = plan.kernels.kernel_bytes;
  out["memory_bytes"] = plan.memory_bytes;
  out["point_bytes"] = plan.point_bytes;
  if (verb == "sample") {
    out["draw_bytes"] = plan.draw_bytes;
    out["draw_transitions"] = plan.draw_transitions;
    out["calibration_transitions"] = plan.calibration_transitions;
    out["calibration_flops"] = plan.calibration_flops;
    out["calibration_bytes"] = plan.calibration_bytes;
  }
  return json_text(out);
}

}  // namespace headway::jobs
