"""Measures on a pretrained transformer what its heads are worth to a linear readout of it.

To remove a head, its output is replaced before the output projection, and everything above is computed again. Nothing is
frozen, and nothing is linearised.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headway.errors import UsageError
from headway.head_table import HeadTable, head_table
from headway.labels import checked_classes
from headway.network_batches import (calls_noted, device_of, evaluating, examples_in, first_argument,
                                     hugging_face_answers, part_of)
from headway.network_blocks import Block, Stack, stack_of
from headway.network_contributions import LARGEST_GAP, readout_weights
from headway.network_writer import Source, checked_labels
from headway.network_arguments import checked_layers
from headway.probes import Probe, fit_probe

MODES = ("zero", "mean", "resample")

Tensor = torch.Tensor


def ablate_heads(model, encoded: Mapping[str, Any], labels, *, test: Mapping[str, Any] | None = None,
                 layers: Sequence[int] | None = None, mode: str = "zero", probe: str = "ridge",
                 penalty: float | None = None, readout: str = "first_token",
                 classes: int | None = None, batch_size: int = 16, seed: int = 1) -> HeadTable:
    """As headway.ablate_heads, which has the description."""
    if mode not in MODES:
        raise UsageError(f"mode: is {mode!r}; allowed: {', '.join(MODES)}")
    if test is not None and (not isinstance(test, Mapping) or set(test) != {"encoded", "labels"}):
        given = list(test) if isinstance(test, Mapping) else type(test).__name__
        raise UsageError(f"test: is {given}; allowed: a mapping with encoded and labels")
    network = _Network(model, readout, batch_size)
    kept = network.kept(layers)
    sets = {"train": (encoded, labels)} | ({} if test is None else {"test": (test["encoded"], test["labels"])})
    targets_of = _labels(sets, classes)
    with evaluating(model, batch_size, torch_attention=False):
        embeddings, means = network.embeddings(encoded)
        fitted = fit_probe(probe, embeddings, targets_of["train"], penalty)
        measured = next(reversed(sets))
        encoded, targets = sets[measured][0], targets_of[measured]
        order = torch.arange(len(targets))
        if mode == "resample":
            order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(seed))
            encoded = {key: torch.as_tensor(value)[order] for key, value in encoded.items()}
        whole, removed = network.removals(encoded, kept, lambda layer, head: _replacement(
            mode, means[layer - 1], network.stack.blocks[layer - 1].heads, head))
    return _changes(fitted, whole, removed, targets[order], kept, network.stack,
                    {"mode": mode, "probe": probe, "penalty": fitted.penalty,
                     "set": measured})


def gradient_sensitivity(model, encoded: Mapping[str, Any], labels, *,
                         layers: Sequence[int] | None = None, probe: str = "ridge",
                         penalty: float | None = None, readout: str = "first_token",
                         classes: int | None = None, batch_size: int = 16) -> HeadTable:
    """As headway.gradient_sensitivity: I_h = mean over examples of |d loss / d m_h| at m = 1."""
    network = _Network(model, readout, batch_size)
    kept = network.kept(layers)
    targets = _labels({"train": (encoded, labels)}, classes)["train"]
    with evaluating(model, batch_size, torch_attention=False):
        fitted = fit_probe(probe, network.embeddings(encoded)[0], targets, penalty)
        with torch.enable_grad():
            gradients = network.gradients(encoded, targets, fitted, kept)  # [P, heads of kept layers]
    sensitivity = gradients.abs()
    mean, layer_of = sensitivity.mean(0).numpy(), _rows(network.stack, kept)[0]
    norms = {layer: np.sqrt(np.square(mean[np.array(layer_of) == layer]).sum()) for layer in kept}
    return head_table(*_rows(network.stack, kept), {
        "sensitivity": mean, "sensitivity_error": _error(sensitivity),
        "sensitivity_in_layer": mean / np.array([norms[layer] for layer in layer_of])},
        probe=probe, penalty=fitted.penalty, examples=len(targets))


def head_baselines(model, encoded: Mapping[str, Any], *, layers: Sequence[int] | None = None,
                   batch_size: int = 16) -> HeadTable:
    """As headway.head_baselines."""
    stack = stack_of(model)
    kept = _kept(stack, layers)
    weights = [torch.linalg.matrix_norm(block.output_weights @ block.value_weights)
               for block in (stack.blocks[layer - 1] for layer in kept)]
    entropies, count = 0.0, 0.0
    with evaluating(model, batch_size, torch_attention=False):
        for answer in hugging_face_answers(model, encoded, batch_size, "encoded"):
            attention = [answer.attentions[layer - 1].double() for layer in kept]
            real = torch.ones(attention[0].shape[0], attention[0].shape[2], dtype=torch.float64)
            if answer.mask is not None:
                real = (answer.mask != 0).double().cpu()
            entropies = entropies + torch.cat(
                [(torch.special.entr(array).sum(-1).cpu() * real[:, None]).sum((0, 2))
                 for array in attention])
            count += float(real.sum())
    return head_table(*_rows(stack, kept), {"weight_norm": torch.cat(weights).cpu().numpy(),
                                            "attention_entropy": (entropies / count).numpy()})


# ---- the network


@dataclass
class _Call:
    """One call of a block, which can be repeated with another stream."""

    module: torch.nn.Module
    arguments: tuple
    named: dict[str, Any]

    def again(self, stream: Tensor) -> Tensor:
        if self.arguments:
            said = self.module(stream, *self.arguments[1:], **self.named)
        else:
            name, _ = first_argument(self.module, self.arguments, self.named)
            said = self.module(**self.named | {name: stream})
        return said[0] if isinstance(said, tuple) else said

    @property
    def stream(self) -> Tensor:
        return first_argument(self.module, self.arguments, self.named)[1]


class _Network:
    """A Hugging Face model that can be run again from any block up."""

    def __init__(self, model: Any, readout: str, batch_size: int):
        readouts = ("first_token", "last_token", "mean")
        if readout not in readouts:
            raise UsageError(f"readout: is {readout!r}; allowed: {', '.join(readouts)}")
        self.model, self.readout, self.batch_size = model, readout, batch_size
        self.stack = stack_of(model)
        takes = inspect.signature(model.forward).parameters
        self.options = {"use_cache": False} if "use_cache" in takes else {}

    def kept(self, layers: Sequence[int] | None) -> list[int]:
        return _kept(self.stack, layers)

    def _batches(self, encoded: Mapping[str, Any]) -> Iterator[tuple[list[_Call], Tensor, Any]]:
        """The calls of all blocks, what the network says of every token, and the mask."""
        device, count = device_of(self.model), examples_in(encoded)
        bounds = [*range(0, count, self.batch_size), count]
        if bounds[-1] - bounds[-2] == 1 < bounds[-2]:  # one example has no other to take from
            del bounds[-2]
        for begin, end in zip(bounds, bounds[1:]):
            batch = {key: part_of(value, begin, end - begin, device)
                     for key, value in encoded.items()}
            calls: list[_Call] = []
            said: list[Tensor] = []
            blocks = list({id(block.module): block.module for block in self.stack.blocks}.values())
            hook = self.stack.last.register_forward_hook(
                lambda module, arguments, output: said.append(
                    output[0] if isinstance(output, tuple) else output))
            try:
                with calls_noted(blocks, lambda module, arguments, named: calls.append(
                        _Call(module, arguments, named))):
                    self.model(**batch, **self.options)
            finally:
                hook.remove()
            if len(calls) != len(self.stack.blocks):
                raise UsageError(f"model: calls {len(calls)} blocks; allowed: each of its {len(self.stack.blocks)} once")
            yield calls, said[-1], batch.get("attention_mask")

    def _pooled(self, answer: Tensor, mask: Any) -> Tensor:
        weights = readout_weights(self.readout, mask, answer.shape[:2])
        return torch.einsum("bs,bsn->bn", weights, answer.cpu().double())

    def embeddings(self, encoded: Mapping[str, Any]) -> tuple[Tensor, list[Tensor]]:
        """[P, N], and the mean over real tokens of what enters each block's output projection."""
        pooled, sums, count = [], [0.0] * len(self.stack.blocks), 0.0
        seen: list[Tensor] = []

        def note(position: int, mixed: Tensor) -> Tensor:
            seen.append(mixed.detach())
            return mixed
        with _at_projections(self.stack.blocks, note):
            for _, answer, mask in self._batches(encoded):
                pooled.append(self._pooled(answer, mask).detach())
                real = torch.ones(answer.shape[:2]) if mask is None else (mask != 0)
                real = real.to(answer.device, torch.float64)
                sums = [total + torch.einsum("bs,bsn->n", real, mixed.double())
                        for total, mixed in zip(sums, seen)]
                count += float(real.sum())
                seen.clear()
        return torch.cat(pooled), [total / count for total in sums]

    def removals(self, encoded: Mapping[str, Any], kept: Sequence[int],
                 replacement: Callable[[int, int], Callable[[Tensor], Tensor]]
                 ) -> tuple[Tensor, Tensor]:
        """Embeddings [P, N] of the whole network, and without each head of the kept layers [heads, P, N]."""
        heads = list(zip(*_rows(self.stack, kept)))
        whole, removed = [], [[] for _ in heads]
        for calls, answer, mask in self._batches(encoded):
            again = self._from(calls, len(calls), None)
            gap = float((again - answer).norm() / answer.norm())
            if not gap < LARGEST_GAP:
                raise UsageError(f"model: its last block run again gives another answer, by {gap:.2g} "
                                 f"of it: must be below {LARGEST_GAP:g}")
            whole.append(self._pooled(answer, mask))
            for rows, (layer, head) in zip(removed, heads):
                rows.append(self._pooled(self._from(calls, layer, replacement(layer, head)), mask))
        return torch.cat(whole), torch.stack([torch.cat(rows) for rows in removed])

    def _from(self, calls: Sequence[_Call], layer: int,
              replace: Callable[[Tensor], Tensor] | None) -> Tensor:
        """What the network says when it is run again from this layer up, with `replace` in it."""
        first, *rest = calls[layer - 1:]
        if replace is None:
            stream = first.again(first.stream)
        else:
            with _at_projections([self.stack.blocks[layer - 1]], lambda _, mixed: replace(mixed)):
                stream = first.again(first.stream)
        for call in rest:
            stream = call.again(stream)
        return stream if self.stack.last_norm is None else self.stack.last(stream)

    def gradients(self, encoded: Mapping[str, Any], targets: Tensor, probe: Probe,
                  kept: Sequence[int]) -> Tensor:
        """d loss / d m of every example, [P, heads of the kept layers]."""
        found, begin, masks = [], 0, {}

        def weigh(position: int, mixed: Tensor) -> Tensor:
            if position + 1 not in kept:
                return mixed
            block = self.stack.blocks[position]
            masks[position + 1] = mask = torch.ones(
                len(mixed), block.heads, dtype=mixed.dtype, device=mixed.device, requires_grad=True)
            by_head = mixed.reshape(*mixed.shape[:2], block.heads, -1)
            return (by_head * mask[:, None, :, None]).reshape(mixed.shape)
        with _at_projections(self.stack.blocks, weigh):
            for _, answer, mask in self._batches(encoded):
                labels = targets[begin:begin + len(answer)]
                loss = probe.losses(self._pooled(answer, mask), labels).sum()
                found.append(torch.cat([g.cpu().double() for g in torch.autograd.grad(
                    loss, [masks[layer] for layer in kept])], 1))
                begin += len(answer)
        return torch.cat(found)


@contextmanager
def _at_projections(blocks: Sequence[Block], change: Callable[[int, Tensor], Tensor]) -> Iterator[None]:
    """`change(position, mixed)` in place of what enters the output projection of each block, [b, S, H
    d]. Blocks that share a projection are told apart by the order of their calls."""
    calls = {id(block.projection): 0 for block in blocks}

    def hook(module: Any, arguments: tuple) -> tuple:
        places = [i for i, block in enumerate(blocks) if block.projection is module]
        position = places[calls[id(module)] % len(places)]
        calls[id(module)] += 1
        if arguments[0].shape[-1] != blocks[position].output.weight.shape[1]:
            raise UsageError("model: its heads are not side by side before their output projection; allowed: models like BERT, GPT-2 or Llama")
        return (change(position, arguments[0]), *arguments[1:])
    hooks = [module.register_forward_pre_hook(hook)
             for module in {id(b.projection): b.projection for b in blocks}.values()]
    try:
        yield
    finally:
        for handle in hooks:
            handle.remove()


def _replacement(mode: str, mean: Tensor, heads: int, head: int) -> Callable[[Tensor], Tensor]:
    def replace(mixed: Tensor) -> Tensor:
        size = mixed.shape[-1] // heads
        part = slice((head - 1) * size, head * size)
        changed = mixed.clone()
        if mode == "resample":
            if len(mixed) < 2:
                raise UsageError("mode: is 'resample' with a batch of one example; allowed: from two")
            changed[..., part] = mixed.roll(1, 0)[..., part]
        else:
            changed[..., part] = 0.0 if mode == "zero" else mean[part].to(mixed)
        return changed
    return replace


# ---- tables


def _kept(stack: Stack, layers: Sequence[int] | None) -> list[int]:
    count = len(stack.blocks)
    kept = checked_layers(layers, lambda: count) or list(range(1, count + 1))
    if kept[-1] > count:
        raise UsageError(f"layers: holds {kept[-1]}; the model has {count} layers; allowed: 1 to {count}")
    return kept


def _rows(stack: Stack, kept: Sequence[int]) -> tuple[list[int], list[int]]:
    """Layer and head of every row."""
    counts = [stack.blocks[layer - 1].heads for layer in kept]
    return ([layer for layer, count in zip(kept, counts) for _ in range(count)],
            [head for count in counts for head in range(1, count + 1)])


def _labels(sets: Mapping[str, tuple[Mapping[str, Any], Any]], classes: int | None) -> dict[str, Tensor]:
    """The labels of each set, [P, C]; a set is what the tokenizer says and its labels."""
    sources = {name: Source(lambda: iter(()), examples_in(encoded), {"labels": labels})
               for name, (encoded, labels) in sets.items()}
    found = {name: torch.as_tensor(array, dtype=torch.float64)
             for name, array in checked_labels(sources, checked_classes(classes)).items()}
    return {name: array[:, None] if array.ndim == 1 else array for name, array in found.items()}


def _error(values: Tensor) -> np.ndarray:
    """Standard errors of the means over the first index."""
    return (values.std(0) / len(values) ** 0.5).numpy()


def _changes(probe: Probe, whole: Tensor, removed: Tensor, targets: Tensor, kept: Sequence[int],
             stack: Stack, attributes: Mapping[str, Any]) -> HeadTable:
    loss, right = probe.losses(whole, targets), probe.right(whole, targets)
    change = torch.stack([probe.losses(x, targets) - loss for x in removed], 1)
    lost = torch.full_like(change, torch.nan)
    if right is not None:
        lost = torch.stack([probe.right(x, targets) - right for x in removed], 1)
    return head_table(*_rows(stack, kept), {
        "loss_change": change.mean(0).numpy(), "loss_change_error": _error(change),
        "accuracy_change": lost.mean(0).numpy(), "accuracy_change_error": _error(lost)},
        loss=float(loss.mean()), accuracy=float("nan") if right is None else float(right.mean()),
        examples=len(targets), **attributes)
