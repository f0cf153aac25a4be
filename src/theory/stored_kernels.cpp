#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "example_space.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/dense.hpp"
#include "headway/numerics/fixed_point_columns.hpp"
#include "headway/numerics/symmetric.hpp"
#include "kernel_forms.hpp"
#include "orthogonal_kernels.hpp"
#include "path_kernel_forms.hpp"

namespace headway::theory {
namespace {

using numerics::multiply;
using numerics::SpdFactor;
using numerics::symmetric_index;
using numerics::symmetric_size;
using numerics::Transpose;

constexpr double kErrorProbability = 1e-12;  // that an energy is wrong by more than its bound
constexpr std::uint64_t kRoundingSeed = 0;   // fixed: kernels of a data set are always the same

/// All path-path kernels, symmetrised (C_ab + C_ba off the diagonal) and packed: one column per
/// pair a >= b, the lower triangle of P x P column by column. K and its gradient are then one
/// matrix-vector product each, bound by memory: in doubles, or in fixed point where an error of the
/// energy is tolerated (PathKernelOptions::energy_tolerance).
class StoredKernels final : public ExampleSpaceKernels {
 public:
  /// `products`: C of make_path_kernels_of(), or null.
  StoredKernels(MatrixXd features, MatrixXd labels, Index paths, const PathKernelOptions& options,
                bool compact, const MatrixXd* products);

  [[nodiscard]] std::unique_ptr<EnergyState> evaluate(const MatrixXd& u,
                                                      double temperature) const override;
  [[nodiscard]] MatrixXd contract(const MatrixXd& m) const override;
  [[nodiscard]] MatrixXd renormalized_kernel(const MatrixXd& u) const override;

  [[nodiscard]] bool uses_products() const { return cost().hessian_by_products; }
  [[nodiscard]] Index pairs() const { return symmetric_size(paths()); }
  /// All C_k in svec coordinates as full matrices side by side, P x (P pairs).
  [[nodiscard]] MatrixXd unpack_pairs() const;
  /// The same in single precision, made once (only where uses_products()).
  [[nodiscard]] const numerics::MatrixXf& pairs_in_single() const { return single_; }

 private:
  [[nodiscard]] bool compact() const { return cost().compact; }
  void fill(const MatrixXd* products);
  /// C_ab + C_ba, or C_aa.
  void symmetrise(Index a, Index b, const MatrixXd* products, MatrixXd& symmetric) const;
  void unpack(const double* packed, MatrixXd& lower) const;
  [[nodiscard]] MatrixXd contract_packed(const VectorXd& doubled) const;
  /// The bound of PathKernelOptions::energy_tolerance, from M packed with doubled off-diagonals.
  [[nodiscard]] double energy_error(const MatrixXd& u, const VectorXd& doubled) const;

  double energy_tolerance_;
  MatrixXd packed_;                           // empty when compact
  numerics::FixedPointColumns fixed_;         // filled when compact
  std::shared_ptr<const PathKernels> exact_;  // where the bound is above the tolerance
  numerics::MatrixXf single_;
};

class StoredState final : public ExampleSpaceState {
 public:
  StoredState(const StoredKernels& kernels, MatrixXd u, double temperature, SpdFactor factor)
      : ExampleSpaceState(kernels, std::move(u), temperature, std::move(factor)),
        stored_(kernels) {}
  MatrixXd inverse;  // (K + T)^{-1}, where products() needs it

  [[nodiscard]] MatrixXd fisher_information(Precision precision) const override;

 protected:
  [[nodiscard]] MatrixXd second_order_matrix(const MatrixXd& sigma,
                                             Precision precision) const override;

 private:
  const MatrixXd& products() const;

  const StoredKernels& stored_;
  mutable MatrixXd products_;  // K^{-1} C_k, P x (P pairs)
};

StoredKernels::StoredKernels(MatrixXd features, MatrixXd labels, Index paths,
                             const PathKernelOptions& options, bool compact,
                             const MatrixXd* products)
    : ExampleSpaceKernels(std::move(features), std::move(labels), paths, options.threads,
                          KernelForm::kStored, compact),
      energy_tolerance_(compact ? options.energy_tolerance : 0.0) {
  if (compact) {
    fixed_ = numerics::FixedPointColumns(symmetric_size(examples()), pairs());
    exact_ = make_streamed_kernels(features_, labels_, paths, options.threads);
  } else {
    packed_.resize(symmetric_size(examples()), pairs());
  }
  fill(products);
}

void StoredKernels::symmetrise(Index a, Index b, const MatrixXd* products,
                               MatrixXd& symmetric) const {
  const Index n = examples(), n0 = feature_count();
  if (products != nullptr) {
    symmetric = products->block(a * n, b * n, n, n);
    if (a != b) symmetric += products->block(a * n, b * n, n, n).transpose();
    return;
  }
  const MatrixXd::ConstColsBlockXpr xa = features_.middleCols(a * n0, n0);
  if (a == b) {
    numerics::rank_update_lower(1.0, xa, Transpose::kNo, 0.0, symmetric);
    numerics::mirror_lower(symmetric);
    return;
  }
  MatrixXd product(n, n);
  multiply(1.0, xa, Transpose::kNo, features_.middleCols(b * n0, n0), Transpose::kYes, 0.0,
           product);
  numerics::transpose_into(product, symmetric);
  symmetric += product;
}

void StoredKernels::fill(const MatrixXd* products) {
  const Index n = examples();
  VectorXd column(symmetric_size(n));
  const bool keep_single = uses_products();
  if (keep_single) single_.resize(n, n * pairs());
  MatrixXd symmetric(n, n);
  for (Index a = 0, k = 0; a < paths(); ++a) {
    for (Index b = 0; b <= a; ++b, ++k) {
      symmetrise(a, b, products, symmetric);
      double* out = column.data();
      for (Index j = 0; j < n; ++j) out = std::copy_n(symmetric.data() + j * n + j, n - j, out);
      if (compact()) {
        Rng rng(kRoundingSeed, StreamPurpose::kRounding, static_cast<std::uint64_t>(k));
        fixed_.set_column(k, column, rng);
      } else {
        packed_.col(k) = column;
      }
      if (keep_single) {
        const double scale = 1.0 / numerics::symmetric_weight(a, b);
        single_.middleCols(k * n, n) = (scale * symmetric).cast<float>();
      }
    }
  }
}

void StoredKernels::unpack(const double* packed, MatrixXd& lower) const {
  const Index n = examples();
  for (Index j = 0; j < n; ++j) {
    lower.col(j).tail(n - j) = Eigen::Map<const VectorXd>(packed, n - j);
    packed += n - j;
  }
}

/// The lower triangle of M - a a^T with everything below the diagonal doubled: its product with a
/// packed C is <M - a a^T, C>.
VectorXd pack_doubled(const MatrixXd& m, const VectorXd& a) {
  const Index n = m.rows();
  VectorXd packed(symmetric_size(n));
  double* out = packed.data();
  for (Index j = 0; j < n; ++j) {
    Eigen::Map<VectorXd>(out, n - j) = 2.0 * m.col(j).tail(n - j) - (2.0 * a[j]) * a.tail(n - j);
    *out *= 0.5;
    out += n - j;
  }
  return packed;
}

MatrixXd StoredKernels::unpack_pairs() const {
  const Index n = examples();
  MatrixXd all(n, n * pairs());
  for (Index a = 0, k = 0; a < paths(); ++a) {
    for (Index b = 0; b <= a; ++b, ++k) {
      const double scale = 1.0 / numerics::symmetric_weight(a, b);
      const double* in = packed_.col(k).data();
      for (Index j = 0; j < n; ++j) {
        all.col(k * n + j).tail(n - j) = scale * Eigen::Map<const VectorXd>(in, n - j);
        in += n - j;
      }
      numerics::mirror_lower(all.middleCols(k * n, n));
    }
  }
  return all;
}

double StoredKernels::energy_error(const MatrixXd& u, const VectorXd& doubled) const {
  const double deviations = std::sqrt(0.5 * std::log(2.0 / kErrorProbability));
  return deviations * fixed_.error_scale(pair_coefficients(u, paths())) * doubled.norm();
}

MatrixXd StoredKernels::renormalized_kernel(const MatrixXd& u) const {
  const VectorXd c = pair_coefficients(u, paths());
  VectorXd sum;
  if (compact()) {
    sum = fixed_.multiply(c);
  } else if (2 * (c.array() != 0.0).count() > c.size()) {
    sum = numerics::multiply_vector(packed_, Transpose::kNo, c);
  } else {  // paths of pruned heads: their kernels are not read
    sum = VectorXd::Zero(packed_.rows());
    for (Index k = 0; k < c.size(); ++k) {
      if (c[k] != 0.0) sum += c[k] * packed_.col(k);
    }
  }
  MatrixXd k(examples(), examples());
  unpack(sum.data(), k);
  return k;
}

std::unique_ptr<EnergyState> StoredKernels::evaluate(const MatrixXd& u, double temperature) const {
  MatrixXd k = renormalized_kernel(u);
  k.diagonal().array() += temperature;
  std::optional<SpdFactor> factor = SpdFactor::factor(std::move(k));
  if (!factor)
    return compact() ? exact_->evaluate(u, temperature) : evaluate_rotated(u, temperature);
  auto state = std::make_unique<StoredState>(*this, u, temperature, std::move(*factor));
  if (state->relative_rounding > kToleratedRounding) {
    if (compact()) return exact_->evaluate(u, temperature);
    if (std::unique_ptr<EnergyState> rotated = evaluate_rotated(u, temperature)) return rotated;
  }
  MatrixXd inverse = state->factor().inverse();
  if (compact()) {
    const VectorXd doubled = pack_doubled(inverse, state->dual());
    // NaN is above the tolerance too.
    if (!(energy_error(u, doubled) <= energy_tolerance_)) return exact_->evaluate(u, temperature);
    state->gradient = contract_packed(doubled);
  } else {
    state->differentiate(inverse, contract(inverse));
  }
  if (uses_products()) state->inverse = std::move(inverse);
  return state;
}

MatrixXd StoredKernels::contract(const MatrixXd& m) const {
  return contract_packed(pack_doubled(m, VectorXd::Zero(examples())));
}

MatrixXd StoredKernels::contract_packed(const VectorXd& doubled) const {
  const VectorXd sums = compact() ? fixed_.multiply_transposed(doubled)
                                  : numerics::multiply_vector(packed_, Transpose::kYes, doubled);
  MatrixXd result(paths(), paths());
  for (Index a = 0, k = 0; a < paths(); ++a) {
    for (Index b = 0; b < a; ++b) result(a, b) = result(b, a) = 0.5 * sums[k++];
    result(a, a) = sums[k++];
  }
  return result;
}

/// tr(B_k B_l) for B = [B_1, B_2, ...], each P x P.
template <class Matrix>
MatrixXd trace_products(const Matrix& b, Index pairs) {
  using Scalar = typename Matrix::Scalar;
  const Index n = b.rows();
  Matrix transposed(n, b.cols());
  for (Index k = 0; k < pairs; ++k)
    numerics::transpose_into(b.middleCols(k * n, n), transposed.middleCols(k * n, n));
  const Eigen::Map<const Matrix> left(b.data(), n * n, pairs);
  const Eigen::Map<const Matrix> right(transposed.data(), n * n, pairs);
  Matrix traces(pairs, pairs);
  multiply(Scalar{1}, left, Transpose::kYes, right, Transpose::kNo, Scalar{0}, traces);
  const MatrixXd result = traces.template cast<double>();
  return 0.5 * (result + result.transpose());
}

const MatrixXd& StoredState::products() const {
  if (products_.size() != 0) return products_;
  const Index n = stored_.examples();
  const MatrixXd kernels = stored_.unpack_pairs();
  products_.resize(n, n * stored_.pairs());
  multiply(1.0, inverse, Transpose::kNo, kernels, Transpose::kNo, 0.0, products_);
  return products_;
}

MatrixXd StoredState::fisher_information(Precision precision) const {
  if (!stored_.uses_products()) return ExampleSpaceState::fisher_information(precision);
  if (precision == Precision::kDouble) return trace_products(products(), stored_.pairs());
  const numerics::MatrixXf single = inverse.cast<float>();
  const numerics::MatrixXf& kernels = stored_.pairs_in_single();
  numerics::MatrixXf b(kernels.rows(), kernels.cols());
  multiply(1.0F, single, Transpose::kNo, kernels, Transpose::kNo, 0.0F, b);
  return trace_products(b, stored_.pairs());
}

MatrixXd StoredState::second_order_matrix(const MatrixXd& sigma, Precision precision) const {
  if (!stored_.uses_products()) return ExampleSpaceState::second_order_matrix(sigma, precision);
  const Index n = stored_.examples();
  const MatrixXd root = factor_covariance(sigma);
  const Eigen::Map<const MatrixXd> flat(products().data(), n * n, stored_.pairs());
  MatrixXd directions(n * n, root.cols());  // K^{-1} D_m
  multiply(1.0, flat, Transpose::kNo, root, Transpose::kNo, 0.0, directions);
  MatrixXd sum = MatrixXd::Zero(n, n);
  for (Index m = 0; m < root.cols(); ++m) {
    const Eigen::Map<const MatrixXd> b(directions.col(m).data(), n, n);
    multiply(1.0, b, Transpose::kNo, b, Transpose::kNo, 1.0, sum);
  }
  MatrixXd result(n, n);
  multiply(1.0, sum, Transpose::kNo, inverse, Transpose::kNo, 0.0, result);
  return 0.5 * (result + result.transpose());
}

constexpr double kProductMemoryLimit =
    256.0 * 1024 * 1024;               // bytes for all K^{-1} C_k of a Hessian
constexpr double kMemoryBound = 10.0;  // a flop that waits for memory is this much slower
constexpr double kMemoryShare = 0.5;   // of the limit, that `auto` gives to kernels

void count_stored(const KernelCounts& s, int /*ranks*/, KernelCost& cost) {
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

std::string refuse_stored(const KernelCounts& sizes, const PathKernelOptions& /*options*/) {
  const std::string refusal = needs_one_output(sizes);
  return refusal.empty() ? "" : refusal + "; use \"streamed\"";
}

/// Bound by memory: two passes over the packed kernels.
Claim claim_stored(const KernelCounts& sizes, const PathKernelOptions& options) {
  const double bytes = kNumber * sizes.packed() * (holds_compact(sizes, options) ? 0.5 : 1.0);
  return bytes < kMemoryShare * options.memory_limit_bytes ? Claim::kGood : Claim::kNone;
}

}  // namespace

std::shared_ptr<const PathKernels> make_path_kernels_of(const MatrixXd& products,
                                                        MatrixXd scaled_features, MatrixXd labels,
                                                        Index paths,
                                                        const PathKernelOptions& options) {
  const KernelSizes sizes = {scaled_features.rows(), paths, scaled_features.cols() / paths,
                             labels.cols()};
  const KernelCost cost = kernel_cost(sizes, options);
  if (cost.form != KernelForm::kStored) {
    return make_path_kernels(std::move(scaled_features), std::move(labels), paths, options);
  }
  return std::make_shared<StoredKernels>(std::move(scaled_features), std::move(labels), paths,
                                         options, cost.compact, &products);
}

const KernelFormDescription& stored_form() {
  static const KernelFormDescription form = {
      KernelForm::kStored,
      "stored",
      refuse_stored,
      claim_stored,
      count_stored,
      [](MatrixXd&& features, MatrixXd&& labels, Index paths, const PathKernelOptions& options,
         const KernelCost& cost) -> std::shared_ptr<const PathKernels> {
        return std::make_shared<StoredKernels>(std::move(features), std::move(labels), paths,
                                               options, cost.compact, nullptr);
      }};
  return form;
}

}  // namespace headway::theory
