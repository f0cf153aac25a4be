#pragma once

#include <cstdint>

#include "headway/core/option_table_fwd.hpp"
#include "headway/dataset.hpp"

namespace headway::tasks {

/// In-context linear regression by linear attention (src/tasks/README.md, eq. 7; arXiv 2405.11751).
/// A prompt shows l pairs (x_i, y_i) of one task w and asks for the y of a query x,
///   y_i = w . x_i + sqrt(noise) z_i,   x ~ Normal(0, 1/d),   |w|^2 = d.
/// Linear attention reads of it no more than d x (d + 1) numbers:
///   y_hat = <Gamma, H>,   H = x [ (d/l) sum_i y_i x_i^T,  (1/l) sum_i y_i^2 ].
/// Gamma is a product of two matrices, of queries and of keys.
struct InContextOptions {
  Index train_examples = 1000;
  Index test_examples = 1000;  ///< of new tasks, and as many of tasks of training; 0: none of both
  Index dimension = 10;        ///< d
  Index context = 100;         ///< l, pairs of a prompt
  Index tasks = 10;            ///< different w of training
  double noise = 0.01;         ///< variance of the noise of all y

  /// [task] kind = "in_context_regression"
  static const OptionTable<InContextOptions>& table();
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// Draws the data set: path features of one layer with a head for each number of the query, and
/// xi_i = sqrt(d (d + 1)) H_i, N_0 = d + 1. So the prior variance of f is E |H|^2 at variances 1.
/// Example i of training, and of the set "seen_tasks", has task i modulo `tasks`; each test example
/// has a task of its own. Examples are drawn again on every read.
/// Random streams (core/rng.hpp): (seed, kTaskParameters, task), d normals for the direction of w;
/// (seed, kTrainExamples, kTestExamples or kHeldOutExamples (seen tasks), example): w of a test
/// example, then the query, its noise, and for each pair x and its noise.
Dataset make_in_context_regression(const InContextOptions& options, std::uint64_t seed);

}  // namespace headway::tasks
