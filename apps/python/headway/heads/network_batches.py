"""Runs a network on examples, batch by batch, and takes down inputs and attention of the layers that are kept."""

from __future__ import annotations

import inspect
import math
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.base.caller import warn
from headway.base.tensors import as_numpy
from headway.errors import BadDataError, UsageError
from headway.heads.model_locks import exclusive, without_fast_path
from headway.heads.network_masks import require_real, require_tokens

_PRECISIONS = ("float16", "bfloat16", "float32", "float64")
ROWS_IN_MEMORY = 1 << 22  # numbers of one layer's attention read at a time, from arrays


@dataclass
class Block:
    """Some examples: inputs [b, S, N_0], attention [b, H_l, S, S] of each layer, mask [b, S]."""

    inputs: Any
    attentions: Sequence[Any]
    mask: Any = None


def examples_in(batch: Any, name: str = "inputs") -> int:
    """How many examples there are in a tensor, a tuple or a mapping of tensors; `name` is what a message calls it."""
    named = named_members(batch)
    if not named or not all(hasattr(value, "__len__") and getattr(value, "shape", None) != () for value in named.values()):
        raise UsageError(f"{name}: hold something without examples; allowed: tensors or arrays, the "
                         "first index being the example")
    first = next(iter(named))
    count = len(named[first])
    for key, value in named.items():
        if len(value) != count:
            raise UsageError(f"{name}: {key}: has shape {list(np.shape(value))}, and {first} has {count} examples; allowed: as many in each, the "
                             "first index being the example. What all examples share, such as a mask [S, S], is part of the model")
    return require_examples(name, count)


def require_examples(name: str, count: int) -> int:
    """`count`; BadDataError if it is 0."""
    if count == 0:
        raise BadDataError(f"{name}: 0 examples; allowed: at least 1")
    return count


def members_of(batch: Any) -> list[Any]:
    return list(named_members(batch).values())


def named_members(batch: Any) -> dict[str, Any]:
    """The tensors of a batch by their names, or by their places."""
    if isinstance(batch, Mapping):
        return dict(batch)
    return {f"number {place}": value for place, value in enumerate(batch, 1)} if isinstance(batch, (tuple, list)) else {"number 1": batch}


# ---- arrays


def array_blocks(name: str, given: Mapping[str, Any]) -> Callable[[], Iterator[Block]]:
    inputs, attentions, mask = given["inputs"], given["attentions"], given.get("mask")
    for layer, array in enumerate(attentions, 1):
        if len(getattr(array, "shape", ())) != 4 or array.shape[0] != len(inputs):
            raise BadDataError(f"{name}: attentions of layer {layer}: have shape "
                               f"{list(getattr(array, 'shape', ()))}; allowed: [{len(inputs)}, H, S, S]")

    def blocks() -> Iterator[Block]:
        largest = max(math.prod(array.shape[1:]) for array in attentions)
        step = max(1, ROWS_IN_MEMORY // max(1, largest))
        for begin in range(0, len(inputs), step):
            part = slice(begin, begin + step)
            yield Block(inputs[part], [array[part] for array in attentions],
                        None if mask is None else mask[part])
    return blocks


# ---- models


@contextmanager
def evaluating(model: Any, batch_size: int, torch_attention: bool) -> Iterator[None]:
    """The model in evaluation mode and without gradients; every module gets its own mode back. Other threads wait for the model.

    torch_attention: torch.nn.MultiheadAttention is to be called.
    """
    if not isinstance(batch_size, int) or batch_size < 1:
        raise UsageError(f"batch_size: is {batch_size!r}; allowed: an integer from 1")
    with exclusive(model):
        modules = list(model.modules()) if hasattr(model, "modules") else [model]
        modes = [(module, module.training) for module in modules if hasattr(module, "training")]
        if hasattr(model, "eval"):
            model.eval()
        try:
            with outside_inference_mode(), _without_gradients(sys.modules.get("torch"), torch_attention):
                yield
        finally:
            for module, mode in modes:
                module.training = mode


def outside_inference_mode() -> Any:
    """A block without torch.inference_mode(), in which no tensor can have a gradient, wherever it is called."""
    torch = sys.modules.get("torch")
    return nullcontext() if torch is None else torch.inference_mode(False)


@contextmanager
def _without_gradients(torch: Any, torch_attention: bool) -> Iterator[None]:
    """No gradients, and no fast path of torch.nn.TransformerEncoderLayer, which would skip its attention module.

    A PyTorch that is too old to switch it off takes it only without gradients: there they stay on.
    """
    if torch is None:
        yield
        return
    fast_path = getattr(torch.backends, "mha", None)
    if torch_attention and fast_path is None:
        with torch.enable_grad():
            yield
        return
    with nullcontext() if fast_path is None else without_fast_path(fast_path), torch.no_grad():
        yield


def part_of(value: Any, begin: int, count: int, device: Any) -> Any:
    """Some examples of a tensor or array, on the model's device."""
    part = value[begin:begin + count]
    torch = sys.modules.get("torch")
    if device is None or torch is None:
        return part
    part = (part if hasattr(part, "to") else torch.as_tensor(part)).to(device)
    return part.clone() if part.is_inference() else part  # that of torch.inference_mode() cannot be part of a gradient


def device_of(model: Any) -> Any:
    if hasattr(model, "device"):
        return model.device
    parameters = model.parameters() if hasattr(model, "parameters") else ()
    return next((p.device for p in parameters if hasattr(p, "device")), None)


@dataclass
class Answer:
    """What a Hugging Face model says of a batch: attention and hidden states of all layers."""

    batch: Mapping[str, Any]
    attentions: Sequence[Any]  # [b, H_l, S, S]
    hidden: Sequence[Any]  # [b, S, N], what enters layer 1, 2, ..., and what leaves the last
    mask: Any  # [b, S] or None


def hugging_face_answers(model: Any, encoded: Mapping[str, Any], batch_size: int,
                         name: str) -> Iterator[Answer]:
    device, count = device_of(model), examples_in(encoded)
    for begin in range(0, count, batch_size):
        batch = {key: part_of(value, begin, batch_size, device) for key, value in encoded.items()}
        said = _asked(model, batch)
        attentions = getattr(said, "attentions", None)
        if not attentions or any(array is None for array in attentions):
            encoder = getattr(said, "encoder_attentions", None) is not None
            raise UsageError(
                "model: returns attention as encoder_attentions; give its encoder, "
                "model.get_encoder()" if encoder else "model: returns no attention; load it with "
                "attn_implementation=\"eager\"")
        hidden = getattr(said, "hidden_states", None)
        if not hidden:
            raise UsageError("model: returns no hidden_states; allowed: a model of transformers, which does when asked")
        mask = batch.get("attention_mask")
        if mask is not None:
            require_tokens(f"{name}: attention_mask", (count, mask.shape[1]), hidden[0].shape[1])
        yield Answer(batch, attentions, hidden, mask)


def _asked(model: Any, batch: Mapping[str, Any]) -> Any:
    """The model's answer with attention and hidden states. One that cannot be asked for them is none of transformers."""
    try:
        return model(**batch, output_attentions=True, output_hidden_states=True)
    except TypeError as error:
        if hasattr(model, "config") or "unexpected keyword argument" not in str(error):
            raise
        raise UsageError(f"model: {type(model).__name__} cannot be asked for its attention (output_attentions); allowed: a model of "
                         "transformers. from_torch takes models of PyTorch") from error
    except ValueError as error:
        if not getattr(getattr(model, "config", None), "is_encoder_decoder", False) or "input_ids" not in batch:
            raise
        raise UsageError(f"model: {type(model).__name__} has an encoder and a decoder, and says: {error}; give its encoder, "
                         "model.get_encoder()") from error


def hugging_face_blocks(model: Any, encoded: Mapping[str, Any], layers: Sequence[int] | None,
                         batch_size: int, name: str) -> Iterator[Block]:
    for answer in hugging_face_answers(model, encoded, batch_size, name):
        kept = _kept(layers, len(answer.attentions))
        yield Block(answer.hidden[kept[0] - 1], [answer.attentions[layer - 1] for layer in kept],
                    answer.mask)


def _kept(layers: Sequence[int] | None, found: int) -> Sequence[int]:
    if layers is None:
        return range(1, found + 1)
    if layers[-1] > found:
        raise UsageError(f"layers: holds {layers[-1]}; the model has {found} layers of attention; allowed: 1 to {found}")
    return layers


@dataclass
class _Call:
    """One call of a MultiheadAttention module."""

    module: Any
    query: Any  # [b, S, N]
    weights: Any  # [b, H, S, S]
    padding: Any  # key_padding_mask or None


def first_argument(module: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[str, Any]:
    """Name and value of the first argument of a forward pass, by position or by name."""
    names = [word for word in inspect.signature(type(module).forward).parameters if word != "self"]
    name = names[0] if names else ""
    return name, arguments[0] if arguments else named[name]


@contextmanager
def _replaced(modules: Sequence[Any], make: Callable[[Any, Callable], Callable]) -> Iterator[None]:
    """In this block, and in this thread alone, the forward pass of each module is make(module, its own)."""
    own, me = [module.__dict__.get("forward") for module in modules], threading.get_ident()

    def replaced(original: Callable, made: Callable) -> Callable:
        return lambda *given, **named: (made if threading.get_ident() == me else original)(*given, **named)
    for module in modules:
        module.__dict__["forward"] = replaced(module.forward, make(module, module.forward))
    try:
        yield
    finally:
        for module, forward in zip(modules, own):
            if forward is None:
                del module.__dict__["forward"]
            else:
                module.__dict__["forward"] = forward


def calls_noted(modules: Sequence[Any], note: Callable[[Any, tuple, dict[str, Any]], Any]):
    """A block in which note(module, arguments, named arguments) is called before each forward pass.

    PyTorch's own hooks see named arguments only from 2.0 on.
    """
    def noting(module: Any, original: Callable) -> Callable:
        def forward(*arguments, **named):
            note(module, arguments, named)
            return original(*arguments, **named)
        return forward
    return _replaced(modules, noting)


def _not_a_number(weights: Any) -> bool:
    return bool((weights != weights).any())


def _same(query: Any, key: Any) -> bool:
    """Whether the keys are the queries' own tokens. Cross attention may have as many of either."""
    return key is query or key.shape == query.shape and bool((key == query).all())


def _recorded(modules: Sequence[Any], calls: list[_Call]):
    """A block in which the modules compute the weights of each head, which are noted; callers see no difference."""
    def recording(module: Any, original: Callable) -> Callable:
        def forward(query, key, value, *args, **kwargs):
            names = ("key_padding_mask", "need_weights", "attn_mask", "average_attn_weights", "is_causal")
            kwargs |= dict(zip(names, args))
            wanted = kwargs.get("need_weights", True)
            average = kwargs.get("average_attn_weights", True)
            if len(query.shape) != 3:
                raise UsageError("model: calls its attention without a batch; allowed: inputs whose first index is the example")
            if getattr(module, "bias_k", None) is not None or getattr(module, "add_zero_attn", False):
                raise UsageError("model: its torch.nn.MultiheadAttention has add_bias_kv or add_zero_attn, so that a token attends to "
                                 "something that is no token; allowed: one without")
            output, weights = original(query, key, value, **kwargs | {"need_weights": True, "average_attn_weights": False})
            if not wanted and _not_a_number(weights):
                # A token that may attend to none has a row of NaN. Without weights the module may say something finite of it.
                output = original(query, key, value, **kwargs)[0]
            if _same(query, key):
                batch_first = getattr(module, "batch_first", False)
                calls.append(_Call(module, query if batch_first else query.swapaxes(0, 1), weights,
                                   kwargs.get("key_padding_mask")))
            if not wanted:
                return output, None
            return output, weights.mean(1) if average else weights
        return forward
    return _replaced(modules, recording)


@contextmanager
def types_explained(model: Any, inputs: Any) -> Iterator[None]:
    """In this block an error of a model that computes in another precision than its inputs have is a UsageError that says so.
    All other errors of a model are its own."""
    try:
        yield
    except RuntimeError as error:
        types = [{str(value.dtype) for value in values if str(getattr(value, "dtype", "")).rpartition(".")[2] in _PRECISIONS}
                 for values in (members_of(inputs), model.parameters() if hasattr(model, "parameters") else ())]
        if not any(words in str(error) for words in ("dtype", "scalar type")) or not all(types) or types[0] == types[1]:
            raise
        raise UsageError(f"inputs: are of type {', '.join(sorted(types[0]))}, and the weights of the model of "
                         f"{', '.join(sorted(types[1]))}; allowed: one type for both, as inputs.to(...) makes it") from error


def torch_calls(model: Any, given: Mapping[str, Any], batch_size: int, name: str
                ) -> Iterator[tuple[list[_Call], Any]]:
    """The calls of attention modules in every batch of a split, and the batch's mask of real tokens.

    A mask that is given has passed checked_mask(), which does not know how many tokens the network sees.
    """
    modules = [module for module in model.modules()
               if any(base.__name__ == "MultiheadAttention" for base in type(module).__mro__)]
    if not modules:
        raise UsageError("model: holds no torch.nn.MultiheadAttention; give from_attentions the "
                         "attention matrices")
    inputs, mask, device = given["inputs"], given.get("mask"), device_of(model)
    count = examples_in(inputs)
    warned = mask is None
    for begin in range(0, count, batch_size):
        calls: list[_Call] = []
        with _recorded(modules, calls), types_explained(model, inputs):
            if isinstance(inputs, Mapping):
                model(**{key: part_of(value, begin, batch_size, device)
                         for key, value in inputs.items()})
            else:
                model(*(part_of(value, begin, batch_size, device) for value in members_of(inputs)))
        if not calls:
            raise UsageError("model: calls none of its torch.nn.MultiheadAttention modules on its own "
                             "tokens")
        size = min(batch_size, count - begin)
        other = next((call for call in calls if call.query.shape[0] != size), None)
        if other is not None:
            second = "" if getattr(other.module, "batch_first", False) else (
                "; with batch_first=False it is the second index for torch.nn.MultiheadAttention: make the model with "
                "batch_first=True, or let it transpose its inputs")
            raise BadDataError(f"model: its attention saw {other.query.shape[0]} examples in a batch of {size}; allowed: a model that "
                               f"takes the example as the first index of its inputs{second}")
        if len({id(call.module) for call in calls}) < len(calls):
            raise UsageError("model: calls an attention module twice for one input; give "
                             "from_attentions the attention matrices")
        if mask is not None:
            require_tokens(f"{name}: mask", mask.shape, calls[0].query.shape[1])
            part = mask[begin:begin + batch_size]
            warned = warned or _warned_of_padding(f"{name}: mask", calls, part, begin)
            yield calls, part
            continue
        real = _real(calls[0].padding)
        if real is not None:
            require_real(f"{name}: mask (from the model's key_padding_mask)", real, begin)
        yield calls, real


def _warned_of_padding(name: str, calls: Sequence[_Call], real: np.ndarray, first: int) -> bool:
    """Warns, and says so, if a real token attends to one that the mask calls padding: then the model does not know the mask."""
    if real.all():
        return False
    for layer, call in enumerate(calls, 1):
        weights = as_numpy("attention", call.weights).max(1)
        weights = np.where(real[:, :, None] & ~real[:, None, :], weights, 0)
        if weights.max() > 1e-6:
            example, _, token = np.unravel_index(weights.argmax(), weights.shape)
            warn(f"{name}[{first + example}, {token}]: padding, yet attention module {layer} gives it a weight of {weights.max():.2g} for a "
                 "real token. Is the mask the wrong way round? Or does the model not know its padding? Headway does not hand `mask` to it. Give "
                 "it its own among the inputs, True for padding: inputs={\"src\": x, \"src_key_padding_mask\": torch.as_tensor(mask) == 0}")
            return True
    return False


def torch_blocks(model: Any, given: Mapping[str, Any], layers: Sequence[int] | None, batch_size: int,
                  name: str) -> Iterator[Block]:
    for calls, mask in torch_calls(model, given, batch_size, name):
        chosen = [calls[layer - 1] for layer in _kept(layers, len(calls))]
        yield Block(chosen[0].query, [call.weights for call in chosen], mask)


def _real(padding: Any) -> np.ndarray | None:
    """The mask of real tokens. In a key_padding_mask padding is True, or a very negative number."""
    if padding is None:
        return None
    padding = as_numpy("padding", padding)
    return ~padding if padding.dtype == bool else padding > -1e4
