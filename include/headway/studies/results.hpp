#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "headway/core/types.hpp"
#include "headway/studies/network_results.hpp"

namespace headway::studies {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();  ///< null in JSON

/// How a predictor does on one further set of the data set.
struct SetReport {
  std::string name;
  double accuracy = kUndefined;
  double mean_squared_error = kUndefined;  ///< of the mean, over examples and outputs
};

/// What a Gaussian predictor says on the train and test examples (eqs. 16, 17 and 51).
struct PredictorReport {
  MatrixXd mean;      ///< test mean, P_test x C (0 x C without a test set)
  MatrixXd variance;  ///< test variance of each output
  double train_accuracy = kUndefined;
  double accuracy = kUndefined;                ///< test
  double mean_squared_error = kUndefined;      ///< test, mean over examples and outputs
  double right_sign_probability = kUndefined;  ///< mean over the test set of Phi(y mean / sd)
  double squared_bias = kUndefined;            ///< mean of (mean - y)^2
  double predictor_variance = kUndefined;      ///< mean variance
  std::vector<SetReport> sets;                 ///< the further sets, in the data set's order
};

/// The 1/N-corrected means (eqs. 40 and 41).
struct CorrectedPoint {
  bool defined = false;
  std::string reason;                      ///< why not, when undefined or skipped
  std::vector<MatrixXd> order_parameters;  ///< U_1, ..., U_L
  std::vector<MatrixXd>
      order_parameter_deviations;    ///< sqrt(Sigma_ii), posterior standard deviations
  MatrixXd readout_order_parameter;  ///< U_a, C x C
  MatrixXd readout_deviation;
  PredictorReport predictor;
};

struct IterationRecord {
  int iteration = 0;
  double action = 0.0;  ///< S / max N
  double gradient_norm = 0.0;
  double step_norm = 0.0;  ///< of the step that led here, in affine-invariant units
};

/// One sweep point of `solve`.
struct SolvePoint {
  std::vector<Index> widths;  ///< N_1, ..., N_L, N_a
  double temperature = 0.0;
  std::string method = "saddle_point";
  bool converged = false;
  std::string message;    ///< what ended the iteration, in words
  std::string optimizer;  ///< what ran: "newton" | "quasi_newton" | "ceres"
  int iterations = 0;
  double gradient_norm = kUndefined;
  double gradient_rounding = kUndefined;  ///< what double precision allows for gradient_norm here
  double action = kUndefined;
  double energy = kUndefined;
  double entropy = kUndefined;
  std::vector<MatrixXd> order_parameters;  ///< U_1, ..., U_L
  MatrixXd readout_order_parameter;        ///< U_a, C x C
  PredictorReport predictor;
  double smallest_hessian_eigenvalue = kUndefined;
  /// log p(y) in nats by theory::saddle_evidence: Laplace's method about the saddle point where the
  /// Hessian was computed and is positive, else its leading order. Undefined unless converged.
  double log_evidence = kUndefined;
  double log_evidence_leading_order = kUndefined;
  std::string evidence_method;       ///< "laplace" | "leading_order" | "" when undefined
  std::string kernels;               ///< "stored" | "streamed" | "feature_space"
  double start_spread = kUndefined;  ///< largest relative difference in U over the extra starts
  CorrectedPoint corrected;
  std::vector<IterationRecord> history;
  double seconds = 0.0;
};

/// The infinite-width limit at one temperature.
struct GaussianProcessPoint {
  double temperature = 0.0;
  PredictorReport predictor;
  double log_evidence = kUndefined;  ///< log p(y) of the Gaussian process, nats
};

struct SolveResult {
  std::vector<int> heads;
  std::vector<double> variances;
  Index outputs = 1;
  Index train_examples = 0, test_examples = 0, features = 0;
  MatrixXd train_labels, test_labels;
  std::vector<std::string> set_names;  ///< of the data set's further sets
  std::vector<Index> set_examples;
  std::vector<std::vector<std::string>>
      head_names;                      ///< per layer; generated where the data set has none
  std::vector<MatrixXd> path_kernels;  ///< same-path kernels C_{pi pi} (only up to 16 paths and P
                                       ///< <= 1000), for figures
  std::vector<SolvePoint> points;
  std::vector<GaussianProcessPoint> gaussian_process;
  bool interrupted = false;
  double seconds = 0.0;
  int threads = 1;
};

/// Kernel alignment at one sweep point (eq. 52): |v_k . y| / |y| by falling eigenvalue
/// of K (without T).
struct AlignPoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  VectorXd overlaps, gaussian_process_overlaps;
  VectorXd cumulative, gaussian_process_cumulative;  ///< running sums of squared overlaps
  VectorXd eigenvalues, gaussian_process_eigenvalues;
  double seconds = 0.0;
};

struct AlignResult {
  SolveResult solve;  ///< the order parameters used
  std::vector<AlignPoint> points;
  double seconds = 0.0;
};

struct HeadReport {
  int layer = 1, head = 1;  ///< counted from 1
  std::string name;
  double score = kUndefined;  ///< eq. 53
  double score_weighted =
      kUndefined;  ///< with 1/(2 H_l) on entries that have the head on exactly one path
  double accuracy_without = kUndefined;
  double mean_squared_error_without = kUndefined;
};

/// Accuracy after removing 0, 1, 2, ... heads in some order.
struct PruningCurve {
  std::vector<int> order;  ///< heads removed, as indices into PrunePoint::heads
  std::vector<double> accuracy;
};

struct PrunePoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  double accuracy = kUndefined;
  std::vector<HeadReport> heads;
  PruningCurve by_score, greedy;
  std::string greedy_on;  ///< set that the greedy order was searched on: "validation", else "test"
  std::vector<PruningCurve> random;
  std::vector<double> random_mean, random_sd;
  /// The data set's trained network in the order of this point's "score" and "score_weighted";
  /// empty without one.
  std::vector<NetworkScore> network;
  double seconds = 0.0;
};

struct PruneResult {
  SolveResult solve;
  std::vector<PrunePoint> points;
  std::optional<NetworkPruning> network;  ///< where the data set carries a trained network
  double seconds = 0.0;
};

inline constexpr double kGoodRhat = 1.01;    ///< above: a warning
inline constexpr double kUsableRhat = 1.05;  ///< above: the result is not usable

/// Posterior of one matrix, entry by entry.
struct SampledMatrix {
  MatrixXd mean, sd;  ///< of the posterior
  MatrixXd mcse;      ///< Monte Carlo standard error of the mean
  MatrixXd rhat, ess_bulk, ess_tail;
  Tensor draws;  ///< [chain, draw, n, n]
};

/// One sweep point of `sample` (eqs. 34 and 50).
struct SamplePoint {
  std::vector<Index> widths;
  double temperature = 0.0;
  std::string sampler;
  int chains = 0;
  Index draws = 0;                              ///< per chain, after warm-up
  std::vector<SampledMatrix> order_parameters;  ///< U_1, ..., U_L
  SampledMatrix readout_order_parameter;        ///< U_a
  PredictorReport
      predictor;  ///< posterior mean and variance (law of total variance) of f on the test set
  MatrixXd predictor_mcse;  ///< Monte Carlo standard error of predictor.mean, from how far the
                            ///< chains' own means differ; not finite with one chain
  double accuracy_mcse = kUndefined;  ///< of predictor.accuracy, likewise
  double accuracy_mean = kUndefined,
         accuracy_sd = kUndefined;  ///< over draws, of each draw's own mean predictor
  double rhat_max = kUndefined, ess_bulk_min = kUndefined,
         ess_tail_min = kUndefined;  ///< over entries of all U
  double ebfmi_min = kUndefined;
  Index divergences = 0;
  double mean_acceptance = kUndefined, step_size = kUndefined;
  double log_evidence = kUndefined, log_evidence_error = kUndefined;
  std::string evidence_reason;  ///< why there is no evidence
  bool biased = false;          ///< unadjusted Langevin
  bool complete = false;        ///< all draws were made
  MatrixXd energies;            ///< log density of each draw, draws x chains
  std::vector<std::string> warnings;
  MatrixXd weights;               ///< dimension x (draws chains) where asked for
  double sampling_seconds = 0.0;  ///< of the chains alone, warm-up included
  double seconds = 0.0;
};

struct SampleResult {
  SolveResult solve;  ///< the theory at the same points, for comparison
  std::vector<SamplePoint> points;
  bool interrupted = false;
  double seconds = 0.0;
};

}  // namespace headway::studies
