#pragma once

#include <functional>
#include <vector>

#include "headway/types.hpp"

namespace headway::analysis {

/// Outputs along each path of a network that is linear in its values (eq. 12):
///   f_c(x) = sum_pi f_{pi, c}(x),   f_{pi, c}(x) = V_{pi, c} . V_0 xi_pi(x) / sqrt(N_1 p N_0).
/// The output of the network with pruned heads is a sum of these with other factors. So nothing
/// else of the network is needed. model::path_outputs() computes them.
struct PathOutputs {
  std::vector<int> heads;  ///< H_1, ..., H_L
  Index outputs = 1;       ///< C
  MatrixXd values;         ///< examples x (p C): path-major, the output fastest
};

/// What happens to the heads that stay when some of their layer are removed.
enum class Rescaling {
  kNone,
  kLayer,  ///< the layer's output times sqrt(H_l / heads left), as if it never had more ([T24])
};

/// Factor of each path (p numbers, eq. 55) when `removed` (heads counted over all layers, layer 1
/// first) are gone: 0 for paths through them, else the product of the layers' rescaling.
/// Error{kBadStudy} when a layer has no head left, or a head is none of the network's.
VectorXd path_factors(const std::vector<int>& heads, const std::vector<int>& removed,
                      Rescaling rescaling);

/// Outputs without the removed heads, examples x C. Errors as path_factors. Cost O(examples p C).
MatrixXd outputs_without(const PathOutputs& paths, const std::vector<int>& removed,
                         Rescaling rescaling = Rescaling::kLayer);

/// A mean over examples and its standard error sd / sqrt(n). For accuracy a, whose terms are 0 or
/// 1, that is the binomial error sqrt(a (1 - a) / (n - 1)).
struct Estimate {
  double mean, error;  // NaN: undefined
};
Estimate estimate_mean(const VectorXd& values);

/// Test quality of some outputs. The errors hold for examples drawn independently, and say nothing
/// of another training run.
struct Quality {
  Estimate accuracy;       ///< or another score; NaN where labels are no classes
  Estimate squared_error;  ///< mean over outputs, then examples; or loss
};
Quality quality_of(const MatrixXd& outputs, const MatrixXd& labels);

/// How well a network answers each of some examples.
struct ExampleQuality {
  VectorXd score;  ///< larger is better: 1 right and 0 wrong, or R^2; empty: there is none
  VectorXd error;  ///< squared error, mean over outputs, or loss
};
Quality quality_of(const ExampleQuality& examples);

/// A network, or what stands for it, without some heads (counted over all layers, layer 1 first).
using Removal = std::function<ExampleQuality(const std::vector<int>& removed)>;

/// Removal from a network that is given by its path outputs. These and the labels must outlive it.
Removal removal_of(const PathOutputs& paths, const MatrixXd& labels,
                   Rescaling rescaling = Rescaling::kLayer);

/// Quality after removing the first 0, 1, ..., all of `order`.
struct QualityCurve {
  std::vector<int> order;
  std::vector<Quality> quality;
};
QualityCurve quality_curve(const Removal& removal, const std::vector<int>& order);

/// Effect of removing each head alone, example by example. So error bars are those of paired
/// differences, which are smaller than those of two separate accuracies.
struct HeadDrops {
  MatrixXd score;  ///< examples x heads: score with all heads - without this one (accuracy: -1, 0,
                   ///< 1); empty where there is none
  MatrixXd error;  ///< examples x heads: error without this head - with all heads
};
/// `only_heads`: also remove a head that is its layer's only one; else its column is NaN.
HeadDrops head_drops(const std::vector<int>& heads, const Removal& removal,
                     bool only_heads = false);

/// The greedy order of analysis/head_scores.hpp by mean score; ties go by the lower error. Without
/// a score it goes by the error alone. The order is fitted to the examples of `removal`: measure
/// its quality on others.
std::vector<int> greedy_order(const std::vector<int>& heads, const Removal& removal);

/// Sensitivity of the loss to each head (eq. 56; Michel, Levy and Neubig, "Are Sixteen Heads Really
/// Better than One?", NeurIPS 2019, equation 2): with a mask variable m_h = 1 on the output of each
/// head,
///   I_h = E_x | dL(x) / dm_h |,   L(x) = mean over outputs of (f_c(x) - y_c)^2,
/// exact here, as df_c / dm_h is the sum of the paths through h.
std::vector<double> gradient_sensitivity(const PathOutputs& paths, const MatrixXd& labels);

/// Each layer's scores divided by their Euclidean norm, as that paper does (after Molchanov et al.
/// 2017) before it compares heads of different layers. A layer of zeros stays zero.
std::vector<double> normalised_by_layer(const std::vector<double>& scores,
                                        const std::vector<int>& heads);

/// Frobenius norm |V_l^h| of each head's value matrix (eq. 58), `values` as [layer][head].
std::vector<double> weight_norms(const std::vector<std::vector<MatrixXd>>& values);

/// Norm of the products of weights along all paths through each head (eq. 57),
///   sqrt(sum of |V_{pi, c}|^2 over paths pi through h and outputs c),
/// up to the common factor 1 / sqrt(N_1): the diagonal of U_1 = V V^T / N_1 summed.
std::vector<double> path_norms(const MatrixXd& u, const std::vector<int>& heads, Index outputs);

}  // namespace headway::analysis
