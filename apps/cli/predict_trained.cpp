// `headway predict` of a train result: what the networks themselves say of new inputs.
#include "predict_trained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "headway/core/sha256.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/predict_networks.hpp"
#include "headway/result_file.hpp"
#include "json_text.hpp"
#include "outcomes.hpp"
#include "table.hpp"
#include "trained_data.hpp"
#include "trained_network_tables.hpp"

namespace headway::cli {
namespace {

constexpr Index kShown = 5;  // examples of each set

struct NetworksJob : Job {
  std::vector<TrainedNetwork> networks;
  tasks::Dataset inputs;   ///< of networks that read numbers
  std::string name, text;  ///< of networks of text

  [[nodiscard]] bool of_text() const {
    return networks.front().study.task.kind() == TaskKind::kText;
  }
};

NetworksJob load_networks(const Options& options) {
  NetworksJob job;
  job.study = io::read_trained_study(
      options.input, options.study_overlays(),
      {"evaluate.weights", "threads", "name", "train.device", "train.eval_batch"});
  return job;  // not of origin kResultFile, so that no prediction is written over the result
}

/// A text, or a data set of inputs, whichever the networks read.
std::string read_new_examples(const Options& options, NetworksJob& job, Observer& observer) {
  job.networks =
      io::read_trained_networks(options.input, job.study, job.study.evaluate.weights, observer);
  if (job.of_text()) {
    if (options.new_inputs) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("predict: inputs: must be absent, and text given: {} was trained on "
                              "text",
                              job.study.name));
    }
    job.name = options.new_text ? "text" : options.more_inputs.front();
    job.text = options.new_text ? *options.new_text : io::read_text(job.name);
    headway::require_predictable_text(job.networks, job.name, job.text);
    return sha256_hex(job.text);
  }
  const TaskMaker make_task = headway::make_task_maker(task_files(options));
  for (TrainedNetwork& network : job.networks) {
    if (network.study.task.kind() != TaskKind::kArrays) continue;
    network.format = make_task(network.study).task->format();
  }
  if (options.new_text) {
    throw Error(ErrorKind::kUsage,
                fmt::format("predict: text: must be absent, and inputs given: {} was trained on "
                            "numbers",
                            job.study.name));
  }
  job.inputs =
      options.new_inputs ? *options.new_inputs : io::read_new_inputs(options.more_inputs.front());
  job.name = job.inputs.name;
  headway::require_readable_inputs(job.networks, job.inputs);
  const bool heads = std::ranges::any_of(job.inputs.layers, [](const LayerHeads& layer) {
    return !layer.weights.empty() || !layer.query.empty();
  });
  if (heads) {
    observer.note(job.name + ": its attention heads are not used; trained networks have their own");
  }
  return job.inputs.content_hash;
}

std::string plan_networks(const Options& options, const NetworksJob& job) {
  if (options.json) {
    nlohmann::ordered_json out;
    out["dry_run"] = true;
    out["verb"] = "predict";
    out["networks"] = job.networks.size();
    out["weights"] = word_of(job.study.evaluate.weights);
    if (job.of_text()) out["bytes"] = job.text.size();
    for (const tasks::NamedSplit& set : headway::input_splits(job.inputs)) {
      out["sets"][set.name] = set.split.size();
    }
    return json_text(out);
  }
  std::string text =
      fmt::format("{}: {}, {} weights\n", job.study.name,
                  count_text(job.networks.size(), "network"), word_of(job.study.evaluate.weights));
  if (job.of_text()) text += fmt::format("{}: {} bytes\n", job.name, job.text.size());
  for (const tasks::NamedSplit& set : headway::input_splits(job.inputs)) {
    text += fmt::format("{}: {}\n", set.name, count_text(set.split.size(), "example"));
  }
  return text + fmt::format("output {}\n", options.output.empty() ? "none" : options.output);
}

NetworkPredictResult compute_networks(const Options& options, NetworksJob& job,
                                      Observer& observer) {
  NetworkPredictResult result =
      job.of_text() ? headway::predict_text(job.networks, job.name, job.text, observer)
                    : headway::predict_inputs(job.networks, job.inputs, observer);
  result.predicted_from = options.input;
  return result;
}

/// Answers to an example of a set: the numbers of one output, or of one scored token.
struct AnswerView {
  const NetworkAnswers& set;

  [[nodiscard]] Index examples() const { return set.mean.shape.front(); }
  [[nodiscard]] bool classes() const {
    return !set.predicted_class.empty() && set.predicted_class.shape != set.mean.shape;
  }
  /// Numbers of one example of an array of the set.
  [[nodiscard]] static std::vector<double> row(const Tensor& values, Index example) {
    if (values.empty()) return {};
    const auto size = values.count() / static_cast<std::size_t>(values.shape.front());
    const auto begin = values.values.begin() + example * static_cast<Index>(size);
    return {begin, begin + static_cast<Index>(size)};
  }
  /// Those of `values` that belong to the predicted classes.
  [[nodiscard]] std::vector<double> of_classes(const Tensor& values, Index example) const {
    const std::vector<double> all = row(values, example);
    if (all.empty()) return {};
    const auto outputs = static_cast<std::size_t>(set.mean.shape.back());
    std::vector<double> out;
    for (const double one : row(set.predicted_class, example)) {
      out.push_back(all[out.size() * outputs + static_cast<std::size_t>(one)]);
    }
    return out;
  }
};

std::string dash_or(const std::vector<double>& values, const char* format = "{:.4f}") {
  return values.empty() ? "-" : decimals_text(values, format);
}

std::string inputs_table(const std::vector<PredictingGroup>& groups) {
  const AnswerView first{groups.front().sets.front()};
  const bool classes = first.classes();
  const bool signs = !classes && !first.set.predicted_class.empty();
  std::vector<std::string> header = {"variant<", "seeds<", "set<", "example"};
  for (const char* name : classes ? std::vector{"class", "probability", "sd"}
                          : signs ? std::vector{"mean", "sd", "right sign", "class"}
                                  : std::vector{"mean", "sd"}) {
    header.emplace_back(name);
  }
  Table table(header, 4);
  bool cut = false;
  for (const PredictingGroup& group : groups) {
    for (const NetworkAnswers& set : group.sets) {
      const AnswerView view{set};
      cut = cut || view.examples() > kShown;
      for (Index i = 0; i < std::min(view.examples(), kShown); ++i) {
        const std::string answer =
            dash_or(AnswerView::row(set.predicted_class, i), signs ? "{:+.0f}" : "{:.0f}");
        std::vector<std::string> row = {group.label, seeds_text(group.seeds), set.name,
                                        std::to_string(i + 1)};
        if (classes) {
          row.insert(row.end(), {answer, dash_or(view.of_classes(set.mean, i)),
                                 dash_or(view.of_classes(set.deviation, i))});
        } else {
          row.push_back(dash_or(AnswerView::row(set.mean, i)));
          row.push_back(dash_or(AnswerView::row(set.deviation, i)));
        }
        if (signs) {
          row.push_back(set.right_sign_probability.size() == 0
                            ? "-"
                            : cell(set.right_sign_probability(i, 0), "{:.4f}"));
          row.push_back(answer);
        }
        table.add(std::move(row));
      }
    }
  }
  std::string text = table.text();
  if (cut) {
    text += wrapped(fmt::format(
        "Only the first {} examples of each set are shown; -o and --json have all\n", kShown));
  }
  return text;
}

std::string text_table(const std::vector<PredictingGroup>& groups) {
  Table bits({"variant<", "seeds<", "tokens", "bits/byte", "sd"});
  Table next({"variant<", "seeds<", "next token<", "probability", "sd"});
  for (const PredictingGroup& group : groups) {
    const NetworkAnswers& set = group.sets.front();
    const bool several = !set.next_deviation.empty();
    bits.add({group.label, seeds_text(group.seeds), std::to_string(set.bits.size()),
              cell(set.bits_per_byte, "{:.4f}"),
              several ? cell(set.bits_per_byte_deviation, "{:.4f}") : "-"});
    for (const LikelyToken& token : set.likeliest) {
      next.add({group.label, seeds_text(group.seeds), nlohmann::json(token.text).dump(),
                cell(token.probability, "{:.4f}"),
                several ? cell(set.next_deviation[static_cast<std::size_t>(token.token)], "{:.4f}")
                        : "-"});
    }
  }
  return bits.text() + wrapped("\nafter the end of the text\n") + next.text();
}

std::string networks_table(const Study& /*study*/, const NetworkPredictResult& result) {
  const std::vector<PredictingGroup> groups = headway::group_predictions(result);
  if (groups.empty()) return "";
  std::string text =
      groups.front().sets.front().next.empty() ? inputs_table(groups) : text_table(groups);
  const bool spread = std::ranges::any_of(groups, [](const auto& g) { return g.seeds.size() > 1; });
  text += wrapped(spread ? "sd is the spread over seeds, no posterior\n"
                         : "Each network stands alone: no sd without several seeds\n");
  return text;
}

Outcome answers_outcome(const NetworkPredictResult& result) {
  Outcome outcome = networks_outcome(result);
  for (const PredictingRun& run : result.runs) {
    const bool finite = std::ranges::all_of(run.sets, [](const NetworkAnswers& set) {
      const auto all_finite = [](const std::vector<double>& values) {
        return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
      };
      return all_finite(set.mean.values) && all_finite(set.next);
    });
    if (!finite)
      outcome.faults.push_back(fmt::format("{}, seed {}: not finite", run.label, run.seed));
  }
  return outcome;
}

}  // namespace

Computation predict_with_networks(const Options& options, Observer& observer) {
  Course<NetworksJob, NetworkPredictResult> course;
  course.load = &load_networks;
  course.read_data = &read_new_examples;
  course.plan = &plan_networks;
  course.compute = &compute_networks;
  course.outcome = &answers_outcome;
  course.table = &networks_table;
  return carry_out(options, course, observer);
}

}  // namespace headway::cli
