#include "headway/predict.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "columns.hpp"
#include "headway/core/memory.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "headway/train.hpp"
#include "json_text.hpp"
#include "outcomes.hpp"
#include "point_option.hpp"
#include "predict_trained.hpp"
#include "table.hpp"
#include "theory_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

constexpr std::size_t kShownExamples = 5;  // of each set at each point

struct PredictJob : Job {
  std::string kind;  ///< of the result that predicts
  SolveResult solved;
  std::optional<SampleResult> sampled;
  std::string inputs_name;
  std::vector<std::string> names;  ///< of the sets of new inputs
  tasks::Dataset dataset;          ///< of headway::with_inputs()
  TheoryPlan plan;
};

/// The points are those of the result: only what changes no prediction may be set.
void check_overlays(const std::vector<std::string>& overlays) {
  const std::vector<std::string> allowed = {"name", "threads", "task.file", "solve.kernels",
                                            "solve.memory_limit_gib"};
  for (const std::string& overlay : overlays) {
    const std::string key = io::overlay_key(overlay);
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    throw Error(ErrorKind::kBadStudy,
                fmt::format("--set {}: predict takes the points that the result has; allowed: {}",
                            key, fmt::join(allowed, ", ")));
  }
}

PredictJob load_predict_job(const Options& options) {
  if (options.new_text) {
    throw Error(ErrorKind::kUsage,
                fmt::format("predict: text: must be absent: {} is no result of train on text",
                            options.input));
  }
  PredictJob job;
  job.kind = io::read_result_kind(options.input);
  check_overlays(options.study_overlays());
  job.study = io::read_study(options.input, options.study_overlays()).study;
  return job;  // not of origin kResultFile, so that no prediction is written over the result
}

/// Whether the networks of a train result predict, not the theory. Refuses what is no result.
bool networks_predict(const Options& options) {
  const bool in_memory = options.new_inputs || options.new_text;
  if (options.more_inputs.size() != (in_memory ? 0 : 1)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("predict: takes a result and one file of new inputs; given: {} files",
                            options.more_inputs.size()));
  }
  if (!io::is_result_file(options.input)) {
    if (io::is_hdf5(options.input) || access(options.input.c_str(), R_OK) != 0) {
      static_cast<void>(io::read_study(options.input, {}));  // says what is wrong with the file
    }
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: is no result file; allowed: a result of solve, sample or train",
                            options.input));
  }
  return io::read_result_kind(options.input) == TrainResult::kVerb;
}

/// The data that the result was computed from. Error{kBadData} where they have changed.
tasks::Dataset data_of_result(const Options& options, const PredictJob& job,
                              const ResultProvenance& stored) {
  tasks::Dataset dataset = theory_data(options, job.study);
  if (options.dataset || stored.data_hash == dataset.content_hash) return dataset;
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: {} is not the data that this result was computed from; their hashes "
                          "differ",
                          options.input, dataset.name));
}

/// With --point, the result has this point alone from here on.
void keep_named_point(const Options& options, PredictJob& job, Observer& observer) {
  if (options.point.empty()) return;
  const SolveResult& solved = job.sampled ? job.sampled->solve : job.solved;
  const PointName name = point_named(options, solved, job.sampled ? &*job.sampled : nullptr);
  warn_of_edge(options, solved, name, observer);
  const auto is_other = [&name](const auto& point) {
    return point.widths != name.widths || point.temperature != name.temperature;
  };
  std::erase_if(job.solved.points, is_other);
  if (job.sampled) std::erase_if(job.sampled->points, is_other);
}

std::string read_predict_data(const Options& options, PredictJob& job, Observer& observer) {
  ResultProvenance stored;
  if (job.kind == SampleResult::kVerb) {
    job.sampled = io::read_sample_result(options.input);
    stored = io::read_result_provenance(options.input);
  } else {
    job.solved = io::read_solve_result(options.input, &stored);
  }
  if (stored.partial) {
    observer.warning(
        fmt::format("{}: is partial; only its finished points predict", options.input));
  }
  if (!stored.shard.empty()) {
    observer.warning(fmt::format("{}: is part {} of its study; only its own points predict",
                                 options.input, stored.shard));
  }
  keep_named_point(options, job, observer);
  const tasks::Dataset data = data_of_result(options, job, stored);
  const tasks::Dataset inputs =
      options.new_inputs ? *options.new_inputs : io::read_new_inputs(options.more_inputs.front());
  job.inputs_name = inputs.name;
  job.names = headway::input_names(inputs);
  job.dataset = headway::with_inputs(job.study, data, inputs);
  job.plan = headway::plan_theory(job.study, job.dataset, TheoryVerb::kSolves, 1);
  headway::require_memory(job.plan, job.study, physical_memory());
  return headway::combined_data_hash({data.content_hash, inputs.content_hash});
}

std::string plan_predict(const Options& options, const PredictJob& job) {
  const std::size_t points = job.sampled ? job.sampled->points.size() : job.solved.points.size();
  if (options.json) {
    nlohmann::ordered_json out;
    out["dry_run"] = true;
    out["verb"] = PredictResult::kVerb;
    out["points"] = points;
    for (std::size_t i = 0; i < job.names.size(); ++i) {
      out["sets"][job.names[i]] = job.dataset.sets[i].split.size();
    }
    return json_text(out);
  }
  std::string text = fmt::format("{}: {}\n", job.study.name, count_text(points, "point"));
  for (std::size_t i = 0; i < job.names.size(); ++i) {
    text += fmt::format("{}: {}\n", job.names[i],
                        count_text(job.dataset.sets[i].split.size(), "example"));
  }
  return text + fmt::format("output {}\n", options.output.empty() ? "none" : options.output);
}

PredictResult compute_predict(const Options& options, PredictJob& job, Observer& observer) {
  PredictResult result =
      job.sampled ? headway::predict(job.study, job.dataset, job.names, *job.sampled, observer)
                  : headway::predict(job.study, job.dataset, job.names, job.solved, observer);
  result.predicted_from = options.input;
  result.inputs = job.inputs_name;
  result.source_faults =
      (job.sampled ? sample_outcome(*job.sampled) : solve_outcome(job.solved, 0.0)).faults;
  return result;
}

std::string row_text(const MatrixXd& values, Index row) {
  std::vector<double> entries;
  for (Index c = 0; c < values.cols(); ++c) entries.push_back(values(row, c));
  return decimals_text(entries, "{:.4f}");
}

std::string predict_table(const Study& /*study*/, const PredictResult& result) {
  const bool one_output = result.outputs == 1;
  std::vector<std::string> header = {"widths", "T", "set<", "example", "mean", "sd"};
  if (one_output) header.emplace_back("right sign");
  header.emplace_back("class");
  Table table(header, 4);
  bool cut = false;
  for (const PredictedPoint& point : result.points) {
    for (const PredictedSet& set : point.sets) {
      const std::size_t shown = std::min(kShownExamples, set.predicted_class.size());
      cut = cut || shown < set.predicted_class.size();
      for (std::size_t i = 0; i < shown; ++i) {
        const auto row_number = static_cast<Index>(i);
        std::vector<std::string> row = {widths_text(point.widths),
                                        cell(point.temperature, "{:g}"),
                                        set.name,
                                        fmt::format("{}", i + 1),
                                        row_text(set.mean, row_number),
                                        row_text(set.deviation, row_number)};
        if (one_output) row.push_back(cell(set.right_sign_probability(row_number, 0), "{:.4f}"));
        const int answer = set.predicted_class[i];
        row.push_back(one_output ? fmt::format("{:+d}", answer) : fmt::format("{}", answer));
        table.add(std::move(row));
      }
    }
  }
  std::string text = table.text();
  if (cut) {
    text +=
        fmt::format("Only the first {} examples of each set are shown; -o and --json have all\n",
                    kShownExamples);
  }
  return text;
}

Outcome predict_outcome(const PredictResult& result) {
  Outcome outcome{count_text(result.points.size(), "point"), result.interrupted, result.seconds,
                  result.threads, result.source_faults};
  for (const PredictedPoint& point : result.points) {
    const bool finite = std::all_of(point.sets.begin(), point.sets.end(), [](const auto& set) {
      return set.mean.allFinite() && set.deviation.allFinite();
    });
    if (finite) continue;
    outcome.faults.push_back(fmt::format("widths {}, temperature {:g}: not finite",
                                         widths_text(point.widths), point.temperature));
  }
  return outcome;
}

}  // namespace

Verb predict_verb() {
  Verb verb = make_verb<PredictJob, PredictResult>(
      {.name = PredictResult::kVerb,
       .summary = "predict new inputs, without labels",
       .sections = {"solve", "evaluate"},
       .own = {kPointOption},
       .about =
           "Gives the mean and the standard deviation of the predictor on new inputs, and the "
           "probability that the predictor has the sign of its mean. Every point of the result "
           "predicts. Nothing is solved or sampled again; the data of the result must still be "
           "where its study says. A result of sample predicts with the mean over its draws of U_1. "
           "Of a result of train the networks themselves predict: their answers, as mean and "
           "spread over seeds. Networks of text take a text file; they give the bits of its tokens "
           "and the likeliest next ones. --set evaluate.weights=last takes the last weights.",
       .tables =
           {{"Columns",
             {kWidthsColumn,
              kTemperatureColumn,
              {"set", "set of the new inputs"},
              {"example", "number of the example in its set, from 1"},
              {"mean", "mean of the predictor, one number for each output"},
              {"sd", "standard deviation of the predictor, likewise"},
              {"right sign",
               "probability that the predictor has the sign of its mean; of one output alone"},
              {"class", "sign of the mean; of several outputs the largest one, counted from 0"}}},
            {"Columns of trained networks",
             {kVariantColumn,
              kSeedsColumn,
              {"mean, sd", "output of the network, its mean and standard deviation over seeds"},
              {"right sign", "share of the seeds whose output has the sign of the mean"},
              {"class", "sign of the mean, or the likeliest class of each scored token"},
              {"probability", "of that class, or of that next token"},
              {"bits/byte", "of a text: bits over bytes, of all tokens but the first"},
              {"next token", "the likeliest tokens after the end of the text"}}}},
       .examples = {{"headway predict four.h5 new.h5 -o predictions.h5",
                     "new inputs, with the result of solve or sample"},
                    {"headway predict trained.h5 new.h5", "the same, by trained networks"},
                    {"headway predict text.h5 letter.txt", "a text, by networks of text"}},
       .more_inputs = "data set of the new inputs (HDF5): further sets, which need no labels; for "
                      "networks of text a text file",
       .input = "result of headway solve, sample or train (HDF5)",
       .seeded = false},
      {.load = &load_predict_job,
       .read_data = &read_predict_data,
       .plan = &plan_predict,
       .compute = &compute_predict,
       .outcome = &predict_outcome,
       .table = &predict_table});
  verb.compute = [theory = std::move(verb.compute)](const Options& options, Observer& observer) {
    if (!networks_predict(options)) return theory(options, observer);
    refuse_point_of_networks(options);
    return predict_with_networks(options, observer);
  };
  return verb;
}

}  // namespace headway::cli
