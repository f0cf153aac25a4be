#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "headway/error.hpp"
#include "headway/model/path_index.hpp"
#include "headway/training/head_removal.hpp"
#include "training/attention/attention_reference.hpp"
#include "training/model/transformer_reference.hpp"

namespace headway::training {
namespace {

constexpr double kLargestGap = 1e-4;  // relative; means are added to biases in single precision

/// The stream after a block's attention with the weights a of one head at 0, from the weights and
/// values of its trace: none of what removes heads is used.
RowMatrixXd silenced(const reference::Transformer& model, const reference::AttentionParameters& p,
                     const reference::BlockTrace& block, Index removed) {
  const Index heads = model.options.heads;
  const Index tokens = block.entered.rows();
  const Index dv = model.options.value_dim / heads;
  const AttentionOptions options = model.options.attention_options();
  const auto weight = [&](Index h, Index q, Index k) {
    const auto at = static_cast<std::size_t>((h * tokens + q) * tokens + k);
    return h == removed ? 0.0 : block.weights[at];
  };
  const auto phi = [&](const VectorXd& u) {
    return VectorXd(
        u.unaryExpr([&](double x) { return reference::nonlinearity(options.nonlinearity, x); }));
  };
  RowMatrixXd out = RowMatrixXd::Zero(tokens, model.options.value_dim);
  for (Index q = 0; q < tokens; ++q) {
    for (Index k = 0; k < tokens; ++k) {
      const auto value = [&](Index h) {
        return VectorXd(block.values.row(k).segment(h * dv, dv).transpose());
      };
      VectorXd made = VectorXd::Zero(dv);  // by the generated value network
      for (Index h = 0; h < heads; ++h) made += weight(h, q, k) * value(h);
      if (has_mixing(options.value_network)) {
        const VectorXd hidden = phi(made);
        made.setZero();
        for (Index h = 0; h < heads; ++h) {
          const Eigen::Map<const RowMatrixXd> mixing(p.mixing.data() + h * dv * dv, dv, dv);
          made += weight(h, q, k) * (mixing * hidden);
        }
      }
      for (Index h = 0; h < heads; ++h) {
        const VectorXd read = phi(is_generated(options.value_network) ? made : value(h));
        out.row(q).segment(h * dv, dv) += weight(h, q, k) * read.transpose();
      }
    }
  }
  RowMatrixXd between = block.entered + out * p.output.transpose();
  between.rowwise() += p.output_bias.transpose();
  return between;
}

std::string place_of(Index layer, Index head) {
  return head < 0 ? fmt::format("layer {}", layer + 1)
                  : fmt::format("layer {}, head {}", layer + 1, head + 1);
}

void demand(const RowMatrixXd& found, const RowMatrixXd& wanted, const char* check,
            const std::string& place) {
  const double scale = std::max(wanted.cwiseAbs().maxCoeff(), 1e-30);
  const RowMatrixXd gaps = (found - wanted).cwiseAbs();
  const double gap = gaps.maxCoeff() / scale;
  if (gap <= kLargestGap && gaps.allFinite()) return;  // maxCoeff() may leave out nan
  throw Error(
      ErrorKind::kInternal,
      fmt::format("removal of heads fails the check \"{}\" ({}): it misses by {:.2g} of the "
                  "stream, must be within {:g}",
                  check, place, gap, kLargestGap));
}

/// Runs the checks on some examples of one network.
class Checker {
 public:
  explicit Checker(const CheckedNetwork& network)
      : network_(network),
        whole_(reference::make_transformer(network.options, network.format, network.parameters)) {
    for (Index i = 0; i < network.examples.examples; ++i) {
      traces_.push_back(reference::trace_example(whole_, network.examples, i));
    }
  }

  void head_at_zero(Index layer, Index head, const std::vector<NamedTensor>& without) const {
    const reference::Transformer pruned = transformer(without);
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const reference::BlockTrace& block = traces_[i].blocks[static_cast<std::size_t>(layer)];
      const RowMatrixXd left = attention(pruned, layer, i);
      const RowMatrixXd wanted = silenced(whole_, attention_of(whole_, layer), block, head);
      // Where nothing at all has changed, the head is still there.
      const bool same = left == block.between && !(wanted - left).isZero(0.0);
      demand(left, wanted, same ? kHeadIsZero : kOthersUnchanged, place_of(layer, head));
    }
    for (Index other = 0; other < layers(); ++other) {
      if (other == layer) continue;
      for (std::size_t i = 0; i < traces_.size(); ++i) {
        demand(attention(pruned, other, i), between(other, i), kOthersUnchanged,
               place_of(layer, head));
      }
    }
  }

  /// The layer gives what it gave on average, at the tokens that it is read at.
  void head_at_mean(Index layer, Index head, const std::vector<NamedTensor>& at_mean,
                    const std::vector<NamedTensor>& at_zero) const {
    const reference::Transformer mean = transformer(at_mean), zero = transformer(at_zero);
    const TaskFormat& format = network_.format;
    const Index read = layer + 1 == layers() ? format.scored : format.tokens;
    RowMatrixXd found = RowMatrixXd::Zero(1, whole_.options.model_dim), wanted = found;
    const RowMatrixXd lent = attention(mean, layer, 0) - attention(zero, layer, 0);
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const RowMatrixXd left = attention(mean, layer, i);
      found += left.bottomRows(read).colwise().mean();
      wanted += between(layer, i).bottomRows(read).colwise().mean();
      const RowMatrixXd at_all_tokens =
          attention(zero, layer, i) + lent.row(0).replicate(left.rows(), 1);
      demand(left, at_all_tokens, kHeadIsMean, place_of(layer, head));
    }
    demand(found, wanted, kHeadIsMean, place_of(layer, head));
  }

  void no_attention(Index layer, const std::vector<NamedTensor>& without) const {
    const reference::Transformer bare = transformer(without);
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      RowMatrixXd wanted = traces_[i].blocks[static_cast<std::size_t>(layer)].entered;
      wanted.rowwise() += attention_of(whole_, layer).output_bias.transpose();
      demand(attention(bare, layer, i), wanted, kAttentionGone, place_of(layer, -1));
    }
  }

  void network_hears(const std::vector<NamedTensor>& without) const {
    const reference::Transformer bare = transformer(without);
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      const reference::Trace trace =
          reference::trace_example(bare, network_.examples, static_cast<Index>(i));
      if (trace.outputs != traces_[i].outputs) return;
    }
    throw Error(ErrorKind::kBadData,
                "removal of heads fails the check \"the network hears its heads\": without all of "
                "them its outputs are the same, so they have no order; were they removed already?");
  }

 private:
  [[nodiscard]] Index layers() const { return static_cast<Index>(whole_.blocks.size()); }
  [[nodiscard]] reference::Transformer transformer(const std::vector<NamedTensor>& with) const {
    return reference::make_transformer(network_.options, network_.format, with);
  }
  static const reference::AttentionParameters& attention_of(const reference::Transformer& model,
                                                            Index layer) {
    return model.blocks[static_cast<std::size_t>(layer)].attention;
  }
  [[nodiscard]] const RowMatrixXd& between(Index layer, std::size_t example) const {
    return traces_[example].blocks[static_cast<std::size_t>(layer)].between;
  }
  /// The stream after this attention, given what enters it in the whole network.
  [[nodiscard]] RowMatrixXd attention(const reference::Transformer& model, Index layer,
                                      std::size_t example) const {
    return reference::attention_between(
        whole_, attention_of(model, layer), network_.examples, static_cast<Index>(example),
        traces_[example].blocks[static_cast<std::size_t>(layer)].entered);
  }

  static constexpr const char* kHeadIsZero = "the head is at zero";
  static constexpr const char* kHeadIsMean = "the head is at its mean";
  static constexpr const char* kOthersUnchanged = "the other heads are unchanged";
  static constexpr const char* kAttentionGone = "without all heads the attention is gone";

  const CheckedNetwork& network_;
  reference::Transformer whole_;
  std::vector<reference::Trace> traces_;
};

}  // namespace

void check_removal(const CheckedNetwork& network, const HeadRemover& at_zero,
                   const HeadRemover& at_mean) {
  const Checker checker(network);
  const std::vector<model::HeadAddress> all = model::all_heads(head_counts(network.options));
  std::vector<int> every;
  std::vector<std::vector<int>> by_layer;
  for (std::size_t h = 0; h < all.size(); ++h) {
    const int head = static_cast<int>(h);
    const std::vector<NamedTensor> zero = at_zero({head});
    checker.head_at_zero(static_cast<Index>(all[h].layer), all[h].head, zero);
    checker.head_at_mean(static_cast<Index>(all[h].layer), all[h].head, at_mean({head}), zero);
    by_layer.resize(all[h].layer + 1);
    by_layer.back().push_back(head);
    every.push_back(head);
  }
  for (std::size_t l = 0; l < by_layer.size(); ++l) {
    checker.no_attention(static_cast<Index>(l), at_zero(by_layer[l]));
  }
  checker.network_hears(at_zero(every));
}

}  // namespace headway::training
