"""Removal of heads that checks itself: is what was removed gone, and nothing else?

A removal that silently does nothing, or too much, gives numbers like any other. So before heads are ranked, every head is
removed once on a few examples, and what enters and leaves the output projection of its layer is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from headway.errors import UsageError
from headway.heads.network_batches import part_of
from headway.heads.network_removal import EXAMPLES, Network, replacement_of
from headway.heads.projections import Projection

LARGEST_GAP = {torch.float64: 1e-9, torch.float32: 1e-4}  # relative; LOOSEST for lower precisions
LOOSEST = 0.05

Tensor = torch.Tensor

CHECKS = ("the head is at its mean or zero", "the other heads are unchanged", "the layer loses the head's output",
          "without all heads the attention is gone", "the network hears the heads", "the network is as before",
          "the heads sum up to the output of their projection")


def check_removal(network: Network, encoded: Mapping[str, Any], means: Sequence[Tensor], kept: Sequence[int]) -> tuple[str, ...]:
    """Makes CHECKS on the first examples, for every head of the layers `kept`; returns their names.

    means: of every layer, what enters its output projection, [H d]. Errors: UsageError that names the check and the head.
    """
    few = {key: part_of(value, 0, EXAMPLES, None) for key, value in encoded.items()}
    for layer in kept:
        _check_layer(network, few, means[layer - 1], layer)
    return CHECKS


def _check_layer(network: Network, few: Mapping[str, Any], mean: Tensor, layer: int) -> None:
    place, heads = network.projections[layer - 1], network.heads[layer - 1]
    (batch,) = network.started(few, layer)[:1]

    def run(change: Callable[[Tensor], Tensor] | None) -> tuple[Tensor, Tensor, Tensor]:
        """What enters and leaves the projection at its first call from this layer up, and the embeddings."""
        calls: list[tuple[Tensor, Tensor]] = []
        said = network.watched(batch, layer, change, lambda _, mixed, output: calls.append((mixed.detach(), output.detach())))
        if not calls:
            raise _failed(CHECKS[0], place.name or layer, None, "the output projection is never called as a module")
        return (*(network.at_real(layer, one, batch.mask) for one in calls[0]), said)

    entered, left, whole = run(None)
    again = _gap(run(None)[2], whole, whole)
    if not again <= LARGEST_GAP.get(entered.dtype, LOOSEST):
        raise UsageError(f"model: answers differently when it is called again, by {again:.2g} of its largest number; allowed: a model "
                         "without noise in evaluation mode, such as a dropout that is always on")
    if not bool(torch.any(place.difference(entered, torch.zeros_like(entered)) != 0)):
        raise UsageError(f"model: removal of heads fails the check \"{CHECKS[4]}\" ({_place(place.name or layer, None)}): its projection adds "
                         "nothing, as after all of its heads have been removed; allowed: the other layers, by layers= or heads=")
    limit = LARGEST_GAP.get(entered.dtype, LOOSEST)
    size = entered.shape[-1] // heads
    for head in range(1, heads + 1):
        own = slice((head - 1) * size, head * size)
        for mode, value in (("zero", torch.zeros_like(mean)), ("mean", mean)):
            now, out, _ = run(replacement_of(mode, mean, heads, head))
            wanted = value[own].to(now).expand_as(now[..., own])
            _demand(_gap(now[..., own], wanted, entered), limit, CHECKS[0], place.name or layer, head)
            others = torch.ones(entered.shape[-1], dtype=torch.bool, device=entered.device)
            others[own] = False
            _demand(_gap(now[..., others], entered[..., others], entered), limit, CHECKS[1], place.name or layer, head)
            without = entered.clone()
            without[..., own] = wanted
            _demand(_gap(left.double() - out.double(), place.difference(entered, without), left), limit,
                    CHECKS[2], place.name or layer, head)
    _check_all(network, batch, layer, limit, whole, run)
    _check_sum(place, heads, entered, left, limit, layer)


def _check_sum(place: Projection, heads: int, entered: Tensor, left: Tensor, limit: float, layer: int) -> None:
    """What the module makes of each head alone must sum up to its output."""
    nothing, size = torch.zeros_like(entered), entered.shape[-1] // heads
    total = place.of(nothing)
    for begin in range(0, entered.shape[-1], size):
        alone = nothing.clone()
        alone[..., begin:begin + size] = entered[..., begin:begin + size]
        total = total + place.difference(alone, nothing)
    if total.shape != left.shape:
        raise _failed(CHECKS[-1], place.name or layer, None, f"alone it gives {list(total.shape)} where it gave {list(left.shape)}")
    _demand(_gap(total, left, left), limit, CHECKS[-1], place.name or layer, None)


def _check_all(network: Network, batch: Any, layer: int, limit: float, whole: Tensor, run: Callable) -> None:
    place, heads = network.projections[layer - 1], network.heads[layer - 1]
    _, out, bare = run(replacement_of("zero", torch.zeros(0), heads, *range(1, heads + 1)))
    gone = network.watched(batch, layer, None, lambda _, mixed, output: place.of(torch.zeros_like(mixed)).to(output))  # its bias
    _demand(_gap(bare, gone, whole), limit, CHECKS[3], place.name or layer, None)
    if torch.equal(bare, whole):
        raise _failed(CHECKS[4], place.name or layer, None, "without all heads of the layer the embeddings are the same to the last bit")
    _demand(_gap(run(None)[2], whole, whole), limit, CHECKS[5], place.name or layer, None)


def _gap(found: Tensor, wanted: Tensor, scale: Tensor) -> float:
    if found.numel() == 0:
        return 0.0
    size = float(scale.double().abs().max())
    return float((found.double() - wanted.double()).abs().max()) / (size or 1.0)


def _demand(gap: float, limit: float, check: str, layer: int | str, head: int | None) -> None:
    if not gap <= limit:
        raise _failed(check, layer, head, f"it misses by {gap:.2g}, must be within {limit:g}")


def _place(layer: int | str, head: int | None) -> str:
    return (repr(layer) if isinstance(layer, str) else f"layer {layer}") + ("" if head is None else f", head {head}")


def _failed(check: str, layer: int | str, head: int | None, why: str) -> UsageError:
    """layer: its number, or the name that the caller has given for its projection."""
    allowed = "; allowed: a module that only projects the concatenated heads" if isinstance(layer, str) else ""
    return UsageError(f"model: removal of heads fails the check \"{check}\" ({_place(layer, head)}): {why}. The heads of this model cannot be ranked{allowed}")
