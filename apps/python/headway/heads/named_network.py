"""Any PyTorch model whose heads are named by the modules that project them. Needs PyTorch.

Nothing else is known of the model, so each removal runs all of it again.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from headway.errors import BadDataError, UsageError
from headway.heads.network_arguments import checked_inputs
from headway.heads.network_batches import device_of, examples_in, members_of, part_of, types_explained
from headway.heads.network_contributions import readout_weights
from headway.heads.network_masks import checked_mask
from headway.heads.network_removal import EXAMPLES, Network, longest, weighed
from headway.heads.network_tokens import placed
from headway.heads.probes import Probe
from headway.heads.projections import Projection, Said, at_projections, require_divisor

MASK = "mask of the examples"  # the key of a mask that the model does not get
GAPS = {torch.float64: 1e-9, torch.float32: 1e-3}  # of an example alone from itself in a batch; the last for lower precisions
LOOSEST_GAP = 0.05

Tensor = torch.Tensor


@dataclass
class Batch:
    """Some examples as the model takes them, and their mask."""

    given: dict[str, Any]
    mask: Any


@dataclass(frozen=True)
class Layout:
    """Which index of what enters a projection is the example: the first, perhaps with several rows for each example, or the second."""

    second: bool

    def by_example(self, mixed: Tensor, count: int) -> Tensor:
        """[b, T, H d]."""
        return (mixed.transpose(0, 1) if self.second else mixed).reshape(count, -1, mixed.shape[-1])

    def back(self, changed: Tensor, mixed: Tensor) -> Tensor:
        """The shape that the model knows."""
        if self.second:
            return changed.reshape(mixed.transpose(0, 1).shape).transpose(0, 1)
        return changed.reshape(mixed.shape)


class NamedNetwork(Network):
    """A PyTorch model and the modules that project its heads.

    A layer is a module, or with shared="each" one call of it in a pass; layers go in the order of the calls. `start` must run first.
    """

    def __init__(self, model: Any, named: Sequence[Projection], readout: str | None, batch_size: int, shared: str):
        self.model, self.readout, self.batch_size = model, readout, batch_size
        self.stack, self.projections, self.heads, self.shared = None, list(named), [place.heads for place in named], shared
        takes = inspect.signature(model.forward).parameters
        self.options = {"use_cache": False} if "use_cache" in takes else {}
        if "output_hidden_states" in takes or hasattr(model, "config") and any(one.kind is one.VAR_KEYWORD for one in takes.values()):
            self.options["output_hidden_states"] = True
        self.reads_tokens, self._layouts = True, {}
        self.own_loss = False  # asked for alone: then the model may answer with anything that is of each example
        self.mask: Any = None

    # ---- the model

    def examples(self, name: str, encoded: Any, mask: Any = None) -> dict[str, Any]:
        """The inputs under their names, or under "0", "1", ... by position, with the mask of real tokens if there is one."""
        count = checked_inputs(name, encoded)
        found = dict(encoded) if isinstance(encoded, Mapping) else {str(i): value for i, value in enumerate(members_of(encoded))}
        if mask is None:
            mask = _own_mask(found)
        if mask is not None:
            found[MASK] = torch.as_tensor(checked_mask(f"{name}: mask", mask, count))
        return found

    def placed(self, name: str, encoded: Mapping[str, Any]) -> Mapping[str, Any]:
        if not hasattr(self.model, "config") or "0" in encoded:
            return encoded
        own = {key: value for key, value in encoded.items() if key != MASK}
        return dict(encoded) | dict(placed(self.model, name, own))

    def at_real(self, layer: int, array: Tensor, mask: Any) -> Tensor:
        if mask is None:
            return array
        return super().at_real(layer, self._layouts[layer - 1].by_example(array, len(mask)), mask)

    def _asked(self, batch: Batch) -> Any:
        """What the model returns."""
        with types_explained(self.model, batch.given):
            if "0" in batch.given:
                return self.model(*batch.given.values(), **self.options)
            return self.model(**batch.given, **self.options)

    def _said(self, batch: Batch) -> Tensor:
        """[b, S, N] or [b, N]."""
        said, count = self._asked(batch), len(next(iter(batch.given.values())))
        answer = answer_of(said)
        if self.own_loss and (answer is None or answer.ndim not in (2, 3) or len(answer) != count):
            answer = _numbers_of(said, count)
        if answer is None or answer.ndim not in (2, 3) or len(answer) != count:
            shape = "nothing that is a tensor" if answer is None else f"a tensor of shape {list(answer.shape)} for {count} examples"
            raise UsageError(f"model: {type(self.model).__name__} answers with {shape}; allowed: [examples, tokens, N] or [examples, N]")
        if answer.ndim == 3 and batch.mask is not None and batch.mask.shape[1] != answer.shape[1]:
            raise BadDataError(f"mask: has {batch.mask.shape[1]} tokens, and the model answers for {answer.shape[1]}; allowed: as many")
        return answer

    def _batches(self, encoded: Mapping[str, Any], size: int | None = None) -> Iterator[Batch]:
        for part in self.parts(encoded, size):
            mask = part.pop(MASK, None)
            self.mask = None if mask is None or bool((mask != 0).all()) else mask
            yield Batch(part, self.mask)

    def pooled(self, answer: Tensor, mask: Any) -> Tensor:
        return super().pooled(answer, mask) if answer.ndim == 3 else answer.cpu().double()

    # ---- what is called

    def start(self, encoded: Mapping[str, Any]) -> None:
        """Finds the calls of the named modules in a pass, and which index of what enters them is the example."""
        named = [replace(place, call=None) for place in self.projections]
        few = {key: torch.as_tensor(value)[:EXAMPLES - 1] for key, value in encoded.items()}
        several, answer = self._entered(named, few)
        one, _ = self._entered(named, {key: value[:1] for key, value in few.items()})
        self.reads_tokens = answer.ndim == 3
        for position, place in enumerate(named):
            if position not in [at for at, _ in several]:
                raise UsageError(f"heads: {place.name!r} is never called with heads; allowed: a module that the model calls, or hands to "
                                 "torch.nn.MultiheadAttention")
        if [at for at, _ in several] != [at for at, _ in one]:
            raise UsageError("model: calls other modules for one example than for several; allowed: a model that takes examples alike")
        self._take_calls(named, several, one, len(answer))

    def _entered(self, named: Sequence[Projection], few: Mapping[str, Any]) -> tuple[list[tuple[int, Tensor]], Tensor]:
        """What enters them in one pass, whatever the size of a batch, and what the model says."""
        calls: list[tuple[int, Tensor]] = []

        def note(position: int, mixed: Tensor) -> Tensor:
            require_divisor(named[position], mixed.shape[-1])
            calls.append((position, mixed.detach()))
            return mixed
        (batch,) = self._batches(few, examples_in(few))
        with at_projections(named, note):
            return calls, self._said(batch)

    def _take_calls(self, named: Sequence[Projection], several: Sequence[tuple[int, Tensor]], one: Sequence[tuple[int, Tensor]],
                    count: int) -> None:
        order = [at for at, _ in several]
        found: list[Projection] = []
        self._layouts = {}
        for number, (at, mixed) in enumerate(several):
            first = order.index(at) == number
            if self.shared == "all" and not first:
                continue
            layout = _layout(named[at].name, mixed, one[number][1], count)
            self._layouts[len(found)] = layout
            found.append(named[at] if self.shared == "all" else replace(
                named[at], call=order[:number].count(at), calls=order.count(at)))
        self.projections, self.heads = found, [place.heads for place in found]
        self.modules = [place.name if place.calls == 1 or place.call is None else (place.name, place.call) for place in found]
        self.names = [place.name if place.calls == 1 else f"{place.name} call {place.call + 1}"
                      for place in found]

    def _hooked(self, changes: Mapping[int, Callable[[Tensor], Tensor]], count: int, said: Said | None = None):
        """changes: by layer, of [b, T, H d]."""
        if not changes and said is None:
            return nullcontext()

        def change(position: int, mixed: Tensor) -> Tensor:
            if position + 1 not in changes:
                return mixed
            layout = self._layouts[position]
            return layout.back(changes[position + 1](layout.by_example(mixed, count)), mixed)
        return at_projections(self.projections, change if changes else None, said)

    def _run(self, batch: Batch, changes: Mapping[int, Callable[[Tensor], Tensor]]) -> Tensor:
        """Embeddings [b, N]."""
        with self._hooked(changes, len(next(iter(batch.given.values())))):
            return self.pooled(self._said(batch), batch.mask)

    # ---- what is measured

    def cost(self, kept: Sequence[int], modes: int) -> float:
        return 1.0 + sum(self.heads[layer - 1] for layer in kept)

    def embeddings(self, encoded: Mapping[str, Any]) -> tuple[Tensor, list[Tensor]]:
        pooled = []
        sums, counts = [0.0] * len(self.heads), [0.0] * len(self.heads)
        for batch in self._batches(encoded):
            def note(layer: int) -> Callable[[Tensor], Tensor]:
                def noted(mixed: Tensor) -> Tensor:
                    real = self._real(batch.mask, mixed, layer)
                    sums[layer - 1] += torch.where(real[:, :, None], mixed.detach(), 0.0).double().sum((0, 1))
                    counts[layer - 1] += float(real.sum())
                    return mixed
                return noted
            pooled.append(self._run(batch, {layer: note(layer) for layer in range(1, len(self.heads) + 1)}).detach())
        return torch.cat(pooled), [total / count for total, count in zip(sums, counts)]

    def _real(self, mask: Any, mixed: Tensor, layer: int) -> Tensor:
        """[b, T]: which rows are of real tokens."""
        if mask is None:
            return torch.ones(mixed.shape[:2], dtype=torch.bool, device=mixed.device)
        if mask.shape[1] != mixed.shape[1]:
            raise BadDataError(f"mask: has {mask.shape[1]} tokens, and {mixed.shape[1]} enter {self.names[layer - 1]!r}; allowed: as many, or no "
                               "mask")
        return (mask != 0).to(mixed.device)

    def removals(self, encoded: Mapping[str, Any], kept: Sequence[int],
                 replacement: Callable[[int, int], Callable[[Tensor], Tensor]]) -> tuple[Tensor, Tensor]:
        heads = list(zip(*self.rows(kept)))
        whole, removed = [], [[] for _ in heads]
        for batch in self._batches(encoded):
            whole.append(self._run(batch, {}))
            for rows, (layer, head) in zip(removed, heads):
                rows.append(self._run(batch, {layer: replacement(layer, head)}))
        return torch.cat(whole), torch.stack([torch.cat(rows) for rows in removed])

    def own_losses(self, encoded: Mapping[str, Any], labels: Any, kept: Sequence[int], replacement: Callable[[int, int], Callable[[Tensor], Tensor]],
                   loss: Callable[[Any, Any], Any]) -> tuple[Tensor, Tensor]:
        """What `loss` says of the model as it is, [P], and without each head of the kept layers, [heads, P]."""
        heads = list(zip(*self.rows(kept)))
        whole, removed, begin, device = [], [[] for _ in heads], 0, device_of(self.model)
        for batch in self._batches(encoded):
            count = len(next(iter(batch.given.values())))
            own = part_of(labels, begin, count, device)
            whole.append(_checked_loss(loss(self._asked(batch), own), count))
            for rows, (layer, head) in zip(removed, heads):
                with self._hooked({layer: replacement(layer, head)}, count):
                    rows.append(_checked_loss(loss(self._asked(batch), own), count))
            begin += count
        return torch.cat(whole), torch.stack([torch.cat(rows) for rows in removed])

    def started(self, encoded: Mapping[str, Any], layer: int) -> list[Batch]:
        return list(self._batches(encoded))

    def embeddings_from(self, batches: Sequence[Batch], changes: Mapping[int, Callable[[Tensor], Tensor]]) -> Tensor:
        return torch.cat([self._run(batch, changes) for batch in batches])

    def watched(self, batch: Batch, layer: int, change: Callable[[Tensor], Tensor] | None, said: Said) -> Tensor:
        def of_layer(position: int, mixed: Tensor, output: Tensor) -> Tensor | None:
            return said(position, mixed, output) if position == layer - 1 else None
        with self._hooked({} if change is None else {layer: change}, len(next(iter(batch.given.values()))), of_layer):
            return self.pooled(self._said(batch), batch.mask)

    def gradients(self, encoded: Mapping[str, Any], targets: Tensor, probe: Probe, kept: Sequence[int]) -> Tensor:
        found, begin = [], 0
        for batch in self._batches(encoded):
            masks: dict[int, Tensor] = {}

            def weigh(layer: int) -> Callable[[Tensor], Tensor]:
                def factored(mixed: Tensor) -> Tensor:
                    if layer not in masks:  # one for all calls of a shared module
                        masks[layer] = torch.ones(len(mixed), self.heads[layer - 1], dtype=mixed.dtype, device=mixed.device, requires_grad=True)
                    return weighed(mixed, masks[layer], self.mask)
                return factored
            said = self._run(batch, {layer: weigh(layer) for layer in kept})
            loss = probe.losses(said, targets[begin:begin + len(said)]).sum()
            found.append(torch.cat([g.cpu().double() for g in torch.autograd.grad(loss, [masks[layer] for layer in kept])], 1))
            begin += len(said)
        return torch.cat(found)

    def gap_if_later_tokens_change(self, encoded: Mapping[str, Any]) -> float | None:
        """As Network has it; None where no input has a row for each token."""
        (batch,) = list(self._batches(longest(encoded, MASK)))[:1]
        answer = self._said(batch)
        first = readout_weights("first_token", batch.mask, answer.shape[:2])
        later = (first.cumsum(1) - first != 0)
        if batch.mask is not None:
            later &= (batch.mask != 0).cpu()
        if not bool(later.any()):
            return 0.0
        other = _with_other_tokens(batch.given, later)
        if other is None:
            return None
        again, at = self._said(Batch(other, batch.mask)), (first != 0).to(answer.device)
        one, two = answer[at].double(), again[at].double()
        return float((one - two).abs().max() / one.abs().max())


def answer_of(said: Any) -> Tensor | None:
    """What a model says: of one of transformers the last hidden state, else the first tensor of what it returns."""
    states = getattr(said, "last_hidden_state", None)
    if states is None:
        hidden = getattr(said, "hidden_states", None)
        states = hidden[-1] if hidden else None
    if states is not None:
        return states
    if isinstance(said, torch.Tensor):
        return said
    values = said.values() if isinstance(said, Mapping) else said if isinstance(said, (tuple, list)) else ()
    return next((value for value in values if isinstance(value, torch.Tensor)), None)


def _numbers_of(said: Any, count: int) -> Tensor | None:
    """[b, N]: the first numbers of what a model returns that are of each example."""
    values = said.values() if isinstance(said, Mapping) else said if isinstance(said, (tuple, list)) else (said,)
    return next((value.reshape(count, -1) for value in values if isinstance(value, torch.Tensor) and value.is_floating_point()
                 and value.ndim > 0 and len(value) == count), None)


def _checked_loss(found: Any, count: int) -> Tensor:
    """[b]"""
    shape = list(found.shape) if isinstance(found, torch.Tensor) else f"no shape, as a {type(found).__name__}"
    if shape != [count]:
        raise UsageError(f"loss: gives something of shape {shape} for {count} examples; allowed: a tensor [{count}] with a number for each, as "
                         "reduction=\"none\" gives it; of tokens their mean in an example")
    if not bool(found.isfinite().all()):
        raise BadDataError("loss: gives a number that is not finite")
    return found.detach().cpu().double()


def _own_mask(given: Mapping[str, Any]) -> Any:
    """The mask of real tokens among the inputs of a model: 1 in attention_mask, or not True in a key_padding_mask."""
    mask = given.get("attention_mask")
    if mask is not None:
        return mask if torch.as_tensor(mask).ndim == 2 else None
    padding = next((value for name, value in given.items() if name.endswith("key_padding_mask") and value is not None), None)
    if padding is None:
        return None
    padding = torch.as_tensor(padding)
    return ~padding if padding.dtype == torch.bool else padding > -1e4


def _layout(name: str, several: Tensor, one: Tensor, count: int) -> Layout:
    for layout in (Layout(False), Layout(True)):
        index = int(layout.second)
        if several.ndim < 2 + layout.second or several.shape[index] != count * one.shape[index] or (layout.second and one.shape[1] != 1):
            continue
        alone, among = layout.by_example(one, 1)[0], layout.by_example(several, count)[0]
        size = float(torch.nan_to_num(among.double()).abs().max())
        limit = GAPS.get(among.dtype, LOOSEST_GAP) * size
        if alone.shape == among.shape and torch.allclose(alone.double(), among.double(), rtol=0.0, atol=limit, equal_nan=True):
            return layout
    raise UsageError(f"heads: what enters {name!r} has shape {list(several.shape)} for {count} examples, and {list(one.shape)} for one; allowed: "
                     "the example as the first or the second index, the same alone as among others")


def _with_other_tokens(given: Mapping[str, Any], later: Tensor) -> dict[str, Any] | None:
    """The inputs with other tokens where `later` is True; None where no input has a row for each token."""
    for name, value in given.items():
        value = torch.as_tensor(value)
        if value.shape[:2] != later.shape or "mask" in name or "position" in name or "type_ids" in name or value.dtype == torch.bool:
            continue
        if value.ndim == 2 and not value.is_floating_point():
            other = value.max() + value.min() - value
            other = torch.where(other == value, value.max(), other)
        else:
            other = -value.flip(-1) if value.ndim > 2 else -value
        changed = torch.where(later.to(value.device).reshape(*later.shape, *[1] * (value.ndim - 2)), other, value)
        if not torch.equal(changed, value):
            return dict(given) | {name: changed}
    return None
