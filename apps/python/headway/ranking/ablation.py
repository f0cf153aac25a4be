"""Removal of heads that checks itself: is what was removed gone, and nothing else?

A removal that silently does nothing, or too much, gives numbers like any other. So before heads are ranked, every head is
removed once on a few examples, and what enters and leaves the output projection of its layer is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from headway.errors import UsageError
from headway.network_batches import part_of
from headway.network_removal import Network, at_projections, replacement_of

EXAMPLES = 4  # the number that the checks look at
LARGEST_GAP = {torch.float64: 1e-9, torch.float32: 1e-4}  # relative; LOOSEST for lower precisions
LOOSEST = 0.05

Tensor = torch.Tensor

CHECKS = ("the head is at its mean or zero", "the other heads are unchanged", "the layer loses the head's output",
          "without all heads the attention is gone", "the network hears the heads", "the network is as before")


def check_removal(network: Network, encoded: Mapping[str, Any], means: Sequence[Tensor], kept: Sequence[int]) -> tuple[str, ...]:
    """Makes CHECKS on the first examples, for every head of the layers `kept`; returns their names.

    means: of every layer, what enters its output projection, [H d]. Errors: UsageError that names the check and the head.
    """
    few = {key: part_of(value, 0, EXAMPLES, None) for key, value in encoded.items()}
    for layer in kept:
        _check_layer(network, few, means[layer - 1], layer)
    return CHECKS


class _Watched:
    """A layer's output projection: what entered it and what left it at the last run."""

    def __init__(self, projection: torch.nn.Module):
        self.projection, self.calls = projection, []

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.calls.clear()
        handle = self.projection.register_forward_hook(
            lambda module, arguments, output: self.calls.append((arguments[0].detach(), output.detach())))
        try:
            yield
        finally:
            handle.remove()


def _check_layer(network: Network, few: Mapping[str, Any], mean: Tensor, layer: int) -> None:
    block, heads = network.stack.blocks[layer - 1], network.heads[layer - 1]
    (batch,) = network.started(few, layer)[:1]
    watched = _Watched(block.projection)

    def run(change: Callable[[Tensor], Tensor] | None) -> tuple[Tensor, Tensor, Tensor]:
        """What enters and leaves the projection at its first call from this layer up, and the embeddings."""
        with watched.watching():
            said = network.embeddings_from([batch], {} if change is None else {layer: change})
        if not watched.calls:
            raise _failed(CHECKS[0], layer, None, "the output projection is never called as a module")
        return (*(_at_real(one, batch.mask) for one in watched.calls[0]), said)

    entered, left, whole = run(None)
    limit = LARGEST_GAP.get(entered.dtype, LOOSEST)
    size = entered.shape[-1] // heads
    for head in range(1, heads + 1):
        own = slice((head - 1) * size, head * size)
        for mode, value in (("zero", torch.zeros_like(mean)), ("mean", mean)):
            now, out, _ = run(replacement_of(mode, mean, heads, head))
            wanted = value[own].to(now).expand_as(now[..., own])
            _demand(_gap(now[..., own], wanted, entered), limit, CHECKS[0], layer, head)
            others = torch.ones(entered.shape[-1], dtype=torch.bool, device=entered.device)
            others[own] = False
            _demand(_gap(now[..., others], entered[..., others], entered), limit, CHECKS[1], layer, head)
            weights = block.output.weight[:, own].to(entered.device)
            lost = (entered[..., own].double() - wanted.double()) @ weights.T
            _demand(_gap(left.double() - out.double(), lost, left), limit, CHECKS[2], layer, head)
    _check_all(network, batch, layer, limit, whole, run)


def _check_all(network: Network, batch: Any, layer: int, limit: float, whole: Tensor, run: Callable) -> None:
    block, heads = network.stack.blocks[layer - 1], network.heads[layer - 1]
    _, out, bare = run(replacement_of("zero", torch.zeros(0), heads, *range(1, heads + 1)))
    with _attention_gone(network, layer):
        gone = network.embeddings_from([batch], {})
    _demand(_gap(bare, gone, whole), limit, CHECKS[3], layer, None)
    if torch.equal(bare, whole):
        raise _failed(CHECKS[4], layer, None, "without all heads of the layer the embeddings are the same to the last bit")
    _demand(_gap(run(None)[2], whole, whole), limit, CHECKS[5], layer, None)


@contextmanager
def _attention_gone(network: Network, layer: int) -> Iterator[None]:
    """In this block the projection of a layer gives its bias alone, whatever enters it. If several layers share the projection,
    only its first call does so."""
    block, calls = network.stack.blocks[layer - 1], []

    def hook(module: Any, arguments: tuple, output: Tensor) -> Tensor | None:
        calls.append(1)
        if len(calls) > 1:
            return None
        bias = block.output.bias
        return torch.zeros_like(output) if bias is None else bias.to(output).expand_as(output)
    handle = block.projection.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _at_real(array: Tensor, mask: Any) -> Tensor:
    """Rows [n, ..] of the real tokens of [b, S, ..]; without a mask all as they are."""
    return array if mask is None else array[torch.as_tensor(mask).to(array.device) != 0]


def _gap(found: Tensor, wanted: Tensor, scale: Tensor) -> float:
    if found.numel() == 0:
        return 0.0
    size = float(scale.double().abs().max())
    return float((found.double() - wanted.double()).abs().max()) / (size or 1.0)


def _demand(gap: float, limit: float, check: str, layer: int, head: int | None) -> None:
    if not gap <= limit:
        raise _failed(check, layer, head, f"it misses by {gap:.2g}, must be within {limit:g}")


def _failed(check: str, layer: int, head: int | None, why: str) -> UsageError:
    where = f"layer {layer}" + ("" if head is None else f", head {head}")
    return UsageError(f"model: removal of heads fails the check \"{check}\" ({where}): {why}. The heads of this model cannot be ranked")
