"""The one place where heads are removed: what enters the module that projects the concatenated heads of a layer.

Hooks see it, and can change it. torch.nn.MultiheadAttention never calls its `out_proj`; it hands its weights to a function.
There the function is asked for the heads without their projection, and the projection follows.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
from torch.nn import functional

from headway.errors import UsageError
from headway.heads.model_locks import of_this_thread

Tensor = torch.Tensor
Change = Callable[[int, Tensor], Tensor]  # (number of the projection, what enters it) -> what enters in its place
Said = Callable[[int, Tensor, Tensor], "Tensor | None"]  # (number, what entered, what left) -> what leaves in its place


@dataclass(frozen=True)
class Projection:
    """The heads that enter a module, side by side, at one of its calls in a pass of the model, or at all of them.

    name: of the module in the model. call: its number from 0; None: all. calls: how often a pass calls the module.
    functional: it is `out_proj` of a torch.nn.MultiheadAttention.
    """

    name: str
    module: torch.nn.Module
    heads: int
    call: int | None = None
    calls: int = 1
    functional: bool = False

    @cached_property
    def weight(self) -> Tensor | None:
        """[N, H d] in double precision; None where the module is more than a matrix of numbers."""
        own = getattr(self.module, "_parameters", {}).get("weight")
        if own is None or own.ndim != 2 or not own.is_floating_point() or not is_matrix(self.module):
            return None
        own = own.detach().double()
        return own.T if is_conv1d(self.module) else own

    def of(self, mixed: Tensor) -> Tensor:
        """What the module makes of the heads, without any hook, in double precision."""
        weight = self.weight
        if weight is not None:
            bias = self.module.bias
            return functional.linear(mixed.double(), weight.to(mixed.device), None if bias is None else bias.to(mixed.device).double())
        try:
            return self.module.forward(mixed).double()
        except TypeError as error:
            raise UsageError(f"heads: {self.name!r} takes more than its heads ({error}); allowed: a module that only projects the "
                             "concatenated heads") from None

    def difference(self, one: Tensor, other: Tensor) -> Tensor:
        """What the module makes of `one`, less what it makes of `other`."""
        return self.of(one) - self.of(other)


def is_matrix(module: Any) -> bool:
    """Whether a module does nothing but multiply by its weight, and add its bias."""
    plain = type(module).forward in (torch.nn.Linear.forward, getattr(_conv1d(), "forward", None))
    return plain and not getattr(module, "parametrizations", None)


def is_conv1d(module: Any) -> bool:
    """Whether its weight is [inputs, outputs], as in GPT-2."""
    return _conv1d() is not None and isinstance(module, _conv1d())


@lru_cache(maxsize=None)
def _conv1d() -> Any:
    """The class of the projection of GPT-2, where there is one."""
    try:
        from transformers.pytorch_utils import Conv1D
    except ImportError:
        return None
    return Conv1D


@contextmanager
def at_projections(places: Sequence[Projection], change: Change | None = None, said: Said | None = None) -> Iterator[None]:
    """In this block, and in this thread alone, what enters each projection, [.., H d], is put through `change`. `said` is told what
    entered and what left, and may give something else. Calls of one module are told apart by their order."""
    with ExitStack() as hooks:
        patched = []
        for module in {id(place.module): place.module for place in places}.values():
            calls = _Calls([(i, place) for i, place in enumerate(places) if place.module is module], change, said)
            hooks.callback(module.register_forward_pre_hook(of_this_thread(calls.entering)).remove)
            if said is not None:
                hooks.callback(module.register_forward_hook(of_this_thread(calls.leaving)).remove)
            if calls.places[0][1].functional:
                patched.append(calls)
        if patched:
            hooks.enter_context(_Functional(patched))
        yield


class _Calls:
    """The calls of one module, and the places among them."""

    def __init__(self, places: Sequence[tuple[int, Projection]], change: Change | None, said: Said | None):
        self.places, self.change, self.said = places, change, said
        self.module, self.count = places[0][1].module, 0

    def now(self) -> list[int]:
        """The places of the call that has begun last."""
        return [i for i, place in self.places if place.call in (None, (self.count - 1) % place.calls)]

    def entered(self, mixed: Tensor) -> Tensor:
        self.count += 1
        for position in self.now() if self.change is not None else ():
            mixed = self.change(position, mixed)
        return mixed

    def left(self, mixed: Tensor, output: Tensor) -> Tensor:
        for position in self.now() if self.said is not None else ():
            other = self.said(position, mixed, output)
            output = output if other is None else other
        return output

    def entering(self, module: Any, arguments: tuple) -> tuple:
        if not arguments or not isinstance(arguments[0], Tensor) or not arguments[0].is_floating_point() or arguments[0].ndim < 2:
            raise UsageError(f"model: calls {self._name} without heads as its first argument; allowed: a module that gets the concatenated "
                             "heads, [.., H d]")
        return (self.entered(arguments[0]), *arguments[1:])

    def leaving(self, module: Any, arguments: tuple, output: Any) -> Tensor:
        if not isinstance(output, Tensor):
            raise UsageError(f"model: {self._name} gives a {type(output).__name__}; allowed: a module that gives a tensor")
        return self.left(arguments[0], output)

    @property
    def _name(self) -> str:
        return repr(self.places[0][1].name or type(self.module).__name__)


class _Functional(torch.overrides.TorchFunctionMode):
    """Calls of the function behind torch.nn.MultiheadAttention with the weights of these modules. It holds for this thread alone,
    and keeps the fused fast path off, which has no such call."""

    def __init__(self, patched: Sequence[_Calls]):
        super().__init__()
        self._patched = patched

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        if func is not functional.multi_head_attention_forward:
            return func(*args, **kwargs)
        given = inspect.signature(func).bind(*args, **kwargs).arguments
        weight, bias = given["out_proj_weight"], given["out_proj_bias"]
        calls = next((calls for calls in self._patched if calls.module.weight is weight), None)
        if calls is None:
            return func(*args, **kwargs)
        same = torch.eye(weight.shape[1], dtype=weight.dtype, device=weight.device)
        mixed, attention = func(**given | {"out_proj_weight": same, "out_proj_bias": None})
        changed = calls.entered(mixed)
        output = (functional.linear(changed, weight, bias) if calls.change is not None else func(**given)[0])
        return calls.left(changed, output), attention


# ---- names


def named_projections(model: Any, heads: Any) -> list[Projection]:
    """The modules of a model that a user names, each with its number of heads. UsageError for what cannot be one."""
    example = "{'blocks.0.attn.proj': 4}"
    if not hasattr(heads, "items") or not heads:
        raise UsageError(f"heads: is {heads!r:.60}; allowed: a mapping from the names of the modules that project concatenated heads to "
                         f"their numbers of heads, such as {example}")
    modules = dict(model.named_modules(remove_duplicate=False))
    return [_named(modules, name, count) for name, count in heads.items()]


def module_named(modules: dict[str, Any], argument: str, name: Any) -> tuple[torch.nn.Module, Any]:
    """The projection of this name, and the torch.nn.MultiheadAttention that it belongs to, if any."""
    if not isinstance(name, str) or not name or name not in modules:
        raise UsageError(f"{argument}: {name!r} is no module of the model; allowed: a name that model.named_modules() has, such as "
                         f"{', '.join(map(repr, _like(modules, str(name))))}")
    module = modules[name]
    if isinstance(module, torch.nn.MultiheadAttention):
        return module.out_proj, module
    parent = modules.get(name.rpartition(".")[0])
    return module, parent if isinstance(parent, torch.nn.MultiheadAttention) and parent.out_proj is module else None


def _named(modules: dict[str, Any], name: Any, count: Any) -> Projection:
    module, attention = module_named(modules, "heads", name)
    if not any(True for _ in module.parameters()) and not any(True for _ in module.buffers()):
        raise UsageError(f"heads: {name!r} is a {type(module).__name__} without weights; allowed: the module that projects concatenated heads")
    if isinstance(count, bool) or not hasattr(count, "__index__") or int(count) < 1:
        raise UsageError(f"heads: {name!r} has {count!r}; allowed: its number of heads, an integer from 1")
    if attention is not None and int(count) != attention.num_heads:
        raise UsageError(f"heads: {name!r} has {int(count)}; allowed: {attention.num_heads}, the heads of this MultiheadAttention")
    width = getattr(module, "in_features", None) or (
        module.weight.shape[0] if is_conv1d(module) else None)
    found = Projection(name, module, int(count), functional=attention is not None)
    if width is not None:
        require_divisor(found, width)
    return found


def require_divisor(place: Projection, width: int) -> None:
    """UsageError unless the numbers that enter a projection for one token can be those of its heads."""
    if width % place.heads:
        raise UsageError(f"heads: {place.name!r} has {place.heads}, and {width} numbers of each token enter it; allowed: a number of heads that "
                         f"divides {width}")


def attention_modules(model: Any) -> dict[str, int]:
    """Every torch.nn.MultiheadAttention of a model, with its number of heads."""
    return {name: module.num_heads for name, module in model.named_modules() if isinstance(module, torch.nn.MultiheadAttention)}


def _like(modules: dict[str, Any], name: str) -> list[str]:
    """Names that are like this one; else the first ones that could be meant."""
    import difflib
    names = [known for known, module in modules.items() if known and any(True for _ in module.parameters(recurse=False))]
    names += list(attention for attention, module in modules.items() if isinstance(module, torch.nn.MultiheadAttention))
    return difflib.get_close_matches(name, names, 3) or [one for one in names if any(
        part in one.rpartition(".")[2] for part in ("proj", "dense", "out", "attn"))][:3] or names[:3]
