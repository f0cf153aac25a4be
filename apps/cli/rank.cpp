#include "headway/rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "json_text.hpp"
#include "prune_network.hpp"
#include "table.hpp"
#include "theory_course.hpp"
#include "trained_data.hpp"
#include "verbs.hpp"

namespace headway::cli {
namespace {

struct RankJob : Job {
  std::vector<TrainedNetwork> networks;
};

RankJob load_rank_job(const Options& options) {
  RankJob job;
  job.study = io::read_trained_study(options.input, options.study_overlays(),
                                     {"rank.", "seed", "threads", "name"});
  return job;
}

std::string read_rank_data(const Options& options, RankJob& job, Observer& observer) {
  job.networks = io::read_trained_networks(options.input, job.study, KeptWeights::kBest, observer);
  require_training_data(options, options.study_overlays(), job.networks.front().data_hash,
                        observer);
  return job.networks.front().data_hash;
}

std::string plan_rank(const Options& options, const RankJob& job) {
  const Index examples = job.study.rank.examples;
  if (options.json) {
    return json_text({{"dry_run", true},
                      {"verb", "rank"},
                      {"study", job.study.name},
                      {"networks", job.networks.size()},
                      {"examples", examples}});
  }
  return fmt::format("{}: heads of {}, each removed on {}\noutput {}\n", job.study.name,
                     count_text(job.networks.size(), "network"), count_text(examples, "example"),
                     options.output.empty() ? "none" : options.output);
}

const RankColumn* column_named(const HeadRanking& ranking, const std::string& name) {
  const auto at = std::ranges::find(ranking.columns, name, &RankColumn::name);
  return at == ranking.columns.end() ? nullptr : &*at;
}

/// So many decimals that the median error has two digits; at least 4, at most 9.
int decimals_of(std::vector<double> errors) {
  constexpr int kFewest = 4, kMost = 9;
  std::ranges::sort(errors);
  const std::size_t half = errors.size() / 2;
  const double middle =
      errors.size() % 2 == 1 ? errors[half] : 0.5 * (errors[half - 1] + errors[half]);
  if (!(middle > 0.0)) return kFewest;
  return std::clamp(1 + static_cast<int>(std::ceil(-std::log10(middle))), kFewest, kMost);
}

/// What orders on two halves of the examples say of this one.
std::string trust_text(const HeadRanking& ranking) {
  const bool frozen = ranking.is_of_frozen_cuts();
  if (ranking.names.size() == 1)
    return frozen ? "One part has no order.\n" : "One head has no order.\n";
  if (std::isnan(ranking.ceiling)) {
    return frozen ? "All cuts are the same, so parts have no order.\n"
                  : "All heads cost the same, so they have no order.\n";
  }
  return fmt::format(
      "Orders on two halves of the examples agree by {:.2f} +- {:.2f}. No order {}can be expected "
      "to "
      "agree with this one by more than {:.2f}. {} of the same rank cannot be told apart.\n",
      ranking.halves, ranking.halves_sd, frozen ? "of such cuts " : "", ranking.ceiling,
      frozen ? "Parts" : "Heads");
}

constexpr const char* kFrozen =
    "A frozen cut takes a part off and keeps everything else as it was, also what the part feeds. "
    "It does not tell what removing a head costs, nor which head is cheapest. headway rank of the "
    "trained network, or headway.rank_heads, removes it.\n";

std::string heads_table(const HeadRanking& ranking) {
  const bool frozen = ranking.is_of_frozen_cuts();
  const char* what = frozen ? "smallest cuts" : "cheapest";
  const std::string among = fmt::format("among {} {}", ranking.cheapest, what);
  std::vector<std::string> header = {"rank", frozen ? "part<" : "head<", "estimate", "90 %<",
                                     among};
  std::vector<const RankColumn*> shown;
  for (const std::string& name : {ranking.target, std::string("cut_without_theory"),
                                  std::string("cut_of_theory"), std::string("gradient")}) {
    const RankColumn* column = column_named(ranking, name);
    if (column == nullptr) continue;
    shown.push_back(column);
    header.push_back(name == "cut_without_theory" ? "frozen cut, U = 1"
                     : name == "cut_of_theory"    ? "frozen cut, theory's U"
                     : name == "gradient"         ? "gradient"
                     : frozen                     ? "frozen cut"
                                                  : "removal");
  }
  std::vector<std::size_t> order(ranking.names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t h) { return ranking.estimate[h]; });
  Table table(header);
  const int decimals = decimals_of(ranking.error);
  for (const std::size_t h : order) {
    std::vector<std::string> row = {
        std::to_string(ranking.ranks[h]), ranking.names[h],
        fmt::format("{:+.{}f}", ranking.estimate[h], decimals),
        fmt::format("{:+.{}f} to {:+.{}f}", ranking.low[h], decimals, ranking.high[h], decimals),
        cell(ranking.among_cheapest[h], "{:.2f}")};
    for (const RankColumn* column : shown) {
      row.push_back(measured_text(column->value[h], column->error[h], "{:+.4f}"));
    }
    table.add(std::move(row));
  }
  return table.text();
}

std::string ranking_text(const HeadRanking& ranking) {
  std::string title =
      ranking.variant.empty()
          ? ranking.label
          : fmt::format("run {}: {}, seed {}", ranking.run,
                        ranking.label.empty() ? ranking.variant : ranking.label, ranking.seed);
  title += fmt::format(": {} on {} {} examples; squared error {} with all", ranking.target,
                       ranking.examples, ranking.split, cell(ranking.loss, "{:.4f}"));
  if (!std::isnan(ranking.accuracy)) {
    title += fmt::format(", accuracy {}", cell(ranking.accuracy, "{:.3f}"));
  }
  std::string costs;
  for (const RankColumn& column : ranking.columns) {
    if (column.passes <= 0.0 || column.name.starts_with("expected")) continue;
    costs += fmt::format("{}{} {:g}", costs.empty() ? "" : ", ", column.name, column.passes);
  }
  std::string below = trust_text(ranking);
  if (ranking.is_of_frozen_cuts()) below += kFrozen;
  if (!costs.empty()) below += fmt::format("Costs in forward passes: {}\n", costs);
  return wrapped(title) + "\n" + heads_table(ranking) + wrapped(below);
}

std::string rank_table(const Study& /*study*/, const RankResult& result) {
  std::string out;
  for (const HeadRanking& ranking : result.runs) {
    if (!out.empty()) out += "\n";
    out += ranking_text(ranking);
  }
  return out;
}

Outcome rank_outcome(const RankResult& result) { return networks_outcome(result, "rankings"); }

Course<RankJob, RankResult> ranked_networks() {
  Course<RankJob, RankResult> course;
  course.load = &load_rank_job;
  course.read_data = &read_rank_data;
  course.plan = &plan_rank;
  course.compute = [](const Options& options, RankJob& job, Observer& watching) {
    return headway::rank_networks(job.study, job.networks,
                                  headway::make_task_maker(task_files(options)), watching);
  };
  course.outcome = &rank_outcome;
  course.table = &rank_table;
  return course;
}

std::vector<ExplainedTable> rank_tables() {
  return {
      {"Columns",
       {{"rank", "from 1, the smallest estimate; heads that cannot be told apart share one"},
        {"head", "layer and number"},
        {"part", "of a data set: the name of the part"},
        {"estimate",
         "rise of the squared error without the head: the measured rise, moved towards the "
         "rise that the readout predicts; the larger the error of the measurement, the "
         "further"},
        {"90 %",
         "90 % interval of the estimate; on fresh tasks it held the true rise in 83 to 94 of 100 "
         "cases"},
        {"among k cheapest", "probability to be one of the k heads that cost least"},
        {"among k smallest cuts",
         "of a data set: probability to be one of the k parts with the smallest frozen cuts"},
        {"removal", "the rise as it was measured, each example left out"},
        {"frozen cut",
         "of a data set: the rise when the part is taken off and everything else stays as it was; "
         "no removal"},
        {"frozen cut, U = 1",
         "rise when the head's part is left out and a ridge regression reads the other frozen "
         "parts of its layer"},
        {"frozen cut, theory's U", "the same with the order parameters of the theory at N = 10"},
        {"gradient", "mean |dL/dm| of the loss L for a factor m on the head's output"}}}};
}

}  // namespace

Verb rank_verb() {
  Verb verb = make_theory_verb<RankResult>(
      {.name = "rank",
       .summary = "rank heads by what their removal costs, and say how sure that is",
       .sections = {"rank"},
       .tasks = headway::Side::kTraining,
       .about = "Removes each head and measures the squared error of a ridge readout on examples "
                "that it "
                "was not fitted to. Every number has its error. Of a data set of contributions it "
                "ranks frozen cuts: a part is taken off, and everything else stays as it was. That "
                "is no removal.",
       .tables = rank_tables(),
       .examples =
           {{"headway rank trained.h5", "the heads of every network of a train result"},
            {"headway rank parts.h5 --set rank.readout=refitted -o ranking.h5",
             "frozen cuts of the parts in a data set of extract, the readout fitted again"}},
       .input = "result of headway train (HDF5) that holds the weights, or a data set of "
                "contributions"},
      {.reuses = false,
       .compute =
           [](const Options&, TheoryJob& job, Observer& observer) {
             return headway::rank_parts(job.study, job.dataset, observer);
           },
       .table = &rank_table,
       .outcome = &rank_outcome});
  verb.compute = [parts = std::move(verb.compute)](const Options& options, Observer& observer) {
    return prunes_networks(options) ? carry_out(options, ranked_networks(), observer)
                                    : parts(options, observer);
  };
  return verb;
}

}  // namespace headway::cli
