#pragma once

#include <type_traits>
#include <utility>

#include "headway/core/record.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/types.hpp"

// What results say of value networks ([model.value_network]).
namespace headway {

/// The covariance S of the hidden weights at a point, d x d. Its rows are inputs, head after head.
struct FeatureReport {
  MatrixXd s;
  VectorXd eigenvalues;
  double effective_dimension = numerics::kUndefined;
  VectorXd head_shares;
};
template <class Visitor, RecordOf<FeatureReport> Record>
void fields(Visitor& visit, Record& r) {
  visit("S", r.s,
        "value network: covariance S of the hidden weights, [d, d], head outer and input inner; "
        "s_0^2 I at the prior",
        {.optional = true, .axes = "direction direction_other"});
  visit("S_eigenvalues", r.eigenvalues, "its eigenvalues, largest first",
        {.optional = true, .axes = "direction"});
  visit("S_effective_dimension", r.effective_dimension, "(tr S)^2 / tr S^2", {.optional = true});
  visit("S_head_shares", r.head_shares,
        "share of each head's block in tr S; one number where hidden units see no heads",
        {.optional = true, .axes = "value_head"});
}

/// What a sampled point says of S.
struct SampledFeatures {
  MatrixXd mean, mcse;
  VectorXd eigenvalues;  ///< of the mean
  Tensor traces;         ///< [chain, draw]
  double integral_log_evidence = numerics::kUndefined,
         integral_log_evidence_error = numerics::kUndefined;
  double exchange_rate = numerics::kUndefined;
};
template <class Visitor, RecordOf<SampledFeatures> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldForm kMatrix = {.optional = true, .axes = "direction direction_other"};
  constexpr FieldForm kOld = {.optional = true};
  visit("S_mean", r.mean, "value network: posterior mean of S = V V^T / N_1", kMatrix);
  visit("S_mcse", r.mcse,
        "Monte Carlo standard error of each entry, from means over consecutive draws", kMatrix);
  visit("S_mean_eigenvalues", r.eigenvalues, "eigenvalues of the mean, largest first",
        {.optional = true, .axes = "direction"});
  visit("draws/S_trace", r.traces, "draws of tr S, [chain, draw]",
        {.place = FieldPlace::kFile, .optional = true, .axes = "chain draw"});
  visit("log_evidence_by_integral", r.integral_log_evidence,
        "value network: log p(y) in nats by thermodynamic integration; log_evidence is by bridge "
        "sampling between replicas",
        kOld);
  visit("log_evidence_by_integral_error", r.integral_log_evidence_error, "its standard error",
        kOld);
  visit("replica_exchange_rate", r.exchange_rate,
        "mean probability with which exchanges between neighbouring replicas were accepted", kOld);
}

inline bool is_empty(const FeatureReport& r) { return r.s.size() == 0; }
inline bool is_empty(const SampledFeatures& r) { return r.mean.size() == 0; }

/// Written where there is a value network, and read where a file has it.
template <class Visitor, class Features>
void fields_of_features(Visitor& visit, Features& features) {
  if constexpr (std::is_const_v<Features>) {
    if (!shows(visit, features.has_value())) return;
    const typename Features::value_type none;
    fields(visit, features ? *features : none);
  } else {
    typename Features::value_type read;
    fields(visit, read);
    if (!is_empty(read)) features = std::move(read);
  }
}

}  // namespace headway
