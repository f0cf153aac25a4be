"""A trained transformer as contributions along paths: residual stream, heads, feed-forward blocks.

Attention weights, the scales of the norms and the gates phi(u) / u of the nonlinearities phi are
frozen, example by example, at what they are; what is left of a block is linear in the stream that
enters it:

    norm          N x = scale * (x - mean x) / sd        sd frozen for each token; RMSNorm: no mean
    head          o_h[q] = W_o^h sum_k a[h, q, k] W_v^h N x[k]
    feed-forward  W_down (gate * W_up N x),              gate = phi(u) / u, or phi(W_gate N x)
    norm_first    x -> x + sum_h o_h + feed-forward;     else x -> N_2(y + feed-forward), y = N_1(x + sum_h o_h)

A layer that is kept splits the stream into H + 2 parts: the residual stream, each head, the
feed-forward block; two layers into (H + 2)^2, part of the lower layer and part of the upper one. Layers
above that are not kept carry every part as a whole. Biases act in the part that is the residual stream
in every lower kept layer. The parts of an example, read like the network's answer, sum up to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headway.errors import BadDataError, UsageError
from headway.heads.model_locks import of_this_thread
from headway.heads.network_batches import calls_noted, first_argument, hugging_face_answers, torch_calls
from headway.heads.network_blocks import Block, FeedForward, Linear, Norm, Stack
from headway.heads.network_masks import require_attended

LARGEST_GAP = 1e-5  # of the sum of the parts from the network's own readout, relative to it

Tensor = torch.Tensor


@dataclass(frozen=True)
class Contributions:
    """Of some examples: parts [b, p, N], and the network's own readout [b, N], their sum."""

    parts: np.ndarray
    readout: np.ndarray


@dataclass(frozen=True)
class States:
    """Of a batch: the stream [b, S, N] that enters the first kept layer, attention [b, H, S, S] of
    that layer and all above, what the network says of every token [b, S, N], mask [b, S] or None."""

    stream: Tensor
    attentions: Sequence[Tensor]
    answer: Tensor
    mask: Any


def hugging_face_states(model: Any, encoded: Mapping[str, Any], first: int, batch_size: int,
                        name: str) -> Iterator[States]:
    for answer in hugging_face_answers(model, encoded, batch_size, name):
        yield States(_double(answer.hidden[first - 1]),
                     [_double(array) for array in answer.attentions[first - 1:]],
                     _double(answer.hidden[-1]), answer.mask)


def torch_states(model: Any, stack: Stack, given: Mapping[str, Any], first: int, batch_size: int,
                 name: str) -> Iterator[States]:
    """Of a model made of torch.nn.TransformerEncoderLayer."""
    seen: dict[str, Tensor] = {}
    attentions = [block.module.self_attn for block in stack.blocks]
    hook = stack.last.register_forward_hook(of_this_thread(lambda module, arguments, said: seen.update(answer=said)))
    entered = calls_noted([stack.blocks[first - 1].module], lambda module, arguments, named: seen.update(
        stream=first_argument(module, arguments, named)[1]))
    try:
        with entered:
            for calls, mask in torch_calls(model, given, batch_size, name):
                found = {id(call.module): call.weights for call in calls}
                if any(id(module) not in found for module in attentions):
                    raise UsageError("model: does not call all of its torch.nn.TransformerEncoderLayer")
                stream, answer = (seen[key] if module.batch_first else seen[key].transpose(0, 1)
                                  for key, module in zip(("stream", "answer"), attentions[:1] * 2))
                yield States(_double(stream),
                             [_double(found[id(module)]) for module in attentions[first - 1:]],
                             _double(answer), mask)
    finally:
        hook.remove()


def _double(array: Tensor) -> Tensor:
    array = array.detach()
    return (array.cpu() if array.device.type == "mps" else array).to(torch.float64)


def part_names(stack: Stack, kept: Sequence[int]) -> list[list[str]]:
    """Names of the parts of each kept layer, as `headway extract` has them."""
    return [[f"L{layer} residual",
             *(f"L{layer}H{head}" for head in range(1, stack.blocks[layer - 1].heads + 1)),
             f"L{layer} feed-forward"] for layer in kept]


def contribution_blocks(stack: Stack, batches: Iterator[States], kept: Sequence[int],
                        readout: str, name: str) -> Iterator[Contributions]:
    """Contributions of every batch.

    stack: of the model that the batches are from. kept: layers counted from 1, ascending.
    Errors: UsageError where the parts do not sum up to the network's readout (LARGEST_GAP); BadDataError where a real
    token attends to padding alone.
    Cost: about the first layer kept once, and each layer above as often as there are parts below.
    """
    begin = 0
    for states in batches:
        parts = _finite_at_padding(states.stream, states.mask)[None]
        real = None if states.mask is None else torch.as_tensor(states.mask).cpu() != 0
        for layer, attention in zip(range(kept[0], len(stack.blocks) + 1), states.attentions):
            if real is not None:
                attention = _finite_at_padding(attention.transpose(1, 2), real).transpose(1, 2)
                on_real = torch.einsum("bhqk,bk->bhq", attention, real.to(attention))
                require_attended(f"{name}: attention of layer {layer}", on_real.cpu().numpy(), real.numpy(), begin)
            parts = split(stack.blocks[layer - 1], parts, attention, keep=layer in kept)
        if stack.last_norm is not None:
            parts = frozen_norm(stack.last_norm, parts, parts.sum(0))
        weights = readout_weights(readout, states.mask, parts.shape[1:3]).to(parts)
        read = torch.einsum("bs,pbsn->bpn", weights, parts)
        own = torch.einsum("bs,bsn->bn", weights, real_only(states.answer, states.mask))
        _check_sum(read.sum(1), own, name, begin, stack.precision)
        begin += len(own)
        yield Contributions(read.cpu().numpy(), own.cpu().numpy())


class PartsMissError(UsageError):
    """The frozen parts of a network do not sum up to what it says."""


def _check_sum(found: Tensor, own: Tensor, name: str, begin: int, precision: str) -> None:
    if not bool(torch.isfinite(own).all()):
        raise BadDataError(f"{name}: the network's answer to one of the examples from {begin} on is "
                           "not finite")
    gaps = torch.linalg.vector_norm(found - own, dim=1) / torch.linalg.vector_norm(own, dim=1)
    largest = float(gaps.max())
    if not largest < LARGEST_GAP:
        worst = begin + int(gaps.argmax())
        why = ("its blocks add something that those of BERT, DistilBERT, ALBERT, GPT-2 and Llama do not; allowed: blocks like these"
               if precision in ("float32", "float64") else
               f"it computes in {precision}; allowed: single or double precision, as model.float() makes it")
        raise PartsMissError(f"model: {name}, example {worst}: the contributions sum up to the network's readout but for {largest:.2g} of "
                             f"it: must be below {LARGEST_GAP:g}. {why[0].upper()}{why[1:]}")


def readout_weights(readout: str, mask: Any, shape: Sequence[int]) -> Tensor:
    """[b, S]: the first real token, the last real one, or the mean over real ones."""
    real = torch.ones(*shape, dtype=torch.float64)
    if mask is not None:
        real = (torch.as_tensor(mask).cpu() != 0).to(real)
    if readout == "mean":
        return real / real.sum(1, keepdim=True)
    weights = torch.zeros_like(real)
    place = torch.arange(1, shape[1] + 1)
    chosen = (real * (place.flip(0) if readout == "first_token" else place)).argmax(1)
    weights[torch.arange(len(real)), chosen] = 1.0
    return weights


def real_only(array: Tensor, mask: Any) -> Tensor:
    """[b, S, ..] with 0 at padding, whatever stands there: a network may leave numbers that are not finite."""
    return array if mask is None else array.masked_fill(~real_of(array, mask), 0.0)


def _finite_at_padding(array: Tensor, mask: Any) -> Tensor:
    """[b, S, ..] with 0 in place of what is not finite at padding. Nothing else changes: a network that does not know its padding
    hears what stands there."""
    return array if mask is None else array.masked_fill(~(real_of(array, mask) | array.isfinite()), 0.0)


def real_of(array: Tensor, mask: Any) -> Tensor:
    """[b, S, 1, ..]: True for real tokens, on the device of the array."""
    real = torch.as_tensor(mask).to(array.device) != 0
    return real.reshape(*real.shape, *[1] * (array.ndim - 2))


# ---- frozen parts; parts are [p, b, S, N], the stream is their sum over p


def frozen_norm(norm: Norm, parts: Tensor, stream: Tensor) -> Tensor:
    """The norm with the factors that it has for `stream`; its shift goes to the first part."""
    if norm.centred:
        parts = parts - parts.mean(-1, keepdim=True)
        stream = stream - stream.mean(-1, keepdim=True)
    factor = (stream.square().mean(-1, keepdim=True) + norm.epsilon).rsqrt()
    return _with_constant(parts * factor * norm.scale, norm.shift)


def split(block: Block, parts: Tensor, attention: Tensor, keep: bool) -> Tensor:
    """What the block makes of each part: [p (H + 2), b, S, N], the block's own part fastest; without
    `keep` [p, b, S, N]. attention [b, H, S, S]."""
    seen = frozen_norm(block.norms[0], parts, parts.sum(0)) if block.norm_first else parts
    heads = _head_outputs(block, seen, attention, keep)  # [p, H or 1, b, S, N]
    residual = _with_constant(parts, block.output.bias)
    pieces = torch.cat([residual[:, None], heads], 1)
    if not keep:
        pieces = pieces.sum(1, keepdim=True)
    if not block.norm_first:
        pieces = _norm_pieces(block.norms[0], pieces)
    between = pieces.sum(1)
    seen = (frozen_norm(block.norms[1], between, between.sum(0)) if block.norm_first else between)
    fed = _feed_forward(block.feed_forward, seen)[:, None]
    pieces = torch.cat([pieces, fed], 1) if keep else pieces + fed
    if not block.norm_first:
        pieces = _norm_pieces(block.norms[1], pieces)
    return pieces.flatten(0, 1)


def _with_constant(parts: Tensor, constant: Tensor | None) -> Tensor:
    """The parts, with a constant in the first."""
    return parts if constant is None else torch.cat([parts[:1] + constant, parts[1:]])


def _norm_pieces(norm: Norm, pieces: Tensor) -> Tensor:
    flat = pieces.flatten(0, 1)
    return frozen_norm(norm, flat, flat.sum(0)).reshape(pieces.shape)


def _head_outputs(block: Block, seen: Tensor, attention: Tensor, keep: bool) -> Tensor:
    """[p, H, b, S, N], or their sum [p, 1, b, S, N]; a head's own bias in the first part."""
    values = torch.einsum("pbtn,hdn->pbhtd", seen, block.value_weights)
    biases = block.value_biases
    values = _with_constant(values, None if biases is None else biases[:, None, :])
    mixed = torch.einsum("bhqt,pbhtd->pbhqd", attention, values)
    if keep:
        return torch.einsum("pbhqd,hnd->phbqn", mixed, block.output_weights)
    return torch.einsum("pbhqd,hnd->pbqn", mixed, block.output_weights)[:, None]


def _feed_forward(network: FeedForward, seen: Tensor) -> Tensor:
    hidden = _apply(network.up, seen)
    total = hidden.sum(0)
    if network.gate is None:
        response = network.activation(total)
        gate = torch.where(total != 0.0, response / torch.where(total != 0.0, total, 1.0), 0.0)
    else:
        gate = network.activation(_apply(network.gate, seen).sum(0))
    return _apply(network.down, gate * hidden)


def _apply(linear: Linear, parts: Tensor) -> Tensor:
    return _with_constant(parts @ linear.weight.T, linear.bias)
