#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/order_parameters.hpp"
#include "headway/types.hpp"

// What results say of attention that was learned ([model.attention_prior]).
namespace headway {

/// A joint minimum over order parameters and learned attention.
struct AttentionMinimum {
  double action = numerics::kUndefined;
  double attention_entropy = numerics::kUndefined, attention_largest = numerics::kUndefined;
  theory::OrderParameters order_parameters;
  std::vector<MatrixXd> attention_weights;  ///< W of each learned head, layer 1 first
  Index starts = 0;
  bool converged = false;
  double gradient_norm = numerics::kUndefined;
};
template <class Visitor, RecordOf<AttentionMinimum> Record>
void fields(Visitor& visit, Record& r) {
  visit("action", r.action, "S / max N at the minimum, with |w|^2 / s_w^2");
  fields(visit, r.order_parameters, "");
  visit(
      "attention_entropy", r.attention_entropy,
      "entropy of a head's attention at the tokens that the readout takes, mean over the heads of "
      "the last layer and these tokens of all training examples; undefined for linear attention");
  visit("attention_largest", r.attention_largest,
        "largest weight of the mean attention of the last layer's heads there, mean over "
        "these tokens of all training examples");
  visit("attention_weights", r.attention_weights,
        "W of each learned head, layer 1 first, [heads, N_0, N_0]; Q^T K / sqrt(G) for queries and "
        "keys",
        {.place = FieldPlace::kFile,
         .layout = FieldLayout::kStacked,
         .axes = "head input input_other"});
  visit("starts", r.starts, "starts that led here, heads exchanged or not");
  visit("converged", r.converged, "whether the search over attention converged");
  visit("gradient_norm", r.gradient_norm,
        "largest entry of the gradient of S / max N over attention weights in units of their prior "
        "deviation");
}

/// The minima of a point: written if there are some, and read if a file has them.
template <class Visitor, class Minima>
void fields_of_minima(Visitor& visit, Minima& minima) {
  if (std::is_const_v<Minima> && !shows(visit, !minima.empty())) return;
  visit("minima", minima,
        "learned attention: minima that differ, lowest action first; the point is the first",
        {.optional = true});
}

/// What a sampled point says of learned attention.
struct SampledAttention {
  double entropy_mean = numerics::kUndefined, entropy_mcse = numerics::kUndefined;
  double largest_mean = numerics::kUndefined, largest_mcse = numerics::kUndefined;
  double integral_log_evidence = numerics::kUndefined,
         integral_log_evidence_error = numerics::kUndefined;
  double exchange_rate = numerics::kUndefined;
  Tensor entropy, largest, log_likelihood;  ///< [chain, draw]
  Tensor weights;                           ///< [chain, draw, weight], where they are kept
  std::vector<std::string> weight_names;
};
template <class Visitor, RecordOf<SampledAttention> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldForm kOld = {.optional = true};
  constexpr FieldForm kDraws = {.place = FieldPlace::kFile, .optional = true, .axes = "chain draw"};
  visit("attention_entropy_mean", r.entropy_mean,
        "posterior mean of the entropy of a head's attention at the tokens that the readout takes, "
        "mean over the heads of the last layer and these tokens of all training examples; "
        "undefined for linear attention",
        kOld);
  visit("attention_entropy_mcse", r.entropy_mcse, "Monte Carlo standard error of that mean", kOld);
  visit("attention_largest_mean", r.largest_mean,
        "posterior mean of the largest weight of the mean attention of the last layer's heads "
        "there, mean over these tokens of all training examples",
        kOld);
  visit("attention_largest_mcse", r.largest_mcse, "Monte Carlo standard error of that mean", kOld);
  visit("log_evidence_integral", r.integral_log_evidence,
        "log p(y) in nats by thermodynamic integration; log_evidence is by bridge sampling", kOld);
  visit("log_evidence_integral_error", r.integral_log_evidence_error, "its standard error", kOld);
  visit("exchange_rate", r.exchange_rate,
        "mean probability with which exchanges between neighbouring replicas were accepted", kOld);
  visit("draws/attention_entropy", r.entropy, "draws of the attention's entropy, [chain, draw]",
        kDraws);
  visit("draws/attention_largest", r.largest, "draws of its largest weight, [chain, draw]", kDraws);
  visit("draws/log_likelihood", r.log_likelihood, "-energy / 2 of each draw, [chain, draw]",
        kDraws);
  visit("draws/attention_weights", r.weights,
        "draws of the attention weights, [chain, draw, weight]; if asked for",
        {.place = FieldPlace::kFile, .optional = true, .axes = "chain draw weight"});
  visit("attention_weight_names", r.weight_names, "names of these weights",
        {.place = FieldPlace::kFile, .optional = true, .axes = "weight"});
}

}  // namespace headway
