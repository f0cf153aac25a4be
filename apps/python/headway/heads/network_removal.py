"""A pretrained network that can be run again from any block up, with heads replaced before their output projection."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from headway.base.labels import checked_classes
from headway.base.tensors import as_numpy
from headway.errors import BadDataError, UsageError
from headway.heads.model_locks import of_this_thread
from headway.heads.network_arguments import checked_encoded, checked_layers
from headway.heads.network_batches import calls_noted, device_of, examples_in, first_argument, outside_inference_mode, part_of
from headway.heads.network_blocks import Stack, stack_of_transformers
from headway.heads.network_contributions import LARGEST_GAP, readout_weights, real_of, real_only
from headway.heads.network_tokens import placed
from headway.heads.network_writer import Source, checked_labels
from headway.heads.probes import Probe
from headway.heads.projections import Projection, Said, at_projections
from headway.heads.ranking.label_checks import label_faults, token_faults

EXAMPLES = 4  # that checks look at

Tensor = torch.Tensor


@dataclass
class Call:
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
        return said[0] if isinstance(said, (tuple, list)) else said

    @property
    def stream(self) -> Tensor:
        return first_argument(self.module, self.arguments, self.named)[1]

    def without_stream(self) -> Call:
        """The same call, which holds no stream of its own: for `again`."""
        if self.arguments:
            return Call(self.module, (None, *self.arguments[1:]), self.named)
        name, _ = first_argument(self.module, self.arguments, self.named)
        return Call(self.module, (), self.named | {name: None})


@dataclass
class Started:
    """A batch that has run up to a block: its stream, the calls from there up, its embeddings [b, N], and its mask."""

    stream: Tensor
    calls: list[Call]
    whole: Tensor
    mask: Any


class Network:
    """A Hugging Face model that can be run again from any block up.

    grouped: where several queries share a key and a value, they are one head, that of the key and the value. readout: None until
    headway.readout_choice has chosen one.
    """

    names: list[str] | None = None  # of the layers, where they have any
    modules: list[Any] = []  # those of the layers, as headway.remove_heads takes them, where they have names
    reads_tokens = True  # its answer has a row for each token

    def __init__(self, model: Any, readout: str | None, batch_size: int, grouped: bool = False):
        self.model, self.readout, self.batch_size = model, readout, batch_size
        self.stack = stack_of_transformers(model)
        self.projections = projections_of(self.stack)
        self.heads = [block.value_heads if grouped else block.heads for block in self.stack.blocks]
        takes = inspect.signature(model.forward).parameters
        self.options = {"use_cache": False} if "use_cache" in takes else {}
        self.mask: Any = None  # of the batch that runs, 1 for a real token

    def examples(self, name: str, encoded: Any, mask: Any = None) -> Any:
        """The examples as the network takes them; `name` is what a message calls them."""
        if mask is not None:
            raise UsageError(f"mask: is given, and {type(self.model).__name__} has its own among its inputs; allowed: attention_mask in {name}")
        return encoded

    def placed(self, name: str, encoded: Mapping[str, Any]) -> Mapping[str, Any]:
        """The examples with the positions of their real tokens, where padding would move these."""
        return placed(self.model, name, encoded)

    def at_real(self, layer: int, array: Tensor, mask: Any) -> Tensor:
        """What enters or leaves the projection of a layer at real tokens, [n, ..]; without a mask all as it is."""
        return array if mask is None else array[torch.as_tensor(mask).to(array.device) != 0]

    def start(self, encoded: Mapping[str, Any]) -> None:
        """Looks at what has to be known of the model before its layers are counted: here nothing."""

    def kept(self, layers: Sequence[int] | None) -> list[int]:
        return kept_layers(len(self.heads), layers)

    def cost(self, kept: Sequence[int], modes: int) -> float:
        """The cost of removal in one of so many modes, in forward passes over all examples: one for the embeddings of the whole network; one
        up to each layer with ranked heads, which the modes share; and for each head the layers from its own up."""
        blocks = len(self.heads)
        return 1.0 + len(kept) / modes + sum(self.heads[layer - 1] * (blocks - layer + 1) / blocks for layer in kept)

    def rows(self, kept: Sequence[int]) -> tuple[list[int], list[int]]:
        """Layer and head of every row of a table."""
        return rows_of(self.heads, kept)

    def row_names(self, kept: Sequence[int]) -> list[str] | None:
        """Names of the heads of these layers, where the layers have any."""
        return None if self.names is None else [f"{self.names[layer - 1]} H{head}" for layer, head in zip(*self.rows(kept))]

    @property
    def used_readout(self) -> str:
        """What the embedding is taken from: "answer" where the network answers for the example, and not for its tokens."""
        return self.readout if self.reads_tokens else "answer"

    def batches(self, encoded: Mapping[str, Any]) -> Iterator[tuple[list[Call], Tensor, Any]]:
        """The calls of all blocks, what the network says of every token, and the mask."""
        for batch in self.parts(encoded):
            self.mask = batch.get("attention_mask")
            calls: list[Call] = []
            said: list[Tensor] = []
            blocks = list({id(block.module): block.module for block in self.stack.blocks}.values())
            hook = self.stack.last.register_forward_hook(of_this_thread(
                lambda module, arguments, output: said.append(
                    output[0] if isinstance(output, (tuple, list)) else output)))
            try:
                with calls_noted(blocks, lambda module, arguments, named: calls.append(
                        Call(module, arguments, named))):
                    self.model(**batch, **self.options)
            finally:
                hook.remove()
            if len(calls) != len(self.stack.blocks):
                raise UsageError(f"model: calls {len(calls)} blocks; allowed: each of its {len(self.stack.blocks)} once")
            yield calls, said[-1], batch.get("attention_mask")

    def parts(self, encoded: Mapping[str, Any], size: int | None = None) -> Iterator[dict[str, Any]]:
        """The examples of one batch after the other, of `size` where it is given."""
        device, count = device_of(self.model), examples_in(encoded)
        bounds = [*range(0, count, size or self.batch_size), count]
        if bounds[-1] - bounds[-2] == 1 < bounds[-2]:  # one example has no other to take from
            del bounds[-2]
        for begin, end in zip(bounds, bounds[1:]):
            yield {key: part_of(value, begin, end - begin, device) for key, value in encoded.items()}

    def pooled(self, answer: Tensor, mask: Any) -> Tensor:
        weights = readout_weights(self.readout, mask, answer.shape[:2])
        return torch.einsum("bs,bsn->bn", weights, real_only(answer.cpu().double(), mask))

    def embeddings(self, encoded: Mapping[str, Any]) -> tuple[Tensor, list[Tensor]]:
        """[P, N], and the mean over real tokens of what enters each block's output projection."""
        pooled, sums, count = [], [0.0] * len(self.stack.blocks), 0.0
        seen: list[Tensor] = []

        def note(position: int, mixed: Tensor) -> Tensor:
            seen.append(mixed.detach())
            return mixed
        with at_projections(self.projections, note):
            for _, answer, mask in self.batches(encoded):
                pooled.append(self.pooled(answer, mask).detach())
                real = torch.ones(answer.shape[:2]) if mask is None else (mask != 0)
                real = real.to(answer.device, torch.float64)
                sums = [total + torch.einsum("bs,bsn->n", real, real_only(mixed.double(), mask))
                        for total, mixed in zip(sums, seen)]
                count += float(real.sum())
                seen.clear()
        return torch.cat(pooled), [total / count for total in sums]

    def removals(self, encoded: Mapping[str, Any], kept: Sequence[int],
                 replacement: Callable[[int, int], Callable[[Tensor], Tensor]]
                 ) -> tuple[Tensor, Tensor]:
        """Embeddings [P, N] of the whole network, and without each head of the kept layers [heads, P, N]."""
        heads = list(zip(*self.rows(kept)))
        whole, removed = [], [[] for _ in heads]
        for calls, answer, mask in self.batches(encoded):
            self._check_again(calls, answer, mask)
            whole.append(self.pooled(answer, mask))
            for rows, (layer, head) in zip(removed, heads):
                rows.append(self.pooled(self.run_from(calls, layer, replacement(layer, head)), mask))
        return torch.cat(whole), torch.stack([torch.cat(rows) for rows in removed])

    def _check_again(self, calls: Sequence[Call], answer: Tensor, mask: Any) -> None:
        again, answer = (real_only(said, mask) for said in (self.run_from(calls, len(calls), None), answer))
        gap = float((again - answer).norm() / answer.norm())
        if not gap < LARGEST_GAP:
            raise UsageError(f"model: its last block run again gives another answer, by {gap:.2g} "
                             f"of it: must be below {LARGEST_GAP:g}")

    def started(self, encoded: Mapping[str, Any], layer: int) -> list[Started]:
        """All batches, run up to this layer once, so that each removal costs the layers from there up."""
        found = []
        for calls, answer, mask in self.batches(encoded):
            if not found:
                self._check_again(calls, answer, mask)
            found.append(Started(calls[layer - 1].stream, [call.without_stream() for call in calls[layer - 1:]],
                                 self.pooled(answer, mask), mask))
        return found

    def embeddings_from(self, batches: Sequence[Started], changes: Mapping[int, Callable[[Tensor], Tensor]]) -> Tensor:
        """[P, N], with the output of layer l, before its output projection, put through changes[l].

        The batches have run up to the lowest layer that is changed, or to one below it.
        """
        return torch.cat([self.pooled(self._finished(batch, changes), batch.mask) for batch in batches])

    def _finished(self, batch: Started, changes: Mapping[int, Callable[[Tensor], Tensor]]) -> Tensor:
        stream, lowest = batch.stream, len(self.stack.blocks) - len(batch.calls) + 1
        for layer, call in enumerate(batch.calls, lowest):
            with self._changed(layer, changes.get(layer)):
                stream = call.again(stream)
        return stream if self.stack.last_norm is None else self.stack.last(stream)

    def _changed(self, layer: int, change: Callable[[Tensor], Tensor] | None):
        return (nullcontext() if change is None
                else at_projections([self._projection(layer)], lambda _, mixed: change(mixed)))

    def _projection(self, layer: int) -> Projection:
        """That of a layer where no lower layer runs: at every call."""
        return replace(self.projections[layer - 1], call=None)

    def watched(self, batch: Started, layer: int, change: Callable[[Tensor], Tensor] | None, said: Said) -> Tensor:
        """Embeddings [b, N] of a batch that has run up to this layer. `said` sees what enters and leaves its projection, as
        at_projections() has it."""
        calls: list[int] = []

        def first(position: int, mixed: Tensor, output: Tensor) -> Tensor | None:
            calls.append(position)
            return said(position, mixed, output) if len(calls) == 1 else None  # layers above may share the projection
        with at_projections([self._projection(layer)], said=first):
            return self.embeddings_from([batch], {} if change is None else {layer: change})

    def gap_if_later_tokens_change(self, encoded: Mapping[str, Any]) -> float:
        """How much the network's answer at the first real token changes with all later ones, relative to it."""
        calls, answer, mask = next(self.batches(longest(encoded, "attention_mask")))
        first = readout_weights("first_token", mask, answer.shape[:2])
        later = (first.cumsum(1) - first)[:, :, None].to(calls[0].stream) != 0
        if mask is not None:
            later &= (mask != 0)[:, :, None].to(later.device)
        changed = torch.where(later, calls[0].stream.flip(-1), calls[0].stream)
        again = self._finished(Started(changed, calls, answer, mask), {})
        at_first = (first != 0).to(answer.device)
        one, other = answer[at_first].double(), again[at_first].double()
        return float((one - other).abs().max() / one.abs().max())

    def run_from(self, calls: Sequence[Call], layer: int,
                 replace: Callable[[Tensor], Tensor] | None) -> Tensor:
        """What the network says when it is run again from this layer up, with `replace` in it."""
        first, *rest = calls[layer - 1:]
        with self._changed(layer, replace):
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
            heads = self.heads[position]
            masks[position + 1] = mask = torch.ones(
                len(mixed), heads, dtype=mixed.dtype, device=mixed.device, requires_grad=True)
            return weighed(mixed, mask, self.mask)
        with at_projections(self.projections, weigh):
            for _, answer, mask in self.batches(encoded):
                labels = targets[begin:begin + len(answer)]
                loss = probe.losses(self.pooled(answer, mask), labels).sum()
                found.append(torch.cat([g.cpu().double() for g in torch.autograd.grad(
                    loss, [masks[layer] for layer in kept])], 1))
                begin += len(answer)
        return torch.cat(found)


def weighed(mixed: Tensor, factors: Tensor, mask: Any) -> Tensor:
    """What enters a projection, [b, S, H d], with each head's output at real tokens times its factor, [b, H]."""
    by_head = mixed.reshape(*mixed.shape[:2], factors.shape[1], -1)
    found = real_only(by_head, mask) * factors[:, None, :, None]
    if mask is not None:  # whose numbers may be none: nothing of it may reach a gradient
        found = torch.where(real_of(by_head, mask), found, by_head)
    return found.reshape(mixed.shape)


class NoGradientError(UsageError):
    """The answer of a model does not depend on its heads as far as automatic differentiation sees."""


def gradients_of(network: Network, encoded: Mapping[str, Any], targets: Tensor, probe: Probe, kept: Sequence[int]) -> Tensor:
    """As network.gradients(), all of them finite. Errors: UsageError for a model without gradients, BadDataError where one is not a number."""
    if any(parameter.is_inference() for parameter in network.model.parameters()):
        raise NoGradientError("model: was made within torch.inference_mode(), so nothing in it has a gradient; allowed: a model made outside")
    try:
        with torch.enable_grad():
            found = network.gradients(encoded, targets, probe, kept)
    except RuntimeError as error:
        if not any(said in str(error) for said in ("does not require grad", "not have been used in the graph")):
            raise
        raise NoGradientError("model: no gradient reaches its heads; allowed: a model without torch.no_grad, torch.inference_mode or detach "
                              "between heads and answer") from None
    if not bool(found.isfinite().all()):
        raise BadDataError(f"model: the gradient at example {int((~found.isfinite()).nonzero()[0, 0])} is not finite; allowed: a model whose "
                           "every token attends to some token, padding too")
    return found


def longest(encoded: Mapping[str, Any], mask: str) -> dict[str, Any]:
    """The examples of most real tokens, as many as checks look at."""
    given = {key: torch.as_tensor(value) for key, value in encoded.items()}
    chosen = slice(EXAMPLES) if mask not in given else (given[mask] != 0).sum(1).argsort(descending=True, stable=True)[:EXAMPLES]
    return {key: value[chosen] for key, value in given.items()}


def projections_of(stack: Stack) -> list[Projection]:
    """The output projections of all blocks. Blocks that share one are told apart by the order of their calls."""
    modules = [block.projection for block in stack.blocks]
    return [Projection("", module, block.heads, sum(one is module for one in modules[:layer]), sum(one is module for one in modules))
            for layer, (block, module) in enumerate(zip(stack.blocks, modules))]


def replacement_of(mode: str, mean: Tensor, heads: int, *gone: int) -> Callable[[Tensor], Tensor]:
    """What puts the outputs of the heads `gone` of a layer of so many heads at zero or at `mean`."""
    def replace(mixed: Tensor) -> Tensor:
        size, changed = mixed.shape[-1] // heads, mixed.clone()
        for head in gone:
            part = slice((head - 1) * size, head * size)
            changed[..., part] = 0.0 if mode == "zero" else mean[part].to(mixed)
        return changed
    return replace


def resampled(heads: int, head: int, mask: Any) -> Callable[[Tensor], Tensor]:
    """What puts the output of a head, of so many in its layer, at that of the example before it in the batch.

    Real tokens go by their number among the real tokens of their example, wherever its padding stands. Where the other
    example has fewer, its tokens come again from the first. Padding keeps its own output.
    """
    def replace(mixed: Tensor) -> Tensor:
        if len(mixed) < 2:
            raise UsageError("mode: is 'resample' with a batch of one example; allowed: from two")
        real = torch.ones(mixed.shape[:2], dtype=torch.bool) if mask is None else torch.as_tensor(mask).cpu() != 0
        size, changed = mixed.shape[-1] // heads, mixed.clone()
        part = slice((head - 1) * size, head * size)
        places = [row.nonzero()[:, 0] for row in real]
        for example, own in enumerate(places):
            other = places[example - 1]
            taken = other[torch.arange(len(own)) % len(other)].to(mixed.device)
            changed[example, own.to(mixed.device), part] = mixed[example - 1, taken, part]
        return changed
    return replace


# ---- arguments


def kept_layers(count: int, layers: Sequence[int] | None) -> list[int]:
    kept = checked_layers(layers, lambda: count) or list(range(1, count + 1))
    if kept[-1] > count:
        raise UsageError(f"layers: holds {kept[-1]}; the model has {count} layers; allowed: 1 to {count}")
    return kept


def rows_of(heads: Sequence[int], kept: Sequence[int]) -> tuple[list[int], list[int]]:
    """Layer and head of every row; `heads`: of every layer of the model."""
    counts = [heads[layer - 1] for layer in kept]
    return ([layer for layer, count in zip(kept, counts) for _ in range(count)],
            [head for count in counts for head in range(1, count + 1)])


def targets_of(model: Any, sets: Mapping[str, tuple[Mapping[str, Any], Any]], classes: int | None,
               inputs: str = "encoded") -> dict[str, Tensor]:
    """The labels of each set, [P, C]; a set is what the tokenizer says, which a message calls `inputs`, and its labels.

    Errors: BadDataError for bad masks and labels, and for labels of the set "train" that no readout can be fitted to.
    """
    sources = {name: Source(lambda: iter(()), checked_encoded(model, f"{name}: {inputs}", encoded), {"labels": labels},
                            inputs) for name, (encoded, labels) in sets.items()}
    with outside_inference_mode():
        found = {name: torch.as_tensor(array, dtype=torch.float64)
                 for name, array in checked_labels(sources, checked_classes(classes)).items()}
    targets = {name: array[:, None] if array.ndim == 1 else array for name, array in found.items()}
    whole = as_numpy("labels", sets["train"][1]).dtype.kind in "iu"
    faults = label_faults(targets["train"].numpy()) + (token_faults(targets["train"].numpy()) if whole and classes is None else [])
    if faults:
        raise BadDataError(faults)
    return targets
