// Random small problems and slow, obvious references for the theory: loops over the formulas of the
// paper, no shared code with the library's kernels.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "headway/action.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

namespace headway::test {

struct TheoryCase {
  model::Architecture architecture;
  MatrixXd features;  // scaled, P x (p N_0)
  MatrixXd labels;    // P x C
  Index n0 = 0;
};

inline MatrixXd random_matrix(Index rows, Index cols, Rng& rng) {
  MatrixXd m(rows, cols);
  for (double& x : m.reshaped()) x = rng.normal();
  return m;
}

inline MatrixXd random_symmetric(Index n, Rng& rng) {
  const MatrixXd m = random_matrix(n, n, rng);
  return 0.5 * (m + m.transpose());
}

inline MatrixXd random_spd(Index n, Rng& rng) {
  const MatrixXd m = random_matrix(n, n + 2, rng);
  return m * m.transpose() / static_cast<double>(n + 2) + 0.3 * MatrixXd::Identity(n, n);
}

inline theory::OrderParameters random_order_parameters(const model::Architecture& a, Rng& rng) {
  theory::OrderParameters u = theory::gaussian_process_order_parameters(a);
  for (int l = 1; l <= a.layers() + 1; ++l) u.at(l) = random_spd(u.at(l).rows(), rng);
  return u;
}

/// Unequal widths and variances, labels +-1 or one-hot.
inline TheoryCase random_case(std::vector<int> heads, Index outputs, Index examples, Index n0,
                              std::uint64_t seed) {
  Rng rng(seed, StreamPurpose::kTests);
  TheoryCase c;
  c.n0 = n0;
  c.architecture.heads = std::move(heads);
  const int layers = c.architecture.layers();
  for (int l = 0; l <= layers; ++l) c.architecture.widths.push_back(7 + 5 * l);
  for (int l = 0; l <= layers + 1; ++l) c.architecture.variances.push_back(0.8 + 0.15 * l);
  c.architecture.outputs = outputs;
  const Index p = c.architecture.paths();
  c.features = random_matrix(examples, p * n0, rng) / std::sqrt(static_cast<double>(p * n0));
  c.labels = MatrixXd::Zero(examples, outputs);
  for (Index i = 0; i < examples; ++i) {
    if (outputs == 1) {
      c.labels(i, 0) = rng.uniform() < 0.5 ? -1.0 : 1.0;
    } else {
      c.labels(i, static_cast<Index>(rng.uniform_index(static_cast<std::uint64_t>(outputs)))) = 1.0;
    }
  }
  return c;
}

/// K[(c, mu), (d, nu)] by the definition, element by element.
inline MatrixXd reference_kernel(const MatrixXd& xa, const MatrixXd& xb, const MatrixXd& u,
                                 Index n0, Index outputs) {
  const Index paths = xa.cols() / n0;
  MatrixXd k = MatrixXd::Zero(xa.rows() * outputs, xb.rows() * outputs);
  for (Index c = 0; c < outputs; ++c) {
    for (Index d = 0; d < outputs; ++d) {
      for (Index i = 0; i < xa.rows(); ++i) {
        for (Index j = 0; j < xb.rows(); ++j) {
          double sum = 0.0;
          for (Index a = 0; a < paths; ++a) {
            for (Index b = 0; b < paths; ++b) {
              double dot = 0.0;
              for (Index t = 0; t < n0; ++t) dot += xa(i, a * n0 + t) * xb(j, b * n0 + t);
              sum += u(a * outputs + c, b * outputs + d) * dot;
            }
          }
          k(c * xa.rows() + i, d * xb.rows() + j) = sum;
        }
      }
    }
  }
  return k;
}

inline double reference_energy(const TheoryCase& c, const MatrixXd& u, double temperature) {
  MatrixXd k = reference_kernel(c.features, c.features, u, c.n0, c.architecture.outputs);
  k.diagonal().array() += temperature;
  const Eigen::PartialPivLU<MatrixXd> lu(k);
  const VectorXd y = c.labels.reshaped();
  return std::log(std::abs(lu.determinant())) + y.dot(lu.solve(y));
}

inline std::shared_ptr<const theory::PathKernels> kernels_of(const TheoryCase& c,
                                                             theory::KernelForm form,
                                                             double temperature = 0.05) {
  theory::PathKernelOptions options;
  options.form = form;
  options.smallest_temperature = temperature;
  return theory::make_path_kernels(c.features, c.labels, c.architecture.paths(), options);
}

/// Every form that the kernels of a case may have in one process.
inline std::vector<theory::KernelForm> forms_of(const TheoryCase& c, double temperature = 0.05) {
  const theory::KernelSizes sizes = {c.features.rows(), c.architecture.paths(), c.n0,
                                     c.architecture.outputs};
  theory::PathKernelOptions options;
  options.smallest_temperature = temperature;
  std::vector<theory::KernelForm> forms;
  for (const auto& word : words_of(theory::KernelForm{})) {
    if (word.value == theory::KernelForm::kAuto) continue;
    options.form = word.value;
    try {
      theory::kernel_cost(sizes, options);
    } catch (const Error&) {
      continue;
    }
    forms.push_back(word.value);
  }
  return forms;
}

/// The largest |a - b| over the largest |b|.
inline double relative_error(const MatrixXd& a, const MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() /
         std::max(1e-300, b.cwiseAbs().maxCoeff());
}

}  // namespace headway::test
