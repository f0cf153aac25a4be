#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "headway/observer.hpp"
#include "headway/training/trainer.hpp"
#include "headway/types.hpp"

namespace headway::training {

/// H of every layer. Error{kBadStudy} for a network with an encoder, whose layers have two kinds of
/// attention.
std::vector<int> head_counts(const TransformerOptions& options);

/// Parameters of a network without some of its heads (counted over all layers, layer 1 first): the
/// weights a[h] of a removed head are 0 after normalisation, so that the other heads' weights stay
/// what they are (src/training/README.md, eq. 20). The head's columns of the output projection
/// become 0. So does what it gives to a generated value network. In a linear-value network V_l^h
/// becomes 0. `rescale` (linear-value networks only) multiplies the heads that are left in a layer
/// by sqrt(H / heads left). Error{kBadStudy} for a head that is none of the network's.
std::vector<NamedTensor> without_heads(const TransformerOptions& options,
                                       const std::vector<NamedTensor>& parameters,
                                       const std::vector<int>& removed, bool rescale = false);

/// Derivatives with respect to masks m_h = 1 that multiply the weights a[h] of each head after
/// normalisation (eq. 21): sum of p dL/dp over the parameters p that without_heads() sets to 0.
/// `gradients`: dL/dp in the order of `parameters`. Exact.
std::vector<double> mask_derivatives(const TransformerOptions& options,
                                     const std::vector<NamedTensor>& parameters,
                                     const std::vector<NamedTensor>& gradients);

/// Frobenius norm of each head's product of output and value matrices (W_o^h W_v^h; V_l^h of a
/// linear-value network), biases left out.
std::vector<double> head_weight_norms(const TransformerOptions& options,
                                      const std::vector<NamedTensor>& parameters);

/// Heads removed with their mean in their place: the layer then gives what it gave on average.
class MeanHeads {
 public:
  /// Runs the reference network over `examples`, in parallel. Errors: kBadStudy for a network with
  /// an encoder, kInterrupted.
  MeanHeads(const TransformerOptions& options, const TaskFormat& format,
            const std::vector<NamedTensor>& parameters, const TaskBatch& examples, int threads,
            const Observer& observer);
  MeanHeads(MeanHeads&&) noexcept;
  MeanHeads& operator=(MeanHeads&&) noexcept;
  ~MeanHeads();

  /// without_heads(), with the mean of what the removed heads of a layer add together put into the
  /// bias of the layer's output. That mean is the attention's output minus its output without these
  /// heads, all else equal, averaged over the examples and the tokens that the layer's output is
  /// read at (the scored ones in the last layer). If heads generate the value network, it is not
  /// the sum of what each head adds alone.
  /// Cost: one reference attention for each layer and example.
  [[nodiscard]] std::vector<NamedTensor> without(const std::vector<int>& removed) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A network, and the few examples that check_removal() looks at.
struct CheckedNetwork {
  const TransformerOptions& options;
  const TaskFormat& format;
  const std::vector<NamedTensor>& parameters;
  const TaskBatch& examples;
};

/// Parameters without some heads: without_heads() or MeanHeads::without().
using HeadRemover = std::function<std::vector<NamedTensor>(const std::vector<int>& removed)>;

/// Is what is removed gone, and nothing else? Each head is removed once, and the attention of every
/// layer is compared with what its weights and values say: the head is at zero, or at its mean over
/// these examples; the other heads are unchanged; without all heads of a layer its attention is
/// gone; and the network hears its heads. Error{kInternal} names the check that fails, layer and
/// head; kBadData where the network does not hear them. For transformers without an encoder. Cost:
/// three attentions of the definitions for each head and example.
void check_removal(const CheckedNetwork& network, const HeadRemover& at_zero,
                   const HeadRemover& at_mean);

}  // namespace headway::training
