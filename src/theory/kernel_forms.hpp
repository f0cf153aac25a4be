#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>

#include "headway/path_kernels.hpp"

/// Private to theory: the descriptions of the forms of the kernels.
namespace headway::theory {

inline constexpr double kNumber = 8.0;  // bytes

inline double triangle(double n) { return 0.5 * n * (n + 1.0); }

/// The sizes that costs are written in.
struct KernelCounts {
  explicit KernelCounts(const KernelSizes& sizes)
      : n(static_cast<double>(sizes.examples)),
        p(static_cast<double>(sizes.paths)),
        n0(static_cast<double>(sizes.feature_count)),
        c(static_cast<double>(sizes.outputs)) {}
  double n, p, n0, c;

  [[nodiscard]] double rows() const { return n * c; }      // of K
  [[nodiscard]] double order() const { return p * c; }     // of U_1
  [[nodiscard]] double columns() const { return p * n0; }  // of X
  [[nodiscard]] double features() const { return n * columns(); }
  [[nodiscard]] double packed() const { return triangle(n) * triangle(p); }
  /// Hessian from inner products of blocks (theory/second_order_blocks.hpp).
  [[nodiscard]] double block_flops() const {
    const double side = std::min(n0, rows());
    return rows() * rows() * order() * n0 + order() * order() * n0 * rows() * side +
           std::pow(order(), 4) * side * side;
  }
  [[nodiscard]] double block_numbers() const {
    const double side = std::min(n0, rows());
    return side * side * order() * order();
  }
  /// A product with a direction through L^{-1} X, one output.
  [[nodiscard]] double whitened_flops() const { return 3.0 * features() * (n + p); }
  /// alpha^T C_k (K + T)^{-1} C_l alpha for all k, l: its factor, it, and the Hessian.
  [[nodiscard]] double information_numbers() const {
    const double unknowns = triangle(order());
    return rows() * unknowns + 2.0 * unknowns * unknowns;
  }
};

/// Whether stored kernels are held in fixed point.
bool holds_compact(const KernelCounts& sizes, const PathKernelOptions& options);

/// How strongly KernelForm::kAuto wants a form at some sizes.
enum class Claim { kNone, kFallback, kGood, kBest };

/// One form of the kernels. The source file of each form defines its own.
struct KernelFormDescription {
  KernelForm form;
  std::string_view word;  ///< of solve.kernels
  /// Why the form is impossible, after `solve.kernels = "word": `; empty where it is possible.
  std::string (*refusal)(const KernelCounts& sizes, const PathKernelOptions& options);
  /// Asked only where the form is possible.
  Claim (*claim)(const KernelCounts& sizes, const PathKernelOptions& options);
  /// Fills in the flops and bytes of the form. `ranks`: number of ranks that share the problem.
  void (*count)(const KernelCounts& sizes, int ranks, KernelCost& cost);
  /// From scaled features; `cost` is that of count().
  std::shared_ptr<const PathKernels> (*make)(MatrixXd&& features, MatrixXd&& labels, Index paths,
                                             const PathKernelOptions& options,
                                             const KernelCost& cost);
};

/// Error{kInternal} for kAuto.
const KernelFormDescription& describe_kernels(KernelForm form);

/// Refusals that several forms share.
std::string needs_temperature(const KernelCounts& counts, const PathKernelOptions& options);
std::string needs_one_output(const KernelCounts& counts);

/// Of the forms in D = p N_0 dimensions for each output; `features` says whether they are held
/// beside.
void count_feature_space(const KernelCounts& s, bool features, KernelCost& cost);

}  // namespace headway::theory
