#include "result_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "carried_network_table.hpp"
#include "headway/core/text.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/results/choice.hpp"
#include "headway/results/lookup.hpp"
#include "headway/results/table.hpp"
#include "result_text.hpp"

namespace headway::cli {

namespace {

constexpr const char* kMeasuredOn =
    "test";                                // where accuracies come from unless another set is named
constexpr std::size_t kAfterAccuracy = 3;  // columns widths, T, accuracy

std::string corrected_table(const SolveResult& result) {
  const SetColumns sets(result);
  const Measure measure(result);
  Table table(
      sets.header({"widths", "T", measure.name(), "U_a", "U_1 diagonal +- posterior deviation<"},
                  kAfterAccuracy));
  for (const SolvePoint& point : result.points) {
    if (!point.corrected.defined) continue;
    table.add(sets.row(
        {widths_text(point.widths), cell(point.temperature, "{:g}"),
         measure.text(point.corrected.predictor), readout_text(point.corrected.mean.readout),
         deviations_diagonal(point.corrected.mean.layers.front(),
                             point.corrected.deviation.layers.front())},
        kAfterAccuracy, point.corrected.predictor));
  }
  return table.empty() ? "" : "\n1/N-corrected means\n" + table.text();
}

/// How well the rows are minima of the action: the worst of them. A Hessian that was not computed
/// does not count, a gradient that is not a number does.
std::string minimum_text(const SolveResult& result) {
  if (result.points.empty()) return "";
  double gradient = 0.0, eigenvalue = kUndefined;
  for (const SolvePoint& point : result.points) {
    const double norm = point.summary.gradient_norm;
    if (!std::isnan(gradient) && !(norm <= gradient)) gradient = norm;
    eigenvalue = std::fmin(eigenvalue, point.smallest_hessian_eigenvalue);
  }
  const std::string hessian =
      std::isnan(eigenvalue) ? ""
                             : ", smallest eigenvalue of the Hessian " + cell(eigenvalue, "{:.3g}");
  return wrapped("S/max N: gradient at most " + cell(gradient, "{:.1e}") + hessian + "\n");
}

/// Joint minima of order parameters and attention; empty where attention is given.
std::string minima_table(const SolveResult& result) {
  Table table({"widths", "T", "S/max N", "U_a", "entropy", "largest", "starts", "U_1 diagonal<"});
  for (const SolvePoint& point : result.points) {
    for (const AttentionMinimum& minimum : point.minima) {
      const bool first = &minimum == &point.minima.front();
      table.add(
          {first ? widths_text(point.widths) : "", first ? cell(point.temperature, "{:g}") : "",
           cell(minimum.action, "{:.6f}"), readout_text(minimum.order_parameters.readout),
           cell(minimum.attention_entropy, "{:.4f}"), cell(minimum.attention_largest, "{:.4f}"),
           std::to_string(minimum.starts), first_layer_text(minimum.order_parameters)});
    }
  }
  if (table.empty()) return "";
  return wrapped(
             "\nminima over order parameters and attention. Above, the Hessian, the 1/N correction "
             "and the evidence are those of U given the attention of the first.\n") +
         table.text();
}

/// The covariance of the hidden weights; empty where values are linear.
std::string features_table(const SolveResult& result) {
  constexpr Index kMost = 4;
  Table table({"widths", "T", "S eigenvalues<", "dimension", "share of each head<"}, 2);
  for (const SolvePoint& point : result.points) {
    if (!point.features) continue;
    const FeatureReport& features = *point.features;
    const Index shown = std::min(kMost, features.eigenvalues.size());
    const VectorXd largest = features.eigenvalues.head(shown);
    table.add({widths_text(point.widths), cell(point.temperature, "{:g}"),
               decimals_text(numerics::listed(largest)) +
                   (shown < features.eigenvalues.size() ? " ..." : ""),
               fmt::format("{} of {}", cell(features.effective_dimension, "{:.2f}"),
                           features.eigenvalues.size()),
               decimals_text(numerics::listed(features.head_shares))});
  }
  return table.empty() ? "" : "\ncovariance S of the hidden weights\n" + table.text();
}

/// The temperature that each rule chooses and the accuracy there; empty unless several are swept.
std::string chosen_table(const SolveResult& result) {
  const std::vector<TemperatureChoice> choices = headway::choose_temperatures(result);
  const auto by_test = [](const auto& choice) { return choice.by == "test"; };
  const Measure measure(result);
  constexpr std::size_t kBeforeEvidence = 4;
  const SetColumns sets(result);
  Table table(
      sets.header({"widths", "chosen by<", "T", measure.name(), "log evidence"}, kBeforeEvidence));
  for (const TemperatureChoice& choice : choices) {
    const PredictorReport& predictor = headway::predictor_at(result, choice);
    table.add(sets.row(
        {choice.model == "theory" ? widths_text(choice.widths) : "GP",
         by_test(choice) ? "test labels*" : choice.by, cell(choice.temperature, "{:g}"),
         measure.text(predictor), cell(headway::log_evidence_at(result, choice), "{:.2f}")},
        kBeforeEvidence, predictor));
  }
  if (table.empty()) return "";
  const bool starred = std::any_of(choices.begin(), choices.end(), by_test);
  return "\ntemperature chosen for each network\n" + table.text() +
         (starred ? fmt::format("* as Tiberi et al. (2024) choose it; such {} {} is optimistic\n",
                                measure.accuracy() ? "an" : "a", measure.name())
                  : "");
}

std::string point_title(const std::vector<Index>& widths, double temperature) {
  return fmt::format("widths {}, T {:g}", widths_text(widths), temperature);
}

/// Which point of several has the largest evidence.
std::string best_text(const SolveResult& result) {
  const SolvePoint* best = result.points.size() > 1 ? headway::best_by_evidence(result) : nullptr;
  if (best == nullptr) return "";
  const std::string edge = headway::edge_of_sweep(result, best->widths, best->temperature);
  return wrapped(fmt::format(
      "\nbest by evidence: {}, log evidence {:.2f}{}\n",
      point_title(best->widths, best->temperature), best->evidence.log_evidence,
      edge.empty() ? ""
                   : "; it has " + edge + ", and a sweep that goes on may have a better point"));
}

/// How certain the order of the heads is.
std::string ranks_text(const PrunePoint& point) {
  const analysis::RankStability& ranks = point.rank_stability;
  if (std::isnan(ranks.kendall_tau)) return "";
  const bool drawn = point.posterior_errors == kByDraws;
  const bool leading = point.posterior_errors == kToLeadingOrder;
  return wrapped(
      fmt::format("squared error +: rise on the {} examples without the head{}; posterior, "
                  "examples: its uncertainty; U = 1: the rise where every entry of U_1 is 1\n"
                  "certainty of the order by squared error + (1: certain): tau {:.2f}, top {} "
                  "overlap {:.2f}\n",
                  point.heads.front().set,
                  drawn     ? ", mean over exact draws"
                  : leading ? ", at the saddle point, with posterior to leading order in 1/N"
                            : "",
                  ranks.kendall_tau, ranks.k, ranks.top_k_overlap));
}

std::string heads_table(const PrunePoint& point, const Measure& measure,
                        const std::optional<NetworkPruning>& network) {
  std::vector<std::string> header = {"layer", "head",     "name<",
                                     "score", "weighted", measure.name() + " without"};
  if (measure.accuracy()) header.emplace_back("drop");
  header.insert(header.end(), {"squared error +", "posterior", "examples", "U = 1"});
  if (network) header.emplace_back("network's drop");
  Table table(header);
  for (std::size_t h = 0; h < point.heads.size(); ++h) {
    const HeadReport& head = point.heads[h];
    std::vector<std::string> row = {std::to_string(head.layer), std::to_string(head.head),
                                    head.name, cell(head.score, "{:.4f}"),
                                    cell(head.score_weighted, "{:.4f}")};
    if (measure.accuracy()) {
      row.push_back(cell(head.accuracy_without, "{:.4f}"));
      row.push_back(cell(point.accuracy - head.accuracy_without, "{:+.4f}"));
    } else {
      row.push_back(cell(head.mean_squared_error_without, "{:.4g}"));
    }
    const char* signed_format = measure.accuracy() ? "{:+.4f}" : "{:+.3g}";
    row.push_back(small_cell(head.squared_error_rise, signed_format));
    for (const double error : {head.squared_error_rise_sd, head.squared_error_rise_error}) {
      row.push_back(small_cell(error, measure.accuracy() ? "{:.4f}" : "{:.2g}"));
    }
    row.push_back(small_cell(head.squared_error_rise_without_theory, signed_format));
    if (network) row.push_back(cell(network->accuracy_drop[h].mean, "{:+.4f}"));
    table.add(row);
  }
  return table.text() + ranks_text(point);
}

std::string curves_text(const PrunePoint& point, const Measure& measure) {
  std::string out;
  const std::string greedy =
      point.greedy_on == kMeasuredOn ? "greedy" : "greedy on " + point.greedy_on;
  const std::size_t width = std::max<std::size_t>(12, greedy.size() + 1);
  const auto line = [&](const std::string& name, const std::vector<double>& values) {
    if (values.empty()) return;
    const std::string text = decimals_text(values, measure.accuracy() ? "{:.3f}" : "{:.3g}");
    out += values_line(name, width, text);
  };
  line("by score", point.by_score.quality);
  line("by error", point.by_squared_error.quality);
  line(greedy, point.greedy.quality);
  line("random mean", point.random_mean);
  line("random sd", point.random_sd);
  return out.empty() ? "" : wrapped(measure.name() + " after removing 0, 1, 2, ... heads\n") + out;
}

/// Where the largest path features are so many times the smallest, scores of heads may mislead. The
/// kernel has the square of a size: U_1 of the largest path may be 16 times smaller than that of
/// the smallest and count for as much. The same number as MUCH of apps/python/headway/figures.
constexpr double kUnequalPaths = 4.0;

/// "(1,2) same token -> random"; "(1,2)" where no head has a name of its own.
std::string named_path(const SolveResult& result, Index path) {
  const std::vector<int> heads = model::path_heads(result.heads, path);
  std::vector<std::string> names;
  bool own = false;
  for (std::size_t l = 0; l < std::min(heads.size(), result.head_names.size()); ++l) {
    const std::string number = fmt::format("head {}", heads[l]);
    names.push_back(result.head_names[l].at(static_cast<std::size_t>(heads[l]) - 1));
    own = own || names.back() != number;
  }
  const std::string numbers = model::path_name(result.heads, path);
  return own ? fmt::format("{} {}", numbers, join(names, " -> ")) : numbers;
}

/// A warning where paths differ much in size; else "".
std::string path_norms_text(const PruneResult& result) {
  const VectorXd& norms = result.path_norms;
  if (norms.size() < 2 || !(norms.maxCoeff() > kUnequalPaths * norms.minCoeff())) {
    return "";
  }
  Index largest = 0, smallest = 0;
  norms.maxCoeff(&largest);
  norms.minCoeff(&smallest);
  return wrapped(fmt::format(
      "The scores may mislead, because paths differ in size: features of path {} have norm {:.3g}, "
      "those of path {} {:.3g}. A path of large features needs little of U_1. Compare what "
      "removing "
      "each head costs instead.\n",
      named_path(result.solve, largest), norms[largest], named_path(result.solve, smallest),
      norms[smallest]));
}

}  // namespace

std::string solve_table(const Study& study, const SolveResult& result) {
  const SetColumns sets(result, true);
  const Measure measure(result);
  Table table(
      sets.header({"widths", "T", measure.name(), "GP", "U_a", "U_1 diagonal<", "seconds", ""},
                  kAfterAccuracy + 1));
  bool marked = false;
  for (const SolvePoint& point : result.points) {
    marked = marked || !point.summary.converged;
    table.add(sets.row(
        {widths_text(point.widths), cell(point.temperature, "{:g}"), measure.text(point.predictor),
         measure.limit_text(result, point.temperature),
         readout_text(point.order_parameters.readout), first_layer_text(point.order_parameters),
         seconds_cell(point.seconds), point.summary.converged ? "" : "*"},
        kAfterAccuracy + 1, point.predictor,
        headway::gaussian_process_at(result, point.temperature)));
  }
  std::string out = study_header(study, result) + table.text();
  if (marked) out += "* not converged\n";
  return out + minimum_text(result) + minima_table(result) + features_table(result) +
         corrected_table(result) + chosen_table(result) + best_text(result);
}

std::string align_table(const Study& study, const AlignResult& result) {
  constexpr Index kMost = 8;
  std::string out = study_header(study, result.solve);
  out += wrapped("overlap |v_k . y| / |y| of eigenvector k (falling eigenvalue) with the labels\n");
  Table table({"widths", "T", "kernel<", "k = 1 ... 8<", "sum of squares"}, 3);
  const auto row = [&](const std::string& widths, double temperature, const char* kernel,
                       const VectorXd& overlaps, const VectorXd& cumulative) {
    const Index shown = std::min(kMost, overlaps.size());
    const VectorXd head = overlaps.head(shown);
    table.add(
        {widths, cell(temperature, "{:g}"), kernel, decimals_text(numerics::listed(head)),
         shown > 0 && shown <= cumulative.size() ? cell(cumulative[shown - 1], "{:.4f}") : "-"});
  };
  for (const AlignPoint& point : result.points) {
    row(widths_text(point.widths), point.temperature, "renormalised", point.overlaps,
        point.cumulative);
  }
  std::set<double> told;  // infinite width: once for each temperature
  for (const AlignPoint& point : result.points) {
    if (!told.insert(point.temperature).second) continue;
    row("-", point.temperature, "GP", point.gaussian_process_overlaps,
        point.gaussian_process_cumulative);
  }
  return out + table.text();
}

std::string prune_table(const Study& study, const PruneResult& result) {
  const Measure measure(result.solve);
  std::string out =
      study_header(study, result.solve) + path_norms_text(result) + carried_network_table(result);
  for (const PrunePoint& point : result.points) {
    const SolvePoint* whole = headway::theory_at(result.solve, point.widths, point.temperature);
    out += fmt::format("{}, {} {}\n", point_title(point.widths, point.temperature), measure.name(),
                       whole != nullptr ? measure.text(whole->predictor) : "-");
    out += heads_table(point, measure, result.network) + curves_text(point, measure) +
           network_orders_text(point) + "\n";
  }
  return out;
}

}  // namespace headway::cli
