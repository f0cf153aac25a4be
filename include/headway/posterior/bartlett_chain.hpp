#pragma once

#include <string>
#include <vector>

#include "headway/architecture.hpp"
#include "headway/core/rng.hpp"
#include "headway/order_parameters.hpp"

namespace headway::posterior {

/// The prior over order parameters as a chain of Wishart matrices (eqs. 32 and 33, eqs. 36 to 38),
/// in unconstrained coordinates.
///
///   U_a ~ Wishart(N_a, s_a^2 I_C / N_a),
///   U_l | U_{l+1} ~ Wishart(N_l, s_l^2 (I_{H_l} kron U_{l+1}) / N_l),  l = L..1,
/// written with factors U_l = F_l F_l^T,
///   F_l = (s_l / sqrt N_l) (I_{H_l} kron F_{l+1}) B_l,      F_{L+2} = I_C, H_{L+1} = 1,
/// B_l of size r_l x min(r_l, N_l), r_l = H_l columns(F_{l+1}), lower trapezoidal with independent
/// entries: B_ii ~ chi_{N_l - i + 1}, B_ij ~ N(0, 1) below. Exact at every width, N_l < C p_l
/// included (the rank then falls).
///
/// Coordinates, one per entry of B_{L+1} (readout), B_L, ..., B_1, column by column: B_ij itself
/// below the diagonal, and on it
///   B_ii = sqrt(k) exp(q / sqrt(2 k)),  k = N_l - i + 1   (eq. 38).
/// For large k q is close to a standard normal, so that all coordinates have unit scale under the
/// prior.
///
/// Narrow layers, 1 < r_l and N_l <= r_l + 1, are different. There a row of B_l that passes near
/// zero would have to turn all other rows with it, and chains get stuck. So B_l is r_l x N_l with
/// all entries N(0, 1): another factor of the same Wishart matrix. It has more coordinates, and
/// chains pass. kTrapezoidal keeps one point for each U instead. Fitted densities, as in bridge
/// sampling, need that.
class BartlettChain {
 public:
  enum class Coordinates { kSampling, kTrapezoidal };
  explicit BartlettChain(model::Architecture architecture,
                         Coordinates coordinates = Coordinates::kSampling);
  /// The chain of U_lowest, ..., U_L, U_a, for networks whose other layers are not integrated out.
  /// lowest = L + 1: that of U_a alone, of C x C.
  static BartlettChain above(const model::Architecture& architecture, int lowest);

  [[nodiscard]] const model::Architecture& architecture() const { return architecture_; }
  [[nodiscard]] Index dimension() const { return dimension_; }
  [[nodiscard]] std::vector<std::string> coordinate_names() const;
  /// Coordinates that belong to one matrix: begin and count.
  struct Block {
    Index begin, count;
  };
  /// Of B_{L+1}, B_L, ... in this order.
  [[nodiscard]] std::vector<Block> blocks() const;

  /// The factors at one point: factor[l - 1] = F_l and bartlett[l - 1] = B_l for l = 1..L+1, of the
  /// chain above() a layer from F_lowest on.
  struct Factors {
    std::vector<MatrixXd> factor;
    std::vector<MatrixXd> bartlett;
  };
  [[nodiscard]] Factors factors(const Eigen::Ref<const VectorXd>& x) const;
  [[nodiscard]] static theory::OrderParameters order_parameters(const Factors& factors);

  /// The coordinates of the same order parameters in the trapezoidal chain; x itself where no layer
  /// is narrow. They exist for almost every U. Cost O(sum_l (C p_l)^2 columns).
  [[nodiscard]] VectorXd trapezoidal(const Eigen::Ref<const VectorXd>& x) const;

  /// Normalised log prior density of x; writes its gradient.
  double log_prior(const Eigen::Ref<const VectorXd>& x, Eigen::Ref<VectorXd> gradient) const;
  /// A draw from the prior.
  void draw_prior(Rng& rng, Eigen::Ref<VectorXd> x) const;
  /// Draws other factors with the same products F_lowest B: for each pair of neighbours
  ///   B_{l+1} -> B_{l+1} A,  B_l -> (I kron A^{-1}) B_l
  /// with A from its conditional under the prior (draw_along_orbit), where A is any matrix, or
  /// lower triangular where B_{l+1} is; B_l then gets its form back by a rotation of what is below
  /// it. U_lowest, ..., U_a move, and nothing that is made of F_lowest B does. `below`: B of the
  /// layer below the lowest, all entries N(0, 1) a priori.
  void draw_along_orbits(Rng& rng, Eigen::Ref<VectorXd> x, MatrixXd& below) const;
  /// Adds dE/dx for a function E of F_1 with gradient dE/dF_1, back through the chain. Cost O(sum_l
  /// (C p_l)^2 columns).
  void pull_back(const Factors& factors, const MatrixXd& first_factor_gradient,
                 Eigen::Ref<VectorXd> gradient) const;
  /// Transposed Jacobian of U_1 = F_1 F_1^T: column k is d svec(U_1)_k / dx. Cost: a pull_back a
  /// column.
  [[nodiscard]] MatrixXd first_layer_jacobian(const Factors& factors) const;

 private:
  BartlettChain() = default;
  void build(Coordinates coordinates);

  struct Layer {
    Index rows = 0;      // r_l
    Index columns = 0;   // min(r_l, N_l), or N_l
    bool full = false;   // all entries are normal
    Index heads = 1;     // H_l
    Index width = 0;     // N_l
    double scale = 1.0;  // s_l / sqrt N_l
    Index offset = 0;    // of its first coordinate

    /// First row of the entries of column j that are coordinates, and of those that are normal.
    [[nodiscard]] Index first_row(Index j) const { return full ? 0 : j; }
    [[nodiscard]] Index first_normal(Index j) const { return full ? 0 : j + 1; }
  };
  /// Writes the coordinates of B.
  static void write(const Layer& layer, const MatrixXd& b, Eigen::Ref<VectorXd> x);

  model::Architecture architecture_;
  std::vector<Layer> layers_;  // l = lowest..L+1 at [l - lowest]
  int lowest_ = 1;
  Index dimension_ = 0;
};

}  // namespace headway::posterior
