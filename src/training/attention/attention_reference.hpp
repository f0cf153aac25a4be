#pragma once

#include "headway/training/attention.hpp"

// Attention and its gradients by the definitions, one loop an index: what the fused kernels are
// checked against. Scalars are float or double. Arguments as in headway/training/attention.hpp.
namespace headway::training::reference {

template <typename Scalar>
void attention_forward(const AttentionShape& shape, const AttentionOptions& options,
                       const AttentionInputs<Scalar>& inputs,
                       const AttentionOutputs<Scalar>& outputs);

/// The weights a of all pairs before dropout (eqs. 2 to 4), [B, H, Sq, Sk]; masked pairs are 0.
template <typename Scalar>
void attention_weights(const AttentionShape& shape, const AttentionOptions& options,
                       const AttentionInputs<Scalar>& inputs, Scalar* out);

/// Derived by hand, step by step in the reverse order of the forward pass; needs none of its
/// outputs.
template <typename Scalar>
void attention_backward(const AttentionShape& shape, const AttentionOptions& options,
                        const AttentionInputs<Scalar>& inputs, const Scalar* d_output,
                        const AttentionGradients<Scalar>& gradients);

/// phi(x) and its derivative. Gelu is the tanh form, x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
template <typename Scalar>
Scalar nonlinearity(Nonlinearity phi, Scalar x);
template <typename Scalar>
Scalar nonlinearity_derivative(Nonlinearity phi, Scalar x);

}  // namespace headway::training::reference
