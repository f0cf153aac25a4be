#pragma once

#include <functional>

#include "headway/core/rng.hpp"
#include "headway/types.hpp"

/// Private to posterior: draws of a few unknowns given all others, for sweeps.
namespace headway::posterior {

/// A move that leaves the density N(x; 0, I) exp(log_factor(x)) as it is: points of an ellipse
/// through x and a normal draw, in a bracket that shrinks until one is accepted (Murray, Adams and
/// MacKay, AISTATS 2010). log_factor may be -infinity or NaN where there is no density, but not at
/// `x`. Returns whether a point was accepted: log_factor was then evaluated there last. Else the
/// bracket was empty to working precision, and x stays. Some 2 to 8 evaluations.
bool elliptical_slice(Rng& rng, Eigen::Ref<VectorXd> x,
                      const std::function<double(const VectorXd&)>& log_factor);

/// log v of a draw v with density ~ v^(shape - 1) exp(-(a v + b / v) / 2), a and b > 0: generalised
/// inverse Gaussian. Its logarithm has a log-concave density, which is drawn by rejection from two
/// tangents (after Devroye, Stat. Comput. 24 (2014) 239).
double log_inverse_gaussian(Rng& rng, double shape, double a, double b);

/// The priors of the matrices on an orbit.
struct Orbit {
  /// Independent normals in a column of `below`, where it has fewer entries of the same norm; 0:
  /// its entries.
  double below = 0.0;
  /// > 0: `above` is a lower triangular Bartlett factor of a Wishart matrix of this width (eq. 37),
  /// and stays one. 0: all its entries are normal.
  Index width = 0;
};

/// Draws a network that is the same function: with columns b_j of `above` and z_j of `below` the
/// products sum_j b_j z_j^T stay as they are under
///   z_i -> z_i + a z_j,  b_j -> b_j - a b_i,   and   z_i -> c z_i,  b_i -> b_i / c,
/// where a and c are drawn from their conditionals under standard normal priors of b and z (Liu and
/// Sabatti, Biometrika 87 (2000) 353; their measures are da and dc / c). U_1 changes along these
/// orbits, and the data do not see it. Cost O(n min(n, 33) rows) for n columns.
void draw_along_orbit(Rng& rng, MatrixXd& above, MatrixXd& below, const Orbit& orbit = {});

}  // namespace headway::posterior
