// Small random problems of the weight-space posterior, from the tests' own streams.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headway/path_kernels.hpp"
#include "headway/posterior/exact_chain.hpp"
#include "headway/posterior/weight_posterior.hpp"
#include "posterior/weight_network.hpp"
#include "random_examples.hpp"

namespace headway::testing {

struct WeightProblem {
  model::Architecture architecture;
  double temperature = 0.3;
  Index examples = 6;
  Index features = 3;
  std::uint64_t stream = 0;
};

inline std::string describe(const WeightProblem& problem) {
  const model::Architecture& a = problem.architecture;
  std::string text = "heads";
  for (const int h : a.heads) text += " " + std::to_string(h);
  text += ", widths";
  for (const Index n : a.widths) text += " " + std::to_string(n);
  return text + ", outputs " + std::to_string(a.outputs);
}

// Depths 1 to 3, unequal heads, widths (also below the number of paths) and variances, 1 to 3
// outputs.
inline std::vector<WeightProblem> weight_problems() {
  return {{{{1}, {3, 4}, {1.0, 1.0, 1.0}, 1}, 0.3, 6, 3, 1},
          {{{3}, {4, 2}, {0.6, 1.4, 0.8}, 1}, 0.2, 7, 2, 2},
          {{{2, 3}, {3, 5, 2}, {1.3, 0.7, 1.2, 0.9}, 1}, 0.5, 6, 3, 3},
          {{{2, 1, 2}, {2, 3, 4, 3}, {0.9, 1.1, 0.8, 1.2, 0.7}, 1}, 0.3, 5, 4, 4},
          {{{2}, {3, 4}, {1.2, 0.9, 1.1}, 3}, 0.4, 5, 3, 5},
          {{{2, 2}, {4, 3, 2}, {0.8, 1.2, 0.9, 1.1}, 2}, 0.3, 6, 2, 6},
          {{{1, 2, 2}, {3, 2, 3, 4}, {1.1, 0.9, 1.2, 0.8, 1.3}, 3}, 0.6, 4, 3, 7}};
}

struct WeightData {
  std::shared_ptr<const theory::PathKernels> kernels;
  std::shared_ptr<const MatrixXd> test_features;
};

// Features and labels of order 1; the test features are the training ones.
inline WeightData random_weight_data(const WeightProblem& problem) {
  Rng rng(31, StreamPurpose::kTests, problem.stream);
  const Index paths = problem.architecture.paths();
  const MatrixXd x = random_matrix(problem.examples, paths * problem.features, rng) /
                     std::sqrt(static_cast<double>(paths * problem.features));
  MatrixXd y = random_matrix(problem.examples, problem.architecture.outputs, rng);
  return {theory::make_path_kernels(x, std::move(y), paths), std::make_shared<const MatrixXd>(x)};
}

inline posterior::WeightPosterior make_weight_posterior(const WeightProblem& problem,
                                                        const WeightData& data) {
  return {problem.architecture, problem.temperature, data.kernels, data.test_features};
}

// Where block l lies in a position.
struct Segment {
  Index offset = 0;
  Index size = 0;
};
inline Segment block_segment(const posterior::WeightNetwork& network, int l) {
  Segment segment;
  for (int k = 0; k <= l; ++k) {
    segment.offset += segment.size;
    segment.size = network.heads(k) * network.rows(k) * network.width(k);
  }
  return segment;
}

// f on the training examples as one column (output-major).
inline VectorXd training_output(posterior::WeightPosterior& posterior, const VectorXd& position) {
  const MatrixXd f = posterior.observe(position, true).mean;
  return f.reshaped();
}

// Phi of a block: f is linear in it, so column k is f with the block at the k-th unit vector.
inline MatrixXd explicit_phi(posterior::WeightPosterior& posterior, VectorXd position,
                             const Segment& block) {
  position.segment(block.offset, block.size).setZero();
  MatrixXd phi(training_output(posterior, position).size(), block.size);
  for (Index k = 0; k < block.size; ++k) {
    position[block.offset + k] = 1.0;
    phi.col(k) = training_output(posterior, position);
    position[block.offset + k] = 0.0;
  }
  return phi;
}

}  // namespace headway::testing
