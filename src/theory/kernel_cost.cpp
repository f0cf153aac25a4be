#include "headway/theory/kernel_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/block_cyclic.hpp"
#include "headway/error.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

constexpr double kNumber = 8.0;  // bytes
constexpr double kProductMemoryLimit =
    256.0 * 1024 * 1024;  // bytes for all K^{-1} C_k of a Hessian

constexpr double kMemoryBound = 10.0;  // a flop that waits for memory is this much slower

double triangle(double n) { return 0.5 * n * (n + 1.0); }

/// The sizes that the counts below are written in.
struct Counts {
  explicit Counts(const KernelSizes& sizes)
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

void count_stored(const Counts& s, KernelCost& cost) {
  const double product_flops = 2.0 * triangle(s.p) * std::pow(s.n, 3);
  cost.hessian_by_products = !cost.compact && product_flops < s.block_flops() &&
                             2.0 * kNumber * s.n * s.n * triangle(s.p) < kProductMemoryLimit;
  cost.construction_flops = s.n * s.n * s.n0 * s.p * s.p;
  // Memory-bound: two passes over the packed kernels.
  cost.evaluation_flops = (cost.compact ? 2.0 : 4.0) * s.packed() + std::pow(s.n, 3);
  cost.hessian_flops = cost.hessian_by_products ? product_flops : s.block_flops();
  // Passes over the packed kernels wait for memory; products of the features do not.
  cost.product_flops = 4.0 * s.packed() + 4.0 * std::pow(s.n, 3);
  cost.whitened_products = s.whitened_flops() < kMemoryBound * cost.product_flops;
  if (cost.whitened_products) cost.product_flops = s.whitened_flops();
  // With fixed point the features are held, too, for evaluations in double. With a Hessian by
  // products the kernels are held in single precision, too.
  const double square = kNumber * s.n * s.n;
  cost.kernel_bytes =
      cost.compact ? 0.5 * kNumber * s.packed() + kNumber * s.features() : kNumber * s.packed();
  cost.state_bytes = square;
  cost.work_bytes = 1.5 * square;
  cost.product_bytes = 4.0 * square + (cost.whitened_products ? 2.5 * kNumber * s.features() : 0.0);
  cost.hessian_bytes = kNumber * (s.features() + s.block_numbers() + s.information_numbers());
  if (!cost.hessian_by_products) return;
  cost.kernel_bytes += 0.5 * square * triangle(s.p);
  cost.state_bytes += square;
  cost.hessian_bytes = 2.0 * square * triangle(s.p) + kNumber * s.information_numbers();
}

void count_streamed(const Counts& s, KernelCost& cost) {
  const bool one = s.c == 1.0;
  const double square = kNumber * s.rows() * s.rows();
  cost.evaluation_flops = (one ? 2.0 : 4.0) * s.rows() * s.rows() * s.columns() +
                          4.0 * s.features() * s.p + std::pow(s.rows(), 3);
  cost.hessian_flops = s.block_flops();
  const double d = s.columns();
  cost.whitened_products = one;
  cost.product_flops = one ? s.whitened_flops()
                           : 4.0 * s.rows() * s.rows() * d + 4.0 * std::pow(s.rows(), 3) +
                                 4.0 * s.features() * s.p * s.c * s.c;
  // One output: L^{-1} X gives the gradient and stays for the Hessian.
  cost.state_bytes = square + (one ? kNumber * s.features() : 0.0);
  cost.work_bytes = one ? 0.0 : square + kNumber * s.features();
  // Whitened features, their mixture and their product with M, in single precision.
  cost.product_bytes = one ? 1.5 * kNumber * s.features() : 4.0 * square + kNumber * s.features();
  cost.hessian_bytes = kNumber * (s.block_numbers() + s.information_numbers() +
                                  (one ? 0.0 : s.rows() * s.order() * s.n0));
}

/// The forms in D = p N_0 dimensions for each output. `features`: whether features are held, too.
void count_feature_space(const Counts& s, bool features, KernelCost& cost) {
  const double d = s.columns();
  const double lifted = d * s.c;
  const double square = kNumber * lifted * lifted;
  cost.construction_flops = s.n * d * d;
  // The congruence is made output by output.
  cost.evaluation_flops = lifted * lifted * lifted + 4.0 * lifted * lifted * s.p * s.c +
                          (features ? 4.0 * s.features() : 0.0);
  cost.hessian_flops = std::pow(s.order() * lifted, 2) + 4.0 * lifted * lifted * s.order();
  cost.product_flops = 4.0 * lifted * lifted * s.order();
  cost.kernel_bytes = kNumber * d * d;
  cost.state_bytes = 2.0 * square;
  cost.work_bytes = 2.0 * square;
  cost.product_bytes = 3.0 * square;
  cost.hessian_bytes = 2.0 * square + kNumber * s.information_numbers();
}

/// K in blocks on a grid of ranks; second derivatives from products with directions.
void count_distributed(const Counts& s, int ranks, KernelCost& cost) {
  const RankGrid grid(ranks, 0);
  const double rows = 1.0 / grid.rows;
  const double share = rows / grid.columns;
  const double square = kNumber * s.n * s.n * share;
  cost.feature_share = rows + 1.0 / grid.columns;
  const double shared = kNumber * s.features() * cost.feature_share;
  const double unknowns = triangle(s.p);
  const double mixing =  // which the ranks of a row of the grid share where that is worth it
      4.0 * s.features() * s.p * (s.p < static_cast<double>(kPathsWorthSending) ? rows : share);
  const double products = 2.0 * s.n * s.n * s.columns() * share + mixing;
  cost.evaluation_flops = products + std::pow(s.n, 3) * share;
  cost.product_flops = products + 4.0 * s.features() * cost.feature_share;
  cost.hessian_flops = unknowns * cost.product_flops;
  cost.state_bytes = square;
  cost.product_bytes = square + shared;
  cost.hessian_bytes =
      cost.product_bytes + kNumber * unknowns * (2.0 * s.columns() + 2.0 * unknowns);
}

KernelForm choose_form(const Counts& s, const PathKernelOptions& options, double stored_bytes) {
  const bool feature_possible = options.smallest_temperature > 0.0;
  if ((options.form == KernelForm::kFeatureSpace || options.form == KernelForm::kGram) &&
      !feature_possible) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("solve.kernels = \"{}\": needs model.temperature > 0, but the smallest is {}",
                    word_of(options.form), options.smallest_temperature));
  }
  if (options.form == KernelForm::kStored && s.c != 1.0) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format(
            "solve.kernels = \"stored\": needs one output, but the data have {}; use \"streamed\"",
            s.c));
  }
  if (options.form == KernelForm::kDistributed && options.ranks < 2) {
    throw Error(
        ErrorKind::kBadStudy,
        "solve.kernels = \"distributed\": needs several ranks, as with mpirun -n R headway solve; "
        "allowed here: \"auto\", \"stored\", \"streamed\", \"feature_space\" or \"gram\"");
  }
  if (options.form == KernelForm::kDistributed && s.c != 1.0) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("solve.kernels = \"distributed\": needs one output, but the data have {}",
                    s.c));
  }
  if (options.form != KernelForm::kAuto) return options.form;
  // The feature-space form takes D^3 flops a step, where the others take at least P^3. The stored
  // form is bound by memory: an evaluation makes two passes over the packed kernels.
  if (feature_possible && s.columns() < 0.9 * s.n) return KernelForm::kFeatureSpace;
  const bool stored_fits = s.c == 1.0 && stored_bytes < 0.5 * options.memory_limit_bytes;
  return stored_fits ? KernelForm::kStored : KernelForm::kStreamed;
}

}  // namespace

Words<KernelForm> words_of(KernelForm) {
  static constexpr Word<KernelForm> kWords[] = {
      {"auto", KernelForm::kAuto},         {"stored", KernelForm::kStored},
      {"streamed", KernelForm::kStreamed}, {"feature_space", KernelForm::kFeatureSpace},
      {"gram", KernelForm::kGram},         {"distributed", KernelForm::kDistributed}};
  return kWords;
}

KernelCost kernel_cost(const KernelSizes& sizes, KernelForm form, bool compact, int ranks) {
  const Counts s(sizes);
  KernelCost cost;
  cost.form = form;
  cost.compact = compact;
  switch (form) {
    case KernelForm::kStored:
      count_stored(s, cost);
      break;
    case KernelForm::kStreamed:
      count_streamed(s, cost);
      break;
    case KernelForm::kFeatureSpace:
      count_feature_space(s, true, cost);
      break;
    case KernelForm::kGram:
      count_feature_space(s, false, cost);
      break;
    case KernelForm::kDistributed:
      count_distributed(s, ranks, cost);
      break;
    case KernelForm::kAuto:
      throw Error(ErrorKind::kInternal, "the cost of kernels whose form is not chosen");
  }
  cost.third_derivative_flops = 2.0 * std::pow(s.order(), 4) * s.n0 * s.n0 +
                                2.0 * s.rows() * std::pow(s.order() * s.n0, 2) +
                                4.0 * s.rows() * s.rows() * s.order() * s.n0;
  if (form == KernelForm::kDistributed)
    cost.third_derivative_flops = 2.0 * triangle(s.p) * cost.product_flops;
  return cost;
}

KernelCost kernel_cost(const KernelSizes& sizes, const PathKernelOptions& options) {
  const Counts s(sizes);
  double stored_bytes = kNumber * s.packed();
  const bool compact = options.energy_tolerance > 0.0 && stored_bytes > options.compact_above_bytes;
  if (compact) stored_bytes *= 0.5;
  const KernelForm form = choose_form(s, options, stored_bytes);
  return kernel_cost(sizes, form, compact && form == KernelForm::kStored, options.ranks);
}

}  // namespace headway::theory
