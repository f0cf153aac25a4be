#include "headway/training/contributions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/model/path_index.hpp"
#include "training/contributions/frozen_block.hpp"

namespace headway::training {
namespace {

using reference::BlockTrace;
using reference::FrozenBlock;
using reference::QueryRange;

/// The parts of one layer, in the order of its levels.
void add_levels(Index layer, const TransformerOptions& n, GeneratedParts parts,
                ContributionLevels* out) {
  const auto heads = static_cast<int>(n.heads);
  const auto add = [&](const std::string& first, const std::string& role, const std::string& last) {
    std::vector<std::string> names = {fmt::format("L{} {}", layer + 1, first)};
    std::vector<int> numbers = {-1};
    for (int h = 0; h < heads; ++h) {
      names.push_back(fmt::format("L{}H{}{}", layer + 1, h + 1, role));
      numbers.push_back(static_cast<int>(layer) * heads + h);
    }
    if (!last.empty()) {
      names.push_back(fmt::format("L{} {}", layer + 1, last));
      numbers.push_back(-1);
    }
    out->sizes.push_back(static_cast<int>(names.size()));
    out->names.push_back(std::move(names));
    out->heads.push_back(std::move(numbers));
  };
  const ValueNetwork network = n.attention_options().value_network;
  const bool pairs = parts == GeneratedParts::kPairs && is_generated(network);
  if (pairs) add("direct", " generates", "");
  if (pairs && has_mixing(network)) add("direct", " mixes", "");
  add("residual", pairs ? " reads" : "", "feed-forward");
}

void check_kept(const std::vector<Index>& kept, Index layers) {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const bool there = kept[i] >= 1 && kept[i] <= layers;
    if (there && (i == 0 || kept[i] > kept[i - 1])) continue;
    throw OptionError(
        fmt::format("extract.layers: {}{}: must be layers from 1 to {}, in rising order, each once",
                    there ? "not rising at " : "", kept[i], layers),
        {"extract.layers"});
  }
  if (kept.empty()) {
    throw OptionError("extract.layers: empty: must name at least one layer", {"extract.layers"});
  }
}

}  // namespace

Words<GeneratedParts> words_of(GeneratedParts /*any*/) {
  static constexpr Word<GeneratedParts> kWords[] = {{"heads", GeneratedParts::kHeads},
                                                    {"pairs", GeneratedParts::kPairs}};
  return kWords;
}

Index ContributionLevels::paths() const { return model::path_count(sizes); }

class FrozenNetwork::Implementation {
 public:
  Implementation(const TransformerOptions& options, const TaskFormat& format,
                 const std::vector<NamedTensor>& parameters, std::vector<Index> kept,
                 GeneratedParts parts)
      : model_(reference::make_transformer(options, format, parameters)),
        kept_(std::move(kept)),
        parts_(parts) {
    check_kept(kept_, model_.options.layers);
    for (Index& layer : kept_) add_levels(--layer, model_.options, parts, &levels_);
  }

  [[nodiscard]] const ContributionLevels& levels() const { return levels_; }
  [[nodiscard]] const reference::Transformer& model() const { return model_; }
  [[nodiscard]] const std::vector<Index>& kept() const { return kept_; }

  [[nodiscard]] Contributions contributions(const TaskBatch& batch, Index index,
                                            Index token) const {
    const reference::Trace trace = reference::trace_example(model_, batch, index);
    const auto first = static_cast<std::size_t>(kept_.front());
    std::vector<RowMatrixXd> streams = {trace.blocks[first].entered};
    for (std::size_t l = first; l < trace.blocks.size(); ++l) {
      const bool last = l + 1 == trace.blocks.size();
      const QueryRange queries = last ? QueryRange{token, 1} : QueryRange{0, model_.format.tokens};
      const FrozenBlock block(model_, model_.blocks[l], trace.blocks[l], queries);
      const bool split = std::binary_search(kept_.begin(), kept_.end(), static_cast<Index>(l));
      std::vector<RowMatrixXd> above;
      for (std::size_t i = 0; i < streams.size(); ++i) {
        std::vector<RowMatrixXd> parts = carry(block, l, streams[i], queries, i == 0, split);
        std::move(parts.begin(), parts.end(), std::back_inserter(above));
      }
      streams = std::move(above);
    }
    Contributions out;
    out.parts.resize(levels_.paths(), model_.options.model_dim);
    const VectorXd factor = trace.norm.factors.segment(token, 1);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      out.parts.row(static_cast<Index>(i)) =
          reference::frozen_norm(model_.norm, factor, streams[i], i == 0);
    }
    out.embedding = trace.norm.tokens.row(token);
    out.outputs = trace.outputs.row(token);
    return out;
  }

 private:
  /// What a layer makes of one part of the stream: as one part, or split into the layer's parts.
  [[nodiscard]] std::vector<RowMatrixXd> carry(const FrozenBlock& block, std::size_t layer,
                                               const RowMatrixXd& stream, QueryRange queries,
                                               bool biases, bool split) const {
    RowMatrixXd residual = stream.middleRows(queries.first, queries.count);
    if (biases) residual.rowwise() += model_.blocks[layer].attention.output_bias.transpose();
    std::vector<RowMatrixXd> heads = block.heads(stream, biases);
    RowMatrixXd between = residual;
    for (const RowMatrixXd& head : heads) between += head;
    const RowMatrixXd feed_forward = block.feed_forward(between, biases);
    if (!split) return {between + feed_forward};
    const auto count = static_cast<std::size_t>(model_.options.heads);
    if (parts_ == GeneratedParts::kPairs) {
      return place(std::move(residual), heads, feed_forward, block.depth());
    }
    for (std::size_t i = count; i < heads.size(); ++i) heads[i % count] += heads[i];
    heads.resize(count);
    return place(std::move(residual), heads, feed_forward, 1);
  }

  /// The parts in the order of the layer's levels. Paths without a part are 0.
  [[nodiscard]] std::vector<RowMatrixXd> place(RowMatrixXd residual,
                                               const std::vector<RowMatrixXd>& heads,
                                               const RowMatrixXd& feed_forward, int levels) const {
    const auto count = static_cast<std::size_t>(model_.options.heads);
    const std::size_t readers = count + 2;
    std::size_t rows = 1;  // of the levels below the last: H + 1 each, the first one direct
    for (int level = 1; level < levels; ++level) rows *= count + 1;
    std::vector<RowMatrixXd> out(rows * readers,
                                 RowMatrixXd::Zero(residual.rows(), residual.cols()));
    for (std::size_t i = 0; i < heads.size(); ++i) {
      std::size_t row = 0;  // of (h_1 + 1, h_2 + 1, ...), the last fastest
      std::size_t rest = i / count;
      for (std::size_t stride = 1; stride < rows; stride *= count + 1) {
        row += stride * (rest % count + 1);
        rest /= count;
      }
      out[row * readers + i % count + 1] = heads[i];
    }
    out[0] = std::move(residual);
    out[readers - 1] = feed_forward;
    return out;
  }

  reference::Transformer model_;
  std::vector<Index> kept_;  // from 0
  GeneratedParts parts_;
  ContributionLevels levels_;
};

FrozenNetwork::FrozenNetwork(const TransformerOptions& options, const TaskFormat& format,
                             const std::vector<NamedTensor>& parameters, std::vector<Index> kept,
                             GeneratedParts parts)
    : implementation_(
          std::make_unique<Implementation>(options, format, parameters, std::move(kept), parts)) {}
FrozenNetwork::~FrozenNetwork() = default;
FrozenNetwork::FrozenNetwork(FrozenNetwork&&) noexcept = default;
FrozenNetwork& FrozenNetwork::operator=(FrozenNetwork&&) noexcept = default;

const ContributionLevels& FrozenNetwork::levels() const { return implementation_->levels(); }
Index FrozenNetwork::features() const { return implementation_->model().options.model_dim; }
Index FrozenNetwork::heads() const { return implementation_->model().options.heads; }

FrozenNetwork::Contributions FrozenNetwork::contributions(const TaskBatch& batch, Index index,
                                                          Index token) const {
  return implementation_->contributions(batch, index, token);
}

FrozenNetwork::Attention FrozenNetwork::attention(const TaskBatch& batch, Index index,
                                                  Index token) const {
  const reference::Trace trace = reference::trace_example(implementation_->model(), batch, index);
  const std::vector<Index>& kept = implementation_->kept();
  const auto block = [&](Index layer) -> const BlockTrace& {
    return trace.blocks[static_cast<std::size_t>(layer)];
  };
  Attention out;
  out.inputs = block(kept.front()).attention_norm.tokens;
  for (const Index layer : kept) out.weights.push_back(block(layer).weights);
  out.outputs = trace.outputs.row(token);
  return out;
}

VectorXd FrozenNetwork::around(const TaskBatch& batch, Index index, Index token) const {
  const Contributions c = contributions(batch, index, token);
  const auto& levels = implementation_->levels();
  VectorXd of_heads = VectorXd::Zero(c.embedding.size());
  for (std::size_t i = 0; i < levels.heads.front().size(); ++i) {
    if (levels.heads.front()[i] >= 0) of_heads += c.parts.row(static_cast<Index>(i)).transpose();
  }
  return c.outputs - implementation_->model().logits * of_heads;
}

}  // namespace headway::training
