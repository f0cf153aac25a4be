// Compiled without errno and without traps, since both would keep the loops from being vectorised.
#include "headway/numerics/normal_products.hpp"

#include <cmath>
#include <numbers>

#include "headway/core/cpu.hpp"

namespace headway::numerics {
namespace {

#define HEADWAY_INLINE inline __attribute__((always_inline))

constexpr double kPi = std::numbers::pi;

/// The polynomial (asin(s) - s) / s^3 in z = s^2 on [0, 1/4]: interpolation at the roots of the
/// Chebyshev polynomial of degree 13. The error of asin is 4e-18.
HEADWAY_INLINE double arcsine_rest(double z) {
  constexpr double kTerms[] = {
      0.16666666666666667827,   0.074999999999984329332, 0.044642857146355429783,
      0.030381944138531247287,  0.022372172942149887875, 0.017352392720869972942,
      0.013971212973552933304,  0.011479177415184905896, 0.010322814350185779287,
      0.0054575067186403583004, 0.017400879442694022443, -0.014851887071247203224,
      0.028757851367421564708};
  double sum = kTerms[12];
  for (int k = 11; k >= 0; --k) sum = sum * z + kTerms[k];
  return sum;
}

/// asin(x) for |x| <= 1: beyond 1/2 by asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)).
HEADWAY_INLINE double arcsine(double x) {
  const double size = x < 0.0 ? -x : x;
  const bool large = size > 0.5;
  const double z = large ? 0.5 * (1.0 - size) : size * size;
  const double s = large ? std::sqrt(z) : size;
  const double near = s + s * z * arcsine_rest(z);
  const double result = large ? 0.5 * kPi - 2.0 * near : near;
  return x < 0.0 ? -result : result;
}

/// A correlation, which rounding may push past 1.
HEADWAY_INLINE double within_one(double x) { return x > 1.0 ? 1.0 : x < -1.0 ? -1.0 : x; }

HEADWAY_INLINE double relu_product(double c, double root, double inverse) {
  const double r = within_one(c * inverse);
  const double sine = std::sqrt((1.0 - r) * (1.0 + r));
  return root * (sine + r * (0.5 * kPi + arcsine(r))) * (0.5 / kPi);
}

/// One column of pairs: roots sqrt(n_i) and 1 / sqrt(n_i) of its rows and its own (relu), or
/// inverses 1 / sqrt(1 + 2 n) alone (erf).
struct Column {
  const double* roots;
  const double* inverses;
  double root, inverse;
  Index rows;
};

HEADWAY_INLINE void relu_column(const Column& at, double* c) {
  for (Index i = 0; i < at.rows; ++i)
    c[i] = relu_product(c[i], at.roots[i] * at.root, at.inverses[i] * at.inverse);
}
HEADWAY_INLINE void erf_column(const Column& at, double* c) {
  for (Index i = 0; i < at.rows; ++i)
    c[i] = 2.0 / kPi * arcsine(within_one(2.0 * c[i] * at.inverses[i] * at.inverse));
}
/// Returns the sum of w dJ/dm; adds w dJ/dn to by_n.
HEADWAY_INLINE double relu_slopes(const Column& at, const double* w, double* c, double* by_n) {
  double by_m = 0.0;
  for (Index i = 0; i < at.rows; ++i) {
    const double r = within_one(c[i] * at.inverses[i] * at.inverse);
    const double sine = w[i] * std::sqrt((1.0 - r) * (1.0 + r)) * (0.25 / kPi);
    c[i] = w[i] * (0.5 * kPi + arcsine(r)) * (0.5 / kPi);
    by_n[i] += sine * at.root * at.inverses[i];
    by_m += sine * at.roots[i] * at.inverse;
  }
  return by_m;
}
HEADWAY_INLINE double erf_slopes(const Column& at, const double* w, double* c, double* by_n) {
  double by_m = 0.0;
  for (Index i = 0; i < at.rows; ++i) {
    const double both = at.inverses[i] * at.inverse;
    const double x = within_one(2.0 * c[i] * both);
    const double slope = w[i] * (2.0 / kPi) / std::sqrt((1.0 - x) * (1.0 + x));
    c[i] = 2.0 * slope * both;
    by_n[i] -= slope * x * at.inverses[i] * at.inverses[i];
    by_m -= slope * x * at.inverse * at.inverse;
  }
  return by_m;
}

/// The loops above, compiled for one instruction set.
struct Loops {
  void (*relu)(const Column&, double*);
  void (*erf)(const Column&, double*);
  double (*relu_slopes)(const Column&, const double*, double*, double*);
  double (*erf_slopes)(const Column&, const double*, double*, double*);
};

#define HEADWAY_LOOPS(suffix, attribute)                                                           \
  attribute void relu_##suffix(const Column& at, double* c) { relu_column(at, c); }                \
  attribute void erf_##suffix(const Column& at, double* c) { erf_column(at, c); }                  \
  attribute double relu_slopes_##suffix(const Column& at, const double* w, double* c, double* n) { \
    return relu_slopes(at, w, c, n);                                                               \
  }                                                                                                \
  attribute double erf_slopes_##suffix(const Column& at, const double* w, double* c, double* n) {  \
    return erf_slopes(at, w, c, n);                                                                \
  }                                                                                                \
  constexpr Loops kLoops_##suffix = {relu_##suffix, erf_##suffix, relu_slopes_##suffix,            \
                                     erf_slopes_##suffix};

HEADWAY_LOOPS(baseline, )
#ifdef HEADWAY_X86_KERNELS
HEADWAY_LOOPS(avx2, __attribute__((target("avx2,fma"))))
HEADWAY_LOOPS(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif

const Loops& loops() {
#ifdef HEADWAY_X86_KERNELS
  switch (best_instruction_set()) {
    case InstructionSet::kAvx512:
      return kLoops_avx512;
    case InstructionSet::kAvx2:
      return kLoops_avx2;
    case InstructionSet::kBaseline:
      break;
  }
#endif
  return kLoops_baseline;
}

/// sqrt(n) and 1 / sqrt(n), 0 for 0 (relu); 1 / sqrt(1 + 2 n) as inverses (erf).
struct Roots {
  VectorXd roots, inverses;
};
Roots roots_of(Nonlinearity phi, const VectorXd& n) {
  if (phi == Nonlinearity::kErf) return {{}, (1.0 + 2.0 * n.array()).rsqrt()};
  const VectorXd roots = n.cwiseMax(0.0).cwiseSqrt();
  return {roots, (roots.array() > 0.0).select(roots.cwiseInverse(), 0.0)};
}
Column column_of(const Roots& rows, const Roots& columns, Index j) {
  return {rows.roots.data(), rows.inverses.data(),
          columns.roots.size() > 0 ? columns.roots[j] : 0.0, columns.inverses[j],
          rows.inverses.size()};
}

}  // namespace

Words<Nonlinearity> words_of(Nonlinearity) {
  static constexpr Word<Nonlinearity> kWords[] = {{"relu", Nonlinearity::kRelu},
                                                  {"erf", Nonlinearity::kErf},
                                                  {"identity", Nonlinearity::kIdentity}};
  return kWords;
}

double apply_nonlinearity(Nonlinearity phi, double z) {
  if (phi == Nonlinearity::kRelu) return z > 0.0 ? z : 0.0;
  return phi == Nonlinearity::kErf ? std::erf(z) : z;
}

double nonlinearity_slope(Nonlinearity phi, double z) {
  if (phi == Nonlinearity::kRelu) return z > 0.0 ? 1.0 : 0.0;
  return phi == Nonlinearity::kErf ? 2.0 * std::numbers::inv_sqrtpi * std::exp(-z * z) : 1.0;
}

void normal_products(Nonlinearity phi, const VectorXd& n, const VectorXd& m, MatrixRef c) {
  if (phi == Nonlinearity::kIdentity) return;
  const Roots rows = roots_of(phi, n), columns = roots_of(phi, m);
  for (Index j = 0; j < c.cols(); ++j) {
    const Column at = column_of(rows, columns, j);
    (phi == Nonlinearity::kErf ? loops().erf : loops().relu)(at, c.col(j).data());
  }
}

void normal_product_slopes(Nonlinearity phi, const VectorXd& n, const VectorXd& m,
                           const ConstMatrixRef& w, MatrixRef c, VarianceSlopes& slopes) {
  slopes.by_n.setZero(n.size());
  slopes.by_m.setZero(m.size());
  if (phi == Nonlinearity::kIdentity) {
    c = w;
    return;
  }
  const Roots rows = roots_of(phi, n), columns = roots_of(phi, m);
  for (Index j = 0; j < c.cols(); ++j) {
    const Column at = column_of(rows, columns, j);
    slopes.by_m[j] = (phi == Nonlinearity::kErf ? loops().erf_slopes : loops().relu_slopes)(
        at, w.col(j).data(), c.col(j).data(), slopes.by_n.data());
  }
}

}  // namespace headway::numerics
