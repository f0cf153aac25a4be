"""Data sets from trained networks: arrays, Hugging Face models, PyTorch modules.

With form="contributions" they hold what every part of the kept layers contributes to the network's
readout, attention, norms and gates frozen: an exact split of the network
(headway.network_contributions).

With form="attention" what the theory takes as given is the attention of every head on every example,
as the network computed it. A trained network computes the attention of layer l from what the layers
below made of the input; the theory keeps it fixed, mixes the inputs of the lowest layer kept here along
the attention paths, and leaves everything else out (feed-forward blocks, residual streams, LayerNorm,
the values that the network learned). It is an approximation of the network, and a good one only so
far as the heads' attention tells what the network does; the file says so in its note.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway.dataset_checks import set_name_fault
from headway.errors import UsageError
from headway.network_batches import (array_blocks, evaluating, examples_in, hugging_face_blocks,
                                     torch_blocks)
from headway.network_writer import Options, Source, write_network


def from_attentions(path: str | os.PathLike, *, inputs, attentions: Sequence, labels, readout: str,
                    mask=None, ids: Sequence[str] | None = None,
                    test: Mapping[str, Any] | None = None,
                    sets: Mapping[str, Mapping[str, Any]] | None = None, classes: int | None = None,
                    head_names: Sequence[Sequence[str]] | None = None, note: str | None = None,
                    dtype="float32", overwrite: bool = False) -> Path:
    """Writes a data set for `headway solve` and `headway prune` from attention matrices.

    inputs [P, S, N_0]: what enters the lowest layer. attentions: for each layer, from the input up,
    [P, H_l, S, S] as [example, head, query, key], after the softmax. labels [P] real or +-1, or
    [P, C] one-hot; with `classes` = C they are numbers 0 to C - 1, which become -1 and +1 (two
    classes) or one-hot rows. mask [P, S]: 1 for a real token. readout: which token the network's
    answer is read from, "first_token" ([CLS]), "last_token" (the last real one) or "mean".
    test: {"inputs": ..., "attentions": ..., "labels": ..., "mask": ..., "ids": ...} for the test
    set; sets: the same by name for further ones, e.g. {"validation": {...}}.

    Arrays may be anything with a shape and slices: numpy, memory maps, h5py data sets, tensors. They
    are read in blocks, so that none need fit into memory. Attention on masked keys becomes 0, rows
    are normalised again, rows of masked queries become 0.

    The file appears whole or not at all. Returns its path.
    Errors: BadDataError (shapes, values that are not finite, rows that are no attention weights),
    UsageError (an option), CannotWriteError.
    """
    splits = _splits({"inputs": inputs, "attentions": attentions, "labels": labels, "mask": mask,
                      "ids": ids}, test, sets, required=("inputs", "attentions", "labels"))
    sources = {}
    for name, given in splits.items():
        if hasattr(given["attentions"], "shape") or not len(given["attentions"]):
            raise UsageError(f"{name}: attentions: is no list of layers; allowed: one array "
                             "[P, H_l, S, S] for each layer")
        sources[name] = Source(array_blocks(name, given), len(given["inputs"]), given)
    options = Options(readout, classes, head_names, note or "attention of a network that the "
                       "theory takes as given", dtype, None)
    return write_network(Path(path), sources, options, overwrite)


def from_hugging_face(path: str | os.PathLike, model, encoded: Mapping[str, Any], labels, *,
                      ids: Sequence[str] | None = None, test: Mapping[str, Any] | None = None,
                      sets: Mapping[str, Mapping[str, Any]] | None = None,
                      form: str = "attention", layers: Sequence[int] | None = None,
                      readout: str = "first_token", classes: int | None = None,
                      batch_size: int = 16,
                      head_names: Sequence[Sequence[str]] | None = None, note: str | None = None,
                      dtype="float32", overwrite: bool = False) -> Path:
    """Writes a data set from what a Hugging Face transformer computes on examples.

    model: whatever, called as model(**batch, output_attentions=True, output_hidden_states=True),
    gives .attentions and .hidden_states: an encoder or a decoder of `transformers`, with a head or
    without. Load it with attn_implementation="eager"; other implementations do not return attention.
    encoded: what the tokenizer returns, padded to one length for all splits, e.g.
      tokenizer(texts, padding="max_length", max_length=64, truncation=True, return_tensors="pt")
    Its attention_mask, where there is one, tells padding. labels, classes, ids and readout as for
    from_attentions; decoders want readout="last_token".
    test: {"encoded": ..., "labels": ...} for the test set; sets: the same by name.
    form: "attention" or "contributions".
    layers: which layers to keep, counted from 1, or -1, -2, ... from the last one down; ascending.
    With "attention" by default all; the inputs of the data set are what enters the first of them: the
    embeddings of the tokens for layer 1. The theory works with all p = H_1 H_2 ... paths of heads
    through the layers, at a cost that grows as p^2: keep two or three layers of a large model.

    "contributions" takes blocks like those of BERT, DistilBERT, ALBERT, GPT-2 and Llama apart, by
    default the last one, into path features [P, p, N]: p = H + 2 parts of one layer (residual stream,
    heads, feed-forward block), (H + 2)^2 of two. Their sum is what the network says of the token, or
    the mean over tokens, that `readout` names; this is checked to 1e-5. They are written without
    their means over the training examples, scaled to a mean kernel diagonal of 1; real labels lose
    their means too. Names of the parts: "L6 residual", "L6H3", "L6 feed-forward".

    The model runs without gradients, in evaluation mode (dropout off), `batch_size` examples at a
    time, each batch written before the next. Its training mode is restored.
    Errors: UsageError (no attention returned, blocks that are not known, an option), BadDataError,
    CannotWriteError.
    """
    splits = _splits({"encoded": encoded, "labels": labels, "ids": ids}, test, sets,
                     required=("encoded", "labels"))
    contributions = _checked_form(form, head_names)
    kept = checked_layers(layers, lambda: model.config.num_hidden_layers)
    sources = {}
    for name, given in splits.items():
        if not isinstance(given["encoded"], Mapping):
            raise UsageError(f"{name}: encoded: is {type(given['encoded']).__name__}; allowed: the "
                             "mapping that a tokenizer returns")
    if contributions:
        from headway.network_blocks import stack_of
        from headway.network_contributions import hugging_face_states

        def states(name, given, first):
            return hugging_face_states(model, given["encoded"], first, batch_size, name)
        with evaluating(model, batch_size, torch_attention=False):
            return _write_parts(Path(path), stack_of(model), states, splits, "encoded",
                                Options(readout, classes, None, note or "", dtype, kept), overwrite)
    for name, given in splits.items():
        sources[name] = Source(
            lambda name=name, given=given: hugging_face_blocks(model, given["encoded"], kept,
                                                                batch_size, name),
            examples_in(given["encoded"]), given)
    options = Options(readout, classes, head_names, note or _note_of(model, kept), dtype, kept)
    with evaluating(model, batch_size, torch_attention=False):
        return write_network(Path(path), sources, options, overwrite)


def from_torch(path: str | os.PathLike, model, inputs, labels, *, readout: str, mask=None,
               ids: Sequence[str] | None = None, test: Mapping[str, Any] | None = None,
               sets: Mapping[str, Mapping[str, Any]] | None = None,
               form: str = "attention", layers: Sequence[int] | None = None,
               classes: int | None = None, batch_size: int = 16,
               head_names: Sequence[Sequence[str]] | None = None, note: str | None = None,
               dtype="float32", overwrite: bool = False) -> Path:
    """Writes a data set from a PyTorch model whose attention is torch.nn.MultiheadAttention.

    Every such module inside `model` that attends to its own tokens is one layer, in the order in
    which the model calls them; torch.nn.TransformerEncoder is made of them. While this runs they
    are made to compute the weights of each head (average_attn_weights=False).
    inputs: what the model takes, the first index being the example: a tensor, a tuple of tensors
    (called as model(*batch)) or a mapping (model(**batch)). mask [P, S]: 1 for a real token; by
    default the key_padding_mask that the model hands to its first layer. test: {"inputs": ...,
    "labels": ..., "mask": ...} for the test set; sets: the same by name. The rest is as for
    from_hugging_face; the inputs of the data set are the queries of the first layer kept.
    form="contributions", of a model made of torch.nn.TransformerEncoderLayer: as there.
    """
    splits = _splits({"inputs": inputs, "labels": labels, "mask": mask, "ids": ids}, test, sets,
                     required=("inputs", "labels"))
    contributions = _checked_form(form, head_names)
    kept = checked_layers(layers, lambda: sum(
        type(module).__name__ == "MultiheadAttention" for module in model.modules()))
    if contributions:
        from headway.network_blocks import stack_of
        from headway.network_contributions import torch_states
        stack = stack_of(model)

        def states(name, given, first):
            return torch_states(model, stack, given, first, batch_size)
        with evaluating(model, batch_size, torch_attention=True):
            return _write_parts(Path(path), stack, states, splits, "inputs",
                                Options(readout, classes, None, note or "", dtype, kept), overwrite)
    sources = {
        name: Source(lambda name=name, given=given: torch_blocks(model, given, kept, batch_size,
                                                                   name),
                      examples_in(given["inputs"]), given)
        for name, given in splits.items()}
    options = Options(readout, classes, head_names, note or _note_of(model, kept), dtype, kept)
    with evaluating(model, batch_size, torch_attention=True):
        return write_network(Path(path), sources, options, overwrite)


# ---- arguments


def _splits(train: Mapping[str, Any], test: Any, sets: Any,
            required: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """All splits under the names of their groups in the file."""
    given = {"train": train}
    if test is not None:
        given["test"] = test
    if sets is not None and not isinstance(sets, Mapping):
        raise UsageError("sets: is no mapping of names to mappings")
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
            raise UsageError(f"{name}: {missing[0]} is missing")
    return given


def checked_layers(layers: Sequence[int] | None, count: Callable[[], int]) -> list[int] | None:
    """Layers counted from 1; `count` says how many the model has, where that is asked for."""
    if layers is None:
        return None
    kept = [int(layer) for layer in layers]
    if any(layer < 0 for layer in kept):
        try:
            kept = [layer + count() + 1 if layer < 0 else layer for layer in kept]
        except AttributeError:
            raise UsageError(f"layers: is {kept}: the model does not say how many layers it has; "
                             "allowed: numbers from 1, the layer at the input") from None
    if not kept or kept[0] < 1 or any(b <= a for a, b in zip(kept, kept[1:])):
        raise UsageError(f"layers: is {list(layers)}; allowed: ascending numbers from 1, the layer at "
                         "the input, or from -1, the last layer, down")
    return kept


def _checked_form(form: str, head_names: Any) -> bool:
    """Are contributions wanted?"""
    if form not in ("attention", "contributions"):
        raise UsageError(f"form: is {form!r}; allowed: \"attention\", \"contributions\"")
    if form == "contributions" and head_names is not None:
        raise UsageError("head_names: is given with form=\"contributions\", which names its parts")
    return form == "contributions"


def _write_parts(path: Path, stack: Any, states: Callable, splits: Mapping[str, Mapping[str, Any]],
                 inputs: str, options: Options, overwrite: bool) -> Path:
    from headway.contribution_writer import write_contributions
    from headway.network_contributions import contribution_blocks, part_names
    kept = options.layers or [len(stack.blocks)]
    if kept[-1] > len(stack.blocks):
        raise UsageError(f"layers: holds {kept[-1]}; the model has {len(stack.blocks)} layers")
    sources = {name: Source(
        lambda name=name, given=given: contribution_blocks(
            stack, states(name, given, kept[0]), kept, options.readout, name),
        examples_in(given[inputs]), given) for name, given in splits.items()}
    note = options.note or (
        f"contributions of the parts of layers {', '.join(map(str, kept))} of {stack.model_name} to "
        "its readout, attention, norms and gates frozen, without their means over the training "
        "examples (those of real labels too), scaled to a mean kernel diagonal of 1")
    return write_contributions(path, sources, part_names(stack, kept), replace(options, note=note),
                               overwrite)


def _note_of(model: Any, layers: Sequence[int] | None) -> str:
    kept = "all layers" if layers is None else f"layers {', '.join(map(str, layers))}"
    return (f"attention of {type(model).__name__}, {kept}, each at its own inputs in the network; the "
            "theory takes it as given and mixes the inputs of the lowest layer")
