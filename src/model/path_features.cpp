#include "headway/path_features.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/numerics/dense.hpp"
#include "model/path_weights.hpp"

namespace headway::model {
namespace {

using numerics::ConstMatrixRef;
using numerics::MatrixRef;
using numerics::Transpose;

// xi_pi = sum_t w_pi[t] x_t (eq. 8) of every example, into its row of `out`.
void average_inputs(const TokenBlock& block, const PathWeights& weights, RowMatrixXd* out) {
  const Index features = block.tokens.rows();
  for (Index b = 0; b < block.count; ++b) {
    Eigen::Map<MatrixXd> row(out->row(block.begin + b).data(), features, weights.paths());
    numerics::multiply(1.0, block.tokens.middleCols(block.first(b), block.length(b)),
                       Transpose::kNo, weights.weights[static_cast<std::size_t>(b)], Transpose::kNo,
                       0.0, row);
    if (!row.allFinite()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("example {} (from 0): its inputs or attention are not finite",
                              block.begin + b));
    }
  }
}

}  // namespace

RowMatrixXd path_features(const ExampleSource& examples, const std::vector<int>& heads,
                          const std::vector<LayerHeads>& layers, const PathFeatureOptions& options,
                          Observer& observer) {
  validate_layers(examples, heads, layers);
  numerics::prepare_blas();
  const Index paths = path_count(heads);
  const Index total = examples.size();
  const Index size = block_examples(examples, heads, layers.empty(), options.block);
  RowMatrixXd features(total, paths * examples.features());
  SourceReader reader(examples);
  const LayerSource source{reader, heads, layers, options.attention};
  std::mutex observing;
  Index done = 0;
  parallel_for((total + size - 1) / size, options.threads, [&](Index i) {
    const TokenBlock block = read_token_block(reader, i * size, std::min(size, total - i * size));
    PathWeights weights = readout_weights(block, options.readout);
    for (int l = static_cast<int>(heads.size()); l >= 1; --l)
      weights = descend(source, block, l, weights);
    average_inputs(block, weights, &features);
    const std::lock_guard<std::mutex> lock(observing);
    done += block.count;
    observer.progress("path features", static_cast<double>(done), static_cast<double>(total));
    if (observer.interrupted()) {
      throw Error(ErrorKind::kInterrupted, "path features: stopped by the user");
    }
  });
  return features;
}

double path_feature_flops(const ExampleSource& examples, const std::vector<int>& heads,
                          const std::vector<LayerHeads>& layers, Readout readout) {
  const auto tokens = static_cast<double>(examples.tokens());
  const auto features = static_cast<double>(examples.features());
  double queries = readout == Readout::kMean ? tokens : 1.0;
  double paths = 1.0;
  double flops = 0.0;  // of one example
  for (std::size_t l = heads.size(); l-- > 0;) {
    double attention = 0.0;
    if (!layers.empty() && !layers[l].weights.empty()) {
      attention = 2.0 * queries * features * (features + tokens);
    } else if (!layers.empty() && !layers[l].query.empty()) {
      const auto width = static_cast<double>(layers[l].query.front().rows());
      attention = 2.0 * width * (features * (queries + tokens) + queries * tokens);
    }
    flops += heads[l] * (attention + 2.0 * queries * tokens * paths);
    paths *= heads[l];
    queries = tokens;
  }
  flops += 2.0 * paths * tokens * features;
  return flops * static_cast<double>(examples.size());
}

}  // namespace headway::model
