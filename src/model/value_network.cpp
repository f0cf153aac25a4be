#include "headway/model/value_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headway/core/option_table.hpp"
#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/numerics/blas.hpp"
#include "model/path_weights.hpp"

namespace headway::model {
namespace {

using numerics::ConstMatrixRef;

/// The sites of one block, example by example.
struct BlockSites {
  std::vector<MatrixXd> directions;  // d x sites
  std::vector<MatrixXd> weights;     // R x sites
};

BlockSites empty_sites(const TokenBlock& block, Index inputs, Index readouts,
                       const std::vector<Index>& sites) {
  BlockSites result;
  for (Index b = 0; b < block.count; ++b) {
    const Index count = sites[static_cast<std::size_t>(b)];
    result.directions.emplace_back(MatrixXd::Zero(inputs, count));
    result.weights.emplace_back(MatrixXd::Zero(readouts, count));
  }
  return result;
}

/// How many sites each example has, by its queries and its tokens.
template <class Count>
std::vector<Index> site_counts(const TokenBlock& block, const PathWeights& top,
                               const Count& count) {
  std::vector<Index> result;
  for (Index b = 0; b < block.count; ++b) result.push_back(count(top.count(b), block.length(b)));
  return result;
}

/// One layer of heads, and the readout above it.
struct Layer {
  const LayerSource& source;
  const TokenBlock& block;
  const PathWeights& top;

  [[nodiscard]] int heads() const { return source.heads.front(); }
  [[nodiscard]] Index features() const { return block.tokens.rows(); }
  [[nodiscard]] auto tokens(Index b) const {
    return block.tokens.middleCols(block.first(b), block.length(b));
  }
  [[nodiscard]] auto query_weights(Index b) const {
    return top.weights[static_cast<std::size_t>(b)].col(0);
  }
};

/// psi = a_h(q, t) x_t / sqrt(H N_0) of all heads; A_rm = a_r(q, t) w_q.
BlockSites hyla_sites(const Layer& layer) {
  const Index n0 = layer.features();
  const double scale = 1.0 / std::sqrt(static_cast<double>(layer.heads() * n0));
  BlockSites sites = empty_sites(layer.block, layer.heads() * n0, layer.heads(),
                                 site_counts(layer.block, layer.top, [](Index queries, Index keys) {
                                   return queries * keys;
                                 }));
  for_each_attention(layer.source, layer.block, 1, layer.top,
                     [&](int head, Index b, const ConstMatrixRef& attention) {
                       const auto at = static_cast<std::size_t>(b);
                       const Index keys = attention.rows();
                       for (Index q = 0; q < attention.cols(); ++q) {
                         const VectorXd share = attention.col(q);
                         sites.directions[at].block(head * n0, q * keys, n0, keys) =
                             scale * layer.tokens(b) * share.asDiagonal();
                         sites.weights[at].row(head).segment(q * keys, keys) =
                             layer.query_weights(b)[q] * share.transpose();
                       }
                     });
  return sites;
}

/// psi = x_t / sqrt(N_0) in the slot of head h; A_hm = sum_q w_q a_h(q, t).
BlockSites per_head_sites(const Layer& layer) {
  const Index n0 = layer.features();
  const int heads = layer.heads();
  const double scale = 1.0 / std::sqrt(static_cast<double>(n0));
  BlockSites sites = empty_sites(
      layer.block, heads * n0, heads,
      site_counts(layer.block, layer.top, [heads](Index, Index keys) { return heads * keys; }));
  for_each_attention(layer.source, layer.block, 1, layer.top,
                     [&](int head, Index b, const ConstMatrixRef& attention) {
                       const auto at = static_cast<std::size_t>(b);
                       const Index keys = attention.rows();
                       sites.directions[at].block(head * n0, head * keys, n0, keys) =
                           scale * layer.tokens(b);
                       sites.weights[at].row(head).segment(head * keys, keys) =
                           (attention * layer.query_weights(b)).transpose();
                     });
  return sites;
}

/// psi = sum_t a_h(q, t) x_t / sqrt(H N_0) of all heads; A_m = w_q.
BlockSites after_attention_sites(const Layer& layer) {
  const Index n0 = layer.features();
  const double scale = 1.0 / std::sqrt(static_cast<double>(layer.heads() * n0));
  BlockSites sites = empty_sites(
      layer.block, layer.heads() * n0, 1,
      site_counts(layer.block, layer.top, [](Index queries, Index) { return queries; }));
  for_each_attention(layer.source, layer.block, 1, layer.top,
                     [&](int head, Index b, const ConstMatrixRef& attention) {
                       const auto at = static_cast<std::size_t>(b);
                       sites.directions[at].middleRows(head * n0, n0) =
                           scale * layer.tokens(b) * attention;
                       sites.weights[at].row(0) = layer.query_weights(b).transpose();
                     });
  return sites;
}

/// psi = x_t / sqrt(N_0); A_pi,t = w_pi(t) of eq. 7.
BlockSites before_attention_sites(const LayerSource& source, const TokenBlock& block,
                                  PathWeights weights) {
  for (int l = static_cast<int>(source.heads.size()); l >= 1; --l)
    weights = descend(source, block, l, weights);
  const double scale = 1.0 / std::sqrt(static_cast<double>(block.tokens.rows()));
  BlockSites sites;
  for (Index b = 0; b < block.count; ++b) {
    sites.directions.emplace_back(scale * block.tokens.middleCols(block.first(b), block.length(b)));
    sites.weights.emplace_back(weights.weights[static_cast<std::size_t>(b)].transpose());
  }
  return sites;
}

BlockSites block_sites(ValueForm form, const LayerSource& source, const TokenBlock& block,
                       PathWeights top) {
  const Layer layer{source, block, top};
  switch (form) {
    case ValueForm::kHyla:
      return hyla_sites(layer);
    case ValueForm::kPerHead:
      return per_head_sites(layer);
    case ValueForm::kAfterAttention:
      return after_attention_sites(layer);
    case ValueForm::kBeforeAttention:
      break;
  }
  return before_attention_sites(source, block, std::move(top));
}

void check_layers(ValueForm form, const std::vector<int>& heads) {
  if (form == ValueForm::kBeforeAttention || heads.size() == 1) return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("model.value_network.form = \"{}\": has one layer of attention, and the "
                          "data have {}. Take \"before_attention\", or data of one layer",
                          word_of(form), heads.size()));
}

/// Joins the examples' sites, without those that feed nothing.
class Joined {
 public:
  void add(const MatrixXd& directions, const MatrixXd& weights) {
    std::vector<Index> kept;
    for (Index m = 0; m < weights.cols(); ++m) {
      if ((weights.col(m).array() != 0.0).any()) kept.push_back(m);
    }
    directions_.emplace_back(directions(Eigen::all, kept));
    weights_.emplace_back(weights(Eigen::all, kept));
    offsets_.push_back(offsets_.back() + static_cast<Index>(kept.size()));
  }
  [[nodiscard]] ValueSites sites(Index inputs, Index readouts) && {
    ValueSites result;
    result.directions.resize(offsets_.back(), inputs);
    result.weights.resize(offsets_.back(), readouts);
    result.offsets = std::move(offsets_);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const Index at = result.offsets[i], count = weights_[i].cols();
      result.directions.middleRows(at, count) = directions_[i].transpose();
      result.weights.middleRows(at, count) = weights_[i].transpose();
    }
    return result;
  }

 private:
  std::vector<MatrixXd> directions_, weights_;
  std::vector<Index> offsets_{0};
};

}  // namespace

Words<ValueForm> words_of(ValueForm) {
  static constexpr Word<ValueForm> kWords[] = {{"hyla", ValueForm::kHyla},
                                               {"per_head", ValueForm::kPerHead},
                                               {"before_attention", ValueForm::kBeforeAttention},
                                               {"after_attention", ValueForm::kAfterAttention}};
  return kWords;
}

Words<FeatureLearning> words_of(FeatureLearning) {
  static constexpr Word<FeatureLearning> kWords[] = {{"fixed", FeatureLearning::kFixed},
                                                     {"adapted", FeatureLearning::kAdapted}};
  return kWords;
}

const OptionTable<ValueNetwork>& ValueNetwork::table() {
  using V = ValueNetwork;
  static const OptionTable<V> table = {{
      option("form", &V::form, choice<ValueForm>(),
             "where the nonlinearity acts. hyla: on what each pair of query and key sees through "
             "all heads; per_head: on the keys, for each head its own; before_attention: on the "
             "tokens; after_attention: on what all heads gather at a query"),
      option("nonlinearity", &V::nonlinearity, choice<numerics::Nonlinearity>(),
             "function of the hidden units"),
      option("features", &V::features, choice<FeatureLearning>(),
             "fixed: hidden weights have the covariance S of their prior; adapted: the S that "
             "minimises the action with U. Take adapted for few inputs or few hidden units."),
  }};
  return table;
}

Index value_readouts(ValueForm form, const std::vector<int>& heads) {
  return form == ValueForm::kAfterAttention ? 1 : path_count(heads);
}

Index value_inputs(ValueForm form, const std::vector<int>& heads, Index features) {
  return form == ValueForm::kBeforeAttention ? features : heads.front() * features;
}

ValueSites value_sites(const ValueNetwork& network, const ExampleSource& examples,
                       const std::vector<int>& heads, const std::vector<LayerHeads>& layers,
                       const PathFeatureOptions& options, Observer& observer) {
  validate_layers(examples, heads, layers);
  check_layers(network.form, heads);
  numerics::prepare_blas();
  SourceReader reader(examples);
  const LayerSource source{reader, heads, layers, options.attention};
  const Index total = examples.size();
  const Index size = block_examples(examples, heads, layers.empty(), options.block);
  Joined joined;
  for (Index begin = 0; begin < total; begin += size) {
    const TokenBlock block = read_token_block(reader, begin, std::min(size, total - begin));
    const BlockSites sites =
        block_sites(network.form, source, block, readout_weights(block, options.readout));
    for (Index b = 0; b < block.count; ++b) {
      const auto at = static_cast<std::size_t>(b);
      if (!sites.directions[at].allFinite() || !sites.weights[at].allFinite()) {
        throw Error(
            ErrorKind::kBadData,
            fmt::format("example {} (from 0): its inputs or attention are not finite", begin + b));
      }
      joined.add(sites.directions[at], sites.weights[at]);
    }
    observer.progress("sites", static_cast<double>(begin + block.count),
                      static_cast<double>(total));
    if (observer.interrupted()) {
      throw Error(ErrorKind::kInterrupted, "sites of the value network: stopped by the user");
    }
  }
  ValueSites sites = std::move(joined).sites(value_inputs(network.form, heads, examples.features()),
                                             value_readouts(network.form, heads));
  sites.nonlinearity = network.nonlinearity;
  return sites;
}

}  // namespace headway::model
