#include "plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "headway/core/error.hpp"
#include "headway/studies/study_hash.hpp"
#include "table.hpp"

namespace headway::cli {

namespace {

constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

std::string amount(double value, const char* unit) {
  if (value >= 1e12) return fmt::format("{:.3g} T{}", value / 1e12, unit);
  if (value >= 1e9) return fmt::format("{:.3g} G{}", value / 1e9, unit);
  if (value >= 1e6) return fmt::format("{:.3g} M{}", value / 1e6, unit);
  return fmt::format("{:.3g} k{}", value / 1e3, unit);
}

double physical_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Weights of one network with these widths.
double weight_count(const std::vector<Index>& widths, const tasks::Dataset& dataset) {
  double weights = 0;
  double below = static_cast<double>(dataset.features);
  for (std::size_t l = 0; l <= dataset.heads.size(); ++l) {
    const double width = static_cast<double>(widths.size() == 1 ? widths[0] : widths.at(l));
    weights += below * width * (l == 0 ? 1.0 : static_cast<double>(dataset.heads[l - 1]));
    below = width;
  }
  return weights + below * static_cast<double>(dataset.outputs());
}

/// What the draws of `sample` hold at one sweep point.
double draw_bytes(const studies::Study& study, const tasks::Dataset& dataset) {
  const studies::SampleOptions& sample = study.sample;
  double size = static_cast<double>(dataset.outputs());
  // A triangle while sampling, then the whole matrix, and once more in the file to be.
  const auto copies = [](double n) { return n * (n + 1) / 2 + 2 * n * n; };
  double kept = copies(size);  // numbers a draw
  for (auto layer = dataset.heads.rbegin(); layer != dataset.heads.rend(); ++layer) {
    size *= *layer;
    kept += copies(size);
  }
  if (sample.keep_weights && sample.sampler != studies::Sampler::kExact) {
    double most = 0;
    for (const std::vector<Index>& widths : study.model.widths) {
      most = std::max(most, weight_count(widths, dataset));
    }
    kept += 3 * most;
  }
  return 8 * kept * sample.chains * sample.draws;
}

}  // namespace

Plan make_plan(const studies::Study& study, const tasks::Dataset& dataset) {
  Plan plan;
  plan.train_examples = dataset.train.size();
  plan.test_examples = dataset.test ? dataset.test->size() : 0;
  plan.features = dataset.features;
  plan.outputs = dataset.outputs();
  plan.heads = dataset.heads;
  for (const tasks::NamedSplit& set : dataset.sets) {
    plan.sets.emplace_back(set.name, set.split.size());
  }
  const double all = static_cast<double>(plan.train_examples + dataset.evaluated_examples());
  const double train = static_cast<double>(plan.train_examples);
  const double features = static_cast<double>(plan.features);
  const double outputs = static_cast<double>(plan.outputs);
  for (auto layer = dataset.heads.rbegin(); layer != dataset.heads.rend(); ++layer) {
    plan.paths *= *layer;
    const double size = plan.paths * outputs;
    plan.order_parameters += size * (size + 1) / 2;
  }
  plan.order_parameters += outputs * (outputs + 1) / 2;
  plan.points = static_cast<double>(study.model.widths.size()) *
                static_cast<double>(study.model.temperatures.size());
  if (dataset.train.examples != nullptr) {
    plan.tokens = dataset.train.examples->tokens();
    const double tokens = static_cast<double>(plan.tokens);
    double heads = 0;
    for (const int h : dataset.heads) heads += h;
    plan.path_feature_flops = heads * 2 * all * tokens * features * (tokens + features);
  }
  const double pairs = plan.paths * (plan.paths + 1) / 2;
  const double side = train * outputs;
  // A diagonal kernel is symmetric, so it costs half.
  plan.kernel_flops = plan.paths * plan.paths * train * train * features;
  plan.evaluation_flops = 4 * pairs * train * train * outputs * outputs + side * side * side;
  plan.feature_bytes = 8 * all * plan.paths * features;
  plan.kernel_bytes = 8 * pairs * train * train;
  // The feature-space form needs the features and a Gram matrix over the smaller side.
  plan.draw_bytes = draw_bytes(study, dataset);
  const double smaller = std::min(side, plan.paths * features * outputs);
  plan.least_bytes = plan.feature_bytes + 2 * 8 * smaller * smaller;
  return plan;
}

void refuse_more_than_memory(const Plan& plan) {
  const double memory = physical_memory();
  if (plan.least_bytes <= memory) return;
  throw Error(
      ErrorKind::kBadStudy,
      fmt::format("{} examples, {} features and {:.0f} paths need at least {:.1f} GiB: must "
                  "be at most {:.1f} GiB, the memory of this machine",
                  plan.train_examples + plan.test_examples, plan.features, plan.paths,
                  plan.least_bytes / kGibibyte, memory / kGibibyte));
}

void refuse_draws_beyond_memory(const Plan& plan, const studies::Study& study) {
  const double memory = physical_memory();
  if (plan.draw_bytes <= memory) return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("sample.draws = {}: {} chains of them need {:.1f} GiB: must be fewer, or "
                          "thinned, so that they fit into {:.1f} GiB, the memory of this machine",
                          study.sample.draws, study.sample.chains, plan.draw_bytes / kGibibyte,
                          memory / kGibibyte));
}

std::string plan_text(const Plan& plan, const studies::Study& study, const std::string& verb,
                      const std::string& output) {
  std::string out;
  const auto line = [&out](const std::string& name, const std::string& value) {
    out += fmt::format("{:<18}{}\n", name, value);
  };
  line("study", study.name);
  line("would", verb + (output.empty() ? ", without a result file" : ", into " + output));
  line("train, test", fmt::format("{}, {} examples", plan.train_examples, plan.test_examples));
  for (const auto& [name, examples] : plan.sets) {
    line("further set", fmt::format("{}, {} examples", name, examples));
  }
  if (plan.tokens > 0) line("tokens", std::to_string(plan.tokens));
  line("features", std::to_string(plan.features));
  line("outputs", std::to_string(plan.outputs));
  line("heads", fmt::format("[{}], {:.0f} paths", numbers_text(plan.heads), plan.paths));
  line("sweep points", fmt::format("{:.0f}", plan.points));
  line("unknowns", fmt::format("{:.0f} a point", plan.order_parameters));
  line("path features", fmt::format("{}, {}", amount(plan.path_feature_flops, "flop"),
                                    amount(plan.feature_bytes, "B")));
  line("stored kernels",
       fmt::format("{}, {}", amount(plan.kernel_flops, "flop"), amount(plan.kernel_bytes, "B")));
  line("one evaluation",
       amount(plan.evaluation_flops, "flop") + " from stored kernels; some tens of them a point");
  if (verb == "sample") {
    line("draws", fmt::format("{} chains of {} after {} of warm-up, by {}; some {} in memory",
                              study.sample.chains, study.sample.draws, study.sample.warmup,
                              word_of(study.sample.sampler), amount(plan.draw_bytes, "B")));
  }
  line("study hash", studies::study_hash(study));
  return out;
}

std::string plan_json(const Plan& plan, const studies::Study& study, const std::string& verb) {
  nlohmann::ordered_json out;
  out["dry_run"] = true;
  out["verb"] = verb;
  out["study"] = study.name;
  out["study_hash"] = studies::study_hash(study);
  out["train_examples"] = plan.train_examples;
  out["test_examples"] = plan.test_examples;
  for (const auto& [name, examples] : plan.sets) out["set_examples"][name] = examples;
  out["tokens"] = plan.tokens;
  out["features"] = plan.features;
  out["outputs"] = plan.outputs;
  out["heads_per_layer"] = plan.heads;
  out["paths"] = plan.paths;
  out["points"] = plan.points;
  out["unknowns"] = plan.order_parameters;
  out["path_feature_flops"] = plan.path_feature_flops;
  out["kernel_flops"] = plan.kernel_flops;
  out["evaluation_flops"] = plan.evaluation_flops;
  out["feature_bytes"] = plan.feature_bytes;
  out["kernel_bytes"] = plan.kernel_bytes;
  if (verb == "sample") out["draw_bytes"] = plan.draw_bytes;
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace headway::cli
