#pragma once

#include <array>

#include "headway/core/words.hpp"
#include "headway/types.hpp"

namespace headway::theory {

/// How the renormalised kernel K(U) = sum U[pi, pi'] C_{pi pi'} and its gradient are evaluated (eq.
/// 15). All forms give the same numbers; they differ in cost and memory.
enum class KernelForm {
  kAuto,          ///< the cheapest that fits the memory limit
  kStored,        ///< all C_{pi pi'} packed, p(p+1)/2 P(P+1)/2 numbers; one output only
  kStreamed,      ///< K = (X (F kron I)) (X (F kron I))^T from the features, U = F F^T
  kFeatureSpace,  ///< Woodbury form in p N_0 < P dimensions; needs T > 0
  kGram,          ///< the same from Gram matrices alone: holds neither features nor labels
  kDistributed,   ///< K in blocks over ranks, where no process can hold it; one output only
};
Words<KernelForm> words_of(KernelForm);

/// The description of a form: its word, where it is possible, what it costs and how it is made. The
/// source file of the form defines it.
struct KernelFormDescription;
const KernelFormDescription& stored_form();
const KernelFormDescription& streamed_form();
const KernelFormDescription& feature_space_form();
const KernelFormDescription& gram_form();
const KernelFormDescription& distributed_form();
/// Every form but kAuto, in the order of their words.
inline constexpr std::array kKernelForms = {&stored_form, &streamed_form, &feature_space_form,
                                            &gram_form, &distributed_form};

struct PathKernelOptions {
  KernelForm form = KernelForm::kAuto;
  double memory_limit_bytes = 2.0 * 1024 * 1024 * 1024;
  int threads = 1;                    ///< that share one evaluation
  int ranks = 1;                      ///< that share one problem, where the form is kDistributed
  double smallest_temperature = 0.0;  ///< of the sweep; the feature-space form needs it positive
  /// Stored form: > 0 allows packed kernels in 32-bit fixed point, in half the memory and time,
  /// with the energy off by no more than this. The energy and its gradient are then those of the
  /// rounded kernels C + dC. To first order dE = <M, sum_k U_k dC_k> with M = (K + T)^{-1} - alpha
  /// alpha^T. The rounding is unbiased and independent from entry to entry
  /// (numerics::FixedPointColumns). Hence (eq. 31), but for a probability of at most delta = 1e-12
  /// (Hoeffding),
  ///   |dE| <= sqrt(ln(2 / delta) / 2) |M| sqrt(sum_k (U_k unit_k)^2),
  /// with M packed and its off-diagonals doubled. The bound is computed at every evaluation. If it
  /// exceeds the tolerance, the evaluation is repeated in double from the features
  /// (KernelForm::kStreamed). 0: double, as everything but sampling wants.
  double energy_tolerance = 0.0;
  /// Kernels that take less memory than this as doubles stay doubles, because they fit the cache.
  double compact_above_bytes = 8.0 * 1024 * 1024;
};

/// What path kernels are made from.
struct KernelSizes {
  Index examples = 0;       ///< P
  Index paths = 1;          ///< p
  Index feature_count = 0;  ///< N_0, or the directions of it that are left
  Index outputs = 1;        ///< C
};

/// The cost of one form of the kernels: flops, with a multiply-add counted as two, and bytes beside
/// those of the features themselves (8 P p N_0). For kDistributed the numbers are those of each
/// rank, and a rank holds feature_share of the features.
struct KernelCost {
  KernelForm form = KernelForm::kAuto;
  bool compact = false;                 ///< stored, in fixed point
  bool hessian_by_products = false;     ///< stored, Hessian through all (K + T)^{-1} C_k: few paths
  double feature_share = 1.0;           ///< of the training features, that a rank holds
  double construction_flops = 0.0;      ///< once
  double evaluation_flops = 0.0;        ///< PathKernels::evaluate() at one U
  double hessian_flops = 0.0;           ///< EnergyState::hessian()
  double product_flops = 0.0;           ///< EnergyCurvature::apply(), in double or single precision
  bool whitened_products = false;       ///< from features L^{-1} X; Precision::kSingle halves them
  double third_derivative_flops = 0.0;  ///< EnergyState::contract_third_derivative()
  double kernel_bytes = 0.0;            ///< held as long as the kernels are
  double state_bytes = 0.0;             ///< held by each EnergyState
  double work_bytes = 0.0;              ///< further, while evaluate() runs
  double product_bytes = 0.0;           ///< further, while products with directions are made
  double hessian_bytes = 0.0;           ///< further, while a Hessian is made
};

/// Cost of one form, which must not be kAuto.
KernelCost kernel_cost(const KernelSizes& sizes, KernelForm form, bool compact = false,
                       int ranks = 1);

/// Cost of the form that make_path_kernels() takes for these sizes and options; it calls this.
/// Error{kBadStudy} when the asked form is impossible.
KernelCost kernel_cost(const KernelSizes& sizes, const PathKernelOptions& options);

}  // namespace headway::theory
