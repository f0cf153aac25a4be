"""Takes heads out of a model, and puts them back. Needs PyTorch."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from headway.base.paths import described
from headway.errors import UsageError
from headway.heads.model_locks import exclusive
from headway.heads.network_blocks import stack_of_transformers
from headway.heads.network_removal import projections_of
from headway.heads.projections import (Projection, attention_modules, is_conv1d, is_matrix, module_named, named_projections,
                                 require_divisor)

Tensor = torch.Tensor


class Cut:
    """Some heads of a projection that are gone. `undo` puts them back. Shown, heads have the names that tables give them; `where` is
    what stands before "H1"."""

    def __init__(self, where: str, gone: Sequence[int]):
        self.where, self.gone = where, list(gone)

    def undo(self) -> None:
        raise NotImplementedError

    def __str__(self) -> str:
        heads = ", ".join(f"{self.where}H{head + 1}" for head in self.gone)
        return f"{heads}: {self.how}"

    how = ""


class Taken:
    """A column of weights that is at zero: what it was, and how many removals hold it there."""

    def __init__(self, column: Tensor):
        self.column, self.removals = column, 0


# By module and number of the column: so removals that share heads can be undone in any order.
_TAKEN: weakref.WeakKeyDictionary[Any, dict[int, Taken]] = weakref.WeakKeyDictionary()


class Columns(Cut):
    """The weights that read the heads are zero."""

    def __init__(self, where: str, gone: Sequence[int], place: Projection):
        super().__init__(where, gone)
        self.how = "weights at zero" + (f", in all of its {place.calls} calls" if place.calls > 1 else "")
        self._module, self._transposed = place.module, is_conv1d(place.module)
        width = self._columns().shape[1]
        require_divisor(place, width)
        size = width // place.heads
        at = [head * size + i for head in gone for i in range(size)]
        now = self._columns().detach()[:, at].clone()
        there = (now != 0).any(0).tolist()
        taken = _TAKEN.setdefault(self._module, {})
        for number, column, nonzero in zip(at, now.T, there):
            if nonzero or number not in taken:  # nobody took it, or training has brought it back
                taken[number] = Taken(column)
            taken[number].removals += 1
        self._holds = {number: taken[number] for number in at}
        self._write(at, torch.zeros_like(now))

    def _columns(self) -> Tensor:
        return self._module.weight.T if self._transposed else self._module.weight

    def _write(self, at: Sequence[int], values: Tensor) -> None:
        with torch.inference_mode() if self._module.weight.is_inference() else torch.no_grad():
            self._columns()[:, at] = values

    def undo(self) -> None:
        taken, back = _TAKEN.setdefault(self._module, {}), {}
        for number, held in self._holds.items():
            held.removals -= 1
            if held.removals == 0 and taken.get(number, held) is held:
                taken.pop(number, None)
                back[number] = held.column
        if back:
            self._write(list(back), torch.stack(list(back.values()), 1).to(self._module.weight))


class Silent:
    """Sets the outputs of heads to zero before they enter their projection, at one call of a pass or at all."""

    def __init__(self, place: Projection, gone: Sequence[int]):
        self.heads, self.call, self.calls, self.gone, self.name = place.heads, place.call, place.calls, list(gone), place.name
        self.counts: dict[int, int] = {}  # by thread: calls in this pass

    def begin(self, module: Any, arguments: tuple) -> None:
        self.counts[threading.get_ident()] = 0

    def enter(self, module: Any, arguments: tuple) -> tuple | None:
        me = threading.get_ident()
        now = self.counts[me] = self.counts.get(me, 0) + 1
        if self.call is not None and (now - 1) % max(1, self.calls) != self.call:
            return None
        mixed = arguments[0].clone()
        require_divisor(Projection(self.name, module, self.heads), mixed.shape[-1])
        mixed.unflatten(-1, (self.heads, -1))[..., self.gone, :] = 0.0
        return (mixed, *arguments[1:])


class Hooked(Cut):
    """A hook sets the outputs of the heads to zero."""

    def __init__(self, where: str, gone: Sequence[int], place: Projection, model: Any):
        super().__init__(where, gone)
        self.how = "a hook sets their outputs to zero" + ("" if place.call is None else (
            f" at call {place.call + 1}" + (f" of {place.calls}" if place.calls < MANY else "") + " in a pass"))
        silent = Silent(place, gone)
        self._handles = [place.module.register_forward_pre_hook(silent.enter)]
        if place.call is not None:
            self._handles.append(model.register_forward_pre_hook(silent.begin))

    def undo(self) -> None:
        for handle in self._handles:
            handle.remove()


MANY = 1 << 30  # calls in a pass, where their number is not known


def cut_heads(model: Any, removed: Any, heads: Mapping[str, int] | None) -> list[Cut]:
    """As headway.remove_heads. If one of the heads cannot go, none goes."""
    if not hasattr(model, "named_modules"):
        raise UsageError(f"model: is {described(model)}; allowed: a torch.nn.Module")
    if not isinstance(removed, Mapping) or hasattr(removed, "to_prune_heads"):  # a ranking holds columns by their names
        raise UsageError(f"removed: is {described(removed)}; allowed: a mapping {{layer: [heads]}}, both counted from 0, as ranking.to_prune_heads(k) "
                         "gives it, or {name of a module: [heads]}")
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    modules = dict(model.named_modules(remove_duplicate=False))
    heads = heads if heads is not None else getattr(removed, "heads", None)  # a ranking knows those of the modules it names
    removed = {int(key) if isinstance(key, str) and key.isdecimal() and key not in modules else key: gone  # out of a JSON file
               for key, gone in removed.items()}
    layers = _layers(model, heads, any(hasattr(key, "__index__") for key in removed))
    named = {name: place for name, place in zip(heads or (), named_projections(model, heads) if heads is not None else ())}
    chosen = {key: _chosen(modules, layers, named, key) for key in removed}
    wanted = {key: _heads(key, chosen[key], removed[key]) for key in removed}
    cuts: list[Cut] = []
    with exclusive(model):
        try:
            for key, gone in wanted.items():
                if gone:
                    cuts.append(_cut(model, key, chosen[key], gone))
        except BaseException:
            for cut in reversed(cuts):
                cut.undo()
            raise
    return cuts


def _layers(model: Any, heads: Any, wanted: bool) -> list[Projection]:
    """The projections of all layers, from the input up."""
    if heads is not None:
        return named_projections(model, heads)
    try:
        return projections_of(stack_of_transformers(model))
    except UsageError:
        attention = attention_modules(model)
        if wanted and not attention:
            raise
        return named_projections(model, attention) if attention else []


def _chosen(modules: dict[str, Any], layers: Sequence[Projection], named: Mapping[str, Projection], key: Any) -> Projection:
    if hasattr(key, "__index__") and not isinstance(key, bool):
        layer = int(key)
        if not 0 <= layer < len(layers):
            raise UsageError(f"removed: holds layer {layer}; the model has {len(layers)} layers; allowed: 0 to {len(layers) - 1}")
        return replace(layers[layer], call=None) if layers[layer].calls == 1 else layers[layer]
    name, call = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
    module, attention = module_named(modules, "removed", name)
    if call is not None and (isinstance(call, bool) or not isinstance(call, int) or call < 0):
        raise UsageError(f"removed: holds {key!r}; allowed: a name and the number of a call, from 0")
    place = named.get(name) or next((place for place in layers if place.module is module), None)
    if place is None and attention is not None:
        place = Projection(name, module, attention.num_heads, functional=True)
    if place is None:
        raise UsageError(f"removed: holds {name!r}, whose number of heads is not known; allowed with heads={{{name!r}: number of heads}}")
    known = place.calls if place.calls > 1 else MANY
    if call is not None and call >= known:
        raise UsageError(f"removed: holds call {call} of {name!r}; allowed: 0 to {known - 1}")
    return replace(place, name=name, call=call, calls=known if call is not None else place.calls)


def _heads(key: Any, place: Projection, gone: Any) -> list[int]:
    """The heads to remove, ascending; each is there."""
    several = hasattr(gone, "__iter__") and not isinstance(gone, (str, bytes, Mapping))
    found = list(gone) if several else [gone]
    for head in found:
        if isinstance(head, bool) or not hasattr(head, "__index__") or not 0 <= int(head) < place.heads:
            raise UsageError(f"removed: {_said(key)} has head {head!r}; allowed: 0 to {place.heads - 1}")
    return sorted({int(head) for head in found})


def _said(key: Any) -> str:
    """What a message calls a key."""
    return f"layer {int(key)}" if hasattr(key, "__index__") else repr(key)


def _cut(model: Any, key: Any, place: Projection, gone: Sequence[int]) -> Cut:
    module = place.module
    named = f"L{int(key) + 1}" if hasattr(key, "__index__") else f"{place.name} "
    weight = getattr(module, "_parameters", {}).get("weight")
    plain = (weight is not None and is_matrix(module) and weight.is_floating_point() and not weight.is_meta
             and "forward" not in vars(module) and not _others(model, module, weight))
    if plain and place.call is None:
        return Columns(named, gone, place)
    if place.functional:
        why = "one call of it alone" if plain else "weights that are no numbers of its own"
        raise UsageError(f"removed: {_said(key)} is a torch.nn.MultiheadAttention with {why}; allowed: plain weights, in all of its calls")
    return Hooked(named, gone, place, model)


def _others(model: Any, module: Any, weight: Tensor) -> bool:
    """Whether another module has this weight, too."""
    return any(own is weight for other in model.modules() if other is not module for own in other._parameters.values())
