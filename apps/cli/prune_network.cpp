// `headway prune-network`: heads removed from trained networks themselves.
#include "prune_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "carried_network_table.hpp"
#include "headway/core/text.hpp"
#include "headway/io/theory_scores.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "json_text.hpp"
#include "outcomes.hpp"
#include "table.hpp"
#include "trained_data.hpp"
#include "verbs.hpp"

namespace headway::cli {
namespace {

struct NetworkJob : Job {
  std::vector<TrainedNetwork> networks;
  std::vector<TheoryScores> theory;
};

std::string rank_text(const RankCorrelation& rank) {
  if (std::isnan(rank.spearman)) return "-";
  return fmt::format("{} [{}, {}]", cell(rank.spearman, "{:+.2f}"),
                     cell(rank.bootstrap.lower, "{:+.2f}"), cell(rank.bootstrap.upper, "{:+.2f}"));
}

std::string curve_text(const std::string& name, std::size_t width,
                       const analysis::QualityCurve& curve) {
  if (curve.quality.empty()) return "";
  std::vector<double> values;
  for (const analysis::Quality& quality : curve.quality) values.push_back(quality.accuracy.mean);
  return values_line(name, width, decimals_text(values));
}

std::string run_text(const RunPruning& run) {
  std::string out = fmt::format("run {}: {}, seed {}:", run.run, run.label, run.seed);
  for (const NetworkSet& set : run.network.sets) {
    out += fmt::format("{} {} {} {}", &set == &run.network.sets.front() ? "" : ",", set.name,
                       run.metric, cell(set.quality.accuracy.mean, "{:.4f}"));
  }
  out = wrapped(out);
  Table heads(
      {"layer", "head", run.metric + " drop", "mean in its place", "loss rise", "sensitivity"});
  for (const HeadCost& head : run.heads) {
    heads.add({std::to_string(head.layer), std::to_string(head.head),
               estimate_text(head.drop, "{:+.4f}"), estimate_text(head.drop_mean, "{:+.4f}"),
               estimate_text(head.rise, "{:+.4f}"), cell(head.gradient_sensitivity, "{:.4g}")});
  }
  out += fmt::format("\neach head removed alone, on {}\n{}", run.network.measured_on, heads.text());
  Table ranks({"score<", "with the drop<", "with the rise of the loss<"});
  for (const NetworkScore& score : run.network.baselines) {
    ranks.add({score.name, rank_text(score.accuracy_drop), rank_text(score.error_rise)});
  }
  out += "rank correlations [95 % interval over resampled examples]\n" + ranks.text();
  std::string curves;
  std::size_t width = 32;
  for (const NetworkScore& score : run.network.baselines) {
    width = std::max(width, score.name.size() + 5);
  }
  for (const NetworkScore& score : run.network.baselines) {
    curves += curve_text("by " + score.name, width, score.rising);
  }
  curves += curve_text("greedy on " + run.network.greedy_on, width, run.network.greedy);
  if (!run.network.random_mean.empty()) {
    curves += values_line("random mean", width, decimals_text(run.network.random_mean));
    curves += values_line("random sd", width, decimals_text(run.network.random_sd));
  }
  if (!curves.empty()) {
    out +=
        wrapped(fmt::format("{} after removing 0, 1, 2, ... heads ({} in their place); every layer "
                            "keeps one\n",
                            run.metric, word_of(run.removed_as))) +
        curves;
  }
  return out + "\n";
}

std::string agreement_text(const Spread& spread) {
  if (spread.count == 0) return "-";
  const std::string text = measured_text(spread.mean, spread.standard_error, "{:+.2f}");
  return spread.count == 1 ? text : fmt::format("{} ({} seeds)", text, spread.count);
}

std::string heads_removed_table(const Study& /*study*/, const NetworkPruneResult& result) {
  std::string out;
  for (const RunPruning& run : result.runs) out += run_text(run);
  for (const PruneGroup& group : result.groups) {
    Table table({"score<", "rank correlation with the drop<", "with the rise of the loss<"});
    for (const ScoreAgreement& score : group.scores) {
      table.add({score.name, agreement_text(score.drop), agreement_text(score.rise)});
    }
    out += fmt::format("{}, mean over seeds\n{}\n", group.label, table.text());
  }
  return out;
}

NetworkJob load_network_job(const Options& options) {
  NetworkJob job;
  job.study = io::read_trained_study(options.input, options.study_overlays(),
                                     {"prune.", "seed", "threads", "name", "task.files"});
  job.theory = io::read_theory_scores(job.study.prune.trained().theory);
  return job;
}

std::string read_network_data(const Options& options, NetworkJob& job, Observer& observer) {
  job.networks = io::read_trained_networks(
      options.input, job.study, job.study.prune.trained().weights.value_or(KeptWeights::kBest),
      observer);
  require_training_data(options, options.study_overlays(), job.networks.front().data_hash,
                        observer);
  return job.networks.front().data_hash;
}

/// `verb`: the name that it was called by.
std::string plan_network(const Options& options, const NetworkJob& job, const std::string& verb) {
  const PruneTrained& wanted = job.study.prune.trained();
  if (options.json) {
    return json_text({{"dry_run", true},
                      {"verb", verb},
                      {"study", job.study.name},
                      {"runs", job.networks.size()},
                      {"theory", wanted.theory}});
  }
  return fmt::format(
      "{}: heads of {}, removed from the networks themselves\n"
      "beside them {} of the theory\noutput {}\n",
      job.study.name, count_text(job.networks.size(), "network"),
      count_text(job.theory.size(), "result"), options.output.empty() ? "none" : options.output);
}

Course<NetworkJob, NetworkPruneResult> network_course(const std::string& verb) {
  Course<NetworkJob, NetworkPruneResult> course;
  course.load = &load_network_job;
  course.read_data = &read_network_data;
  course.plan = [verb](const Options& options, const NetworkJob& job) {
    return plan_network(options, job, verb);
  };
  course.compute = [](const Options& options, NetworkJob& job, Observer& watching) {
    return headway::prune_network(job.study, job.networks, job.theory,
                                  headway::make_task_maker(task_files(options)), watching);
  };
  course.outcome = [](const NetworkPruneResult& result) { return networks_outcome(result); };
  course.table = &heads_removed_table;
  return course;
}

std::vector<ExplainedTable> prune_network_tables() {
  return {{"Heads, a table for each run",
           {{"layer, head", "which head, counted from 1"},
            {"METRIC drop",
             "drop of the network's score without the head, with its error; positive: the head is "
             "needed"},
            {"mean in its place", "the same with the head's mean output in its place"},
            {"loss rise",
             "rise of the loss without the head, with its error; positive: the head is needed"},
            {"sensitivity", "mean |dL/dm| of the loss L for a factor m on the head's output"}}},
          {"Below the heads",
           {{"with the drop, with the rise of the loss",
             "rank correlation of a score with what the removals cost, and its 95 % interval over "
             "resampled examples"},
            {"by SCORE", "the metric as heads are removed, the lowest of this score first"},
            {"greedy", "the same, each time without the head that costs least"},
            {"random mean, sd", "the same in random orders: mean and standard deviation"},
            {"mean over seeds",
             "rank correlations over the runs that differ in their seeds alone, with standard "
             "errors"}}}};
}

}  // namespace

bool prunes_networks(const Options& options) {
  if (options.study_text || !io::is_result_file(options.input)) return false;
  return headway::is_training_task(io::read_study(options.input, {}).study.task.kind());
}

Computation prune_network(const Options& options, Observer& observer) {
  return carry_out(options, network_course("prune"), observer);
}

Verb prune_network_verb() {
  return make_verb(
      {.name = "prune-network",
       .summary = "remove the heads from trained networks themselves",
       .sections = {"prune"},
       .tasks = headway::Side::kTraining,
       .own =
           {{"--theory", "FILE,...",
             "results of headway prune on the data that headway extract made from these networks",
             &Options::theory, Offers::kFiles}},
       .about =
           "Removes every head of a trained network, one by one and cumulatively, with nothing and "
           "with the head's mean in its place. Then it says how well each score of the heads, "
           "those of the theory among them, agrees with what the removals cost.",
       .tables = prune_network_tables(),
       .examples = {{"headway prune-network trained.h5", "all networks of a train result"},
                    {"headway prune-network trained.h5 --theory theory.h5",
                     "beside what headway prune says of their parts"}},
       .input = kTrainedInput},
      network_course("prune-network"));
}

}  // namespace headway::cli
