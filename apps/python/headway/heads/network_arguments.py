"""What the functions that write trained networks have in common: checks of their arguments, and the parts of a network."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headway.base.dataset_table import set_name_fault
from headway.base.paths import described
from headway.base.tensors import as_numpy
from headway.errors import HeadwayError, UsageError
from headway.heads.contribution_writer import write_contributions
from headway.heads.network_batches import examples_in, named_members
from headway.heads.network_masks import checked_mask, require_words
from headway.heads.network_tokens import require_rows, require_tokens_known
from headway.heads.network_writer import Options, Source


def splits_of(train: Mapping[str, Any], test: Any, sets: Any,
            required: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """All splits by the names that their groups have in the file."""
    given = {"train": train}
    if test is not None:
        given["test"] = test
    if sets is not None and not isinstance(sets, Mapping):
        raise UsageError(f"sets: is {type(sets).__name__}; allowed: a mapping of names to mappings with {', '.join(required)}")
    for name, split in (sets or {}).items():
        fault = set_name_fault(str(name))
        if fault:
            raise UsageError(f"sets: {name!r} is {fault}")
        given[f"sets/{name}"] = split
    for name, split in given.items():
        if not isinstance(split, Mapping):
            raise UsageError(f"{name}: is {type(split).__name__}; allowed: a mapping with "
                             f"{', '.join(required)}")
        unknown = [key for key in split if key not in train]
        if unknown:
            raise UsageError(f"{name}: has the unknown key {unknown[0]!r}; allowed: "
                             f"{', '.join(train)}")
        missing = [key for key in required if split.get(key) is None]
        if missing:
            raise UsageError(f"{name}: {missing[0]} is missing; allowed: a mapping with {', '.join(required)}")
    return given


def checked_encoded(model: Any, name: str, encoded: Any) -> int:
    """How many examples there are in what a tokenizer returned for a model; `name` is what a message calls it.

    UsageError where it is no mapping, BadDataError for a faulty attention_mask.
    """
    if not isinstance(encoded, Mapping):
        raise UsageError(f"{name}: is {type(encoded).__name__}; allowed: the mapping that a tokenizer returns")
    count = examples_in(encoded, name)
    require_rows(name, encoded)
    require_tokens_known(model, name, encoded)
    mask = encoded.get("attention_mask")
    if mask is not None:
        name, ids = f"{name}: attention_mask", encoded.get("input_ids")
        shape, padding = np.shape(() if ids is None else as_numpy("input_ids", ids)), getattr(getattr(model, "config", None), "pad_token_id", None)
        real = checked_mask(name, mask, count, shape[1] if len(shape) == 2 else None)
        if len(shape) == 2 and padding is not None:
            require_words(name, real, as_numpy("input_ids", ids), padding)
    return count


def checked_inputs(name: str, inputs: Any) -> int:
    """How many examples there are in what a PyTorch model takes. UsageError where it is no tensor, tuple or mapping."""
    found = ""
    if isinstance(inputs, tuple):
        found = next((f"a tuple that holds {type(one).__name__}" for one in inputs if not hasattr(one, "shape")), "")
    elif not isinstance(inputs, Mapping) and not hasattr(inputs, "shape"):
        found = type(inputs).__name__
    if found:
        raise UsageError(f"{name}: is {found}; allowed: a tensor, a tuple of tensors, or a mapping of names to "
                         "tensors, the first index being the example")
    return examples_in(inputs, name)


def as_of_train(blocks: Iterator[Any], name: str, given: Mapping[str, Any], train: Mapping[str, Any]) -> Iterator[Any]:
    """The blocks of a split. If the model fails on one, and its inputs have other shapes than those of "train", a UsageError says so."""
    try:
        yield from blocks
    except RuntimeError as error:
        own, first = ({key: list(np.shape(value)[1:]) for key, value in named_members(split["inputs"]).items()} for split in (given, train))
        other = next((key for key, shape in own.items() if shape != first.get(key)), None)
        if other is None or isinstance(error, HeadwayError):
            raise
        raise UsageError(f"{name}: inputs: {other}: has examples of shape {own[other]}, of which the model says: {error}; allowed: {first[other]}, "
                         "as of train. Pad all splits to one length") from error


def checked_layers(layers: int | Sequence[int] | None, count: Callable[[], int]) -> list[int] | None:
    """Layers counted from 1. `count` is asked how many the model has only where layers are counted from the last."""
    if layers is None:
        return None
    several = isinstance(layers, Iterable) and not isinstance(layers, (str, bytes, Mapping))
    layers = list(layers) if several else [layers]
    if any(isinstance(layer, (bool, np.bool_)) or not isinstance(layer, (int, np.integer)) for layer in layers):
        raise UsageError(f"layers: is {described(layers if several else layers[0])}; allowed: whole numbers, or None for all layers")
    kept = [int(layer) for layer in layers]
    if any(layer < 0 for layer in kept):
        try:
            there = count()
        except AttributeError:
            raise UsageError(f"layers: is {kept}: the model does not say how many layers it has; "
                             "allowed: numbers from 1, the layer at the input") from None
        if not there:
            raise UsageError(f"model: has no blocks with attention, of which layers={kept} could be counted")
        kept = [layer + there + 1 if layer < 0 else layer for layer in kept]
    if not kept or kept[0] < 1 or any(b <= a for a, b in zip(kept, kept[1:])):
        raise UsageError(f"layers: is {layers}; allowed: ascending numbers from 1, the layer at "
                         "the input, or from -1, the last layer, down")
    return kept


def checked_form(form: str, head_names: Any) -> bool:
    """Are contributions wanted?"""
    if form not in ("attention", "contributions"):
        raise UsageError(f"form: is {form!r}; allowed: \"attention\", \"contributions\"")
    if form == "contributions" and head_names is not None:
        raise UsageError("head_names: is given with form=\"contributions\", which names its parts; allowed: None")
    return form == "contributions"


def write_parts(path: Path, stack: Any, states: Callable, splits: Mapping[str, Mapping[str, Any]],
                 inputs: str, options: Options, overwrite: bool) -> Path:
    from headway.heads.network_contributions import contribution_blocks, part_names
    kept = options.layers or [len(stack.blocks)]
    if kept[-1] > len(stack.blocks):
        raise UsageError(f"layers: holds {kept[-1]}; the model has {len(stack.blocks)} layers; allowed: 1 to {len(stack.blocks)}")
    sources = {name: Source(
        lambda name=name, given=given: contribution_blocks(
            stack, states(name, given, kept[0]), kept, options.readout, name),
        examples_in(given[inputs]), given, inputs) for name, given in splits.items()}
    note = options.note or (
        f"contributions of the parts of {_layers_of(kept)} of {stack.model_name} to "
        "its readout, attention, norms and gates frozen, without their means over the training "
        "examples (those of real labels too), scaled to a mean kernel diagonal of 1")
    return write_contributions(path, sources, part_names(stack, kept), replace(options, note=note),
                               overwrite)


def note_of(model: Any, layers: Sequence[int] | None) -> str:
    kept = "all layers" if layers is None else _layers_of(layers)
    return (f"attention of {type(model).__name__}, {kept}, each at its own inputs in the network; the "
            "theory takes it as given and mixes the inputs of the lowest layer")


def _layers_of(kept: Sequence[int]) -> str:
    return f"layer{'s' * (len(kept) > 1)} {', '.join(map(str, kept))}"
