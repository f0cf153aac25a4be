"""Data sets from trained networks: arrays, Hugging Face models, PyTorch modules.

form="contributions" is an exact split of the network: what every part of the kept layers contributes to its readout, with
attention, norms and gates frozen (headway.network_contributions).

form="attention" is an approximation. The theory takes the attention of every head on every example as the network
computed it. A trained network computes the attention of layer l from what the layers below made of the input. The theory
keeps it fixed and mixes the inputs of the lowest layer kept along the attention paths. Feed-forward blocks, residual
streams, LayerNorm and the values that the network learned are left out. It is a good approximation only so far as the
attention tells what the network does. The file says so in its note.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.base.files import path_to_write
from headway.base.paths import described
from headway.base.signatures import with_known_arguments
from headway.base.torch_version import require_torch
from headway.errors import UsageError
from headway.heads.causal_attention import readout_by_attention
from headway.heads.network_arguments import (as_of_train, checked_encoded, checked_form, checked_inputs, checked_layers, note_of,
                                       splits_of, write_parts)
from headway.heads.network_batches import (array_blocks, evaluating, hugging_face_blocks,
                                     require_examples, torch_blocks)
from headway.heads.network_masks import checked_mask
from headway.heads.network_tokens import placed
from headway.heads.network_writer import Options, Source, write_network

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


@with_known_arguments
def from_attentions(path: str | os.PathLike, *, inputs: ArrayLike, attentions: Sequence[ArrayLike],
                    labels: ArrayLike, readout: str, mask: ArrayLike | None = None,
                    ids: Sequence[str] | None = None, test: Mapping[str, Any] | None = None,
                    sets: Mapping[str, Mapping[str, Any]] | None = None, classes: int | None = None,
                    head_names: Sequence[Sequence[str]] | None = None, note: str | None = None,
                    dtype: DTypeLike = "float32", overwrite: bool = False) -> Path:
    """Write a data set for `headway solve` and `headway prune` from attention matrices.

    Parameters
    ----------
    path : str or path
        The file, which appears whole or not at all.
    inputs : array_like of shape (P, S, N_0)
        What enters the lowest layer.
    attentions : sequence of array_like of shape (P, H_l, S, S)
        One array for each layer, from the input up, indexed [example, head, query, key], after the
        softmax.
    labels : array_like of shape (P,) or (P, C)
        Targets. Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together
        with `classes`. All else are real targets. The file has two classes as -1 and +1, more as one-hot.
    readout : {'first_token', 'last_token', 'mean'}
        The token that the network's answer is read from: the first real one ([CLS]), the last real one, or all.
    mask : array_like of shape (P, S), optional
        1 for a real token, 0 for padding.
    ids : sequence of str, optional
        A name for each example.
    test : mapping of str to array_like, optional
        The test set: {"inputs": ..., "attentions": ..., "labels": ..., "mask": ..., "ids": ...}.
    sets : mapping of str to mapping, optional
        Further sets by name, each as `test`: {"validation": {...}}.
    classes : int, optional
        Number of classes C, where labels are class numbers 0 to C - 1; 0: labels are real targets.
    head_names : sequence of sequence of str, optional
        Names of the heads of each layer that is kept; default: "L3H1" for head 1 of layer 3. Not with
        contributions, which name their parts.
    note : str, optional
        What the data are, in words; default: how they were made.
    dtype : {'float32', 'float64'}, default: 'float32'
        Type of the arrays in the file.
    overwrite : bool, default: False
        Replace a file that exists.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    BadDataError
        Arrays of the wrong shape, values that are not finite, rows that are not attention weights.
    UsageError
        An option that is not allowed, or a model that is not known.
    CannotWriteError
        The file exists without overwrite=True, or cannot be written.

    Notes
    -----
    Arrays may be anything with a shape and slices: numpy arrays, memory maps, h5py data sets, tensors.
    They are read in blocks, so that none need fit into memory. Attention on masked keys becomes 0, rows
    are normalised again, and rows of masked queries become 0.

    Examples
    --------
    >>> import numpy as np, headway
    >>> x, uniform = np.random.default_rng(1).standard_normal((12, 3, 5)), np.full((12, 2, 3, 3), 1 / 3)
    >>> path = headway.from_attentions("heads.h5", inputs=x, attentions=[uniform], labels=np.resize([0, 1], 12),
    ...                                readout="first_token")
    >>> headway.check_dataset(path)
    []
    """
    splits = splits_of({"inputs": inputs, "attentions": attentions, "labels": labels, "mask": mask,
                      "ids": ids}, test, sets, required=("inputs", "attentions", "labels"))
    sources = {}
    for name, given in splits.items():
        if hasattr(given["attentions"], "shape") or not len(given["attentions"]):
            raise UsageError(f"{name}: attentions: is no list of layers; allowed: one array "
                             "[P, H_l, S, S] for each layer")
        count = require_examples(f"{name}: inputs", len(given["inputs"]))
        given = _with_mask(name, given, count, (np.shape(given["inputs"][0]) or (None,))[0])
        sources[name] = Source(array_blocks(name, given), count, given)
    options = Options(readout, classes, head_names, note or "attention of a network that the "
                       "theory takes as given", dtype, None)
    return write_network(path_to_write(path), sources, options, overwrite)


@with_known_arguments
def from_hugging_face(path: str | os.PathLike, model: Any, encoded: Mapping[str, Any], labels: ArrayLike, *,
                      ids: Sequence[str] | None = None, test: Mapping[str, Any] | None = None,
                      sets: Mapping[str, Mapping[str, Any]] | None = None,
                      form: str = "attention", layers: int | Sequence[int] | None = None,
                      readout: str | None = None, classes: int | None = None,
                      batch_size: int = 16,
                      head_names: Sequence[Sequence[str]] | None = None, note: str | None = None,
                      dtype: DTypeLike = "float32", overwrite: bool = False) -> Path:
    """Write a data set from what a Hugging Face transformer computes on examples.

    Parameters
    ----------
    path : str or path
        The file, which appears whole or not at all.
    model : transformers.PreTrainedModel
        An encoder or a decoder, with a head or without, loaded with attn_implementation="eager": other
        implementations return no attention.
    encoded : mapping of str to array_like of shape (P, S)
        What the tokenizer returns, padded to one length for all splits. Its attention_mask tells padding, on either side.
        Where padding would move the positions of tokens, the model gets position_ids, and a warning says so.
    labels : array_like of shape (P,) or (P, C)
        Targets. Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together
        with `classes`. All else are real targets. The file has two classes as -1 and +1, more as one-hot.
    ids : sequence of str, optional
        A name for each example.
    test : mapping of str to value, optional
        The test set: {"encoded": ..., "labels": ..., "ids": ...}.
    sets : mapping of str to mapping, optional
        Further sets by name, each as `test`: {"validation": {...}}.
    form : {'attention', 'contributions'}, default: 'attention'
        What the file holds of the network: the attention of its heads, or exact parts of its readout.
    layers : int or sequence of int, optional
        Layers that are kept, counted from 1, or from -1, the last, down; ascending. Default: all, with
        contributions the last one.
    readout : {'first_token', 'last_token', 'mean'}, optional
        The token that the network's answer is read from: the first real one ([CLS]), the last, or all. Default: the last where no
        token attends to a later one (decoders), else the first.
    classes : int, optional
        Number of classes C, where labels are class numbers 0 to C - 1; 0: labels are real targets.
    batch_size : int, default: 16
        Examples that the model sees at a time.
    head_names : sequence of sequence of str, optional
        Names of the heads of each layer that is kept; default: "L3H1" for head 1 of layer 3. Not with
        contributions, which name their parts.
    note : str, optional
        What the data are, in words; default: how they were made.
    dtype : {'float32', 'float64'}, default: 'float32'
        Type of the arrays in the file.
    overwrite : bool, default: False
        Replace a file that exists.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    BadDataError
        Arrays of the wrong shape, values that are not finite, rows that are not attention weights.
    UsageError
        An option that is not allowed, or a model that is not known.
    CannotWriteError
        The file exists without overwrite=True, or cannot be written.
    UnavailableError
        form="contributions" without PyTorch, or with one older than 1.13.

    Notes
    -----
    The model runs without gradients and without dropout. Each batch is written before the next, and the
    model's training mode is restored.

    The theory works with all p = H_1 H_2 ... paths of heads through the layers that are kept, at a cost that
    grows as p^2: keep one to three layers of a large model. With "attention" the inputs of the data set
    are what enters the first layer kept.

    "contributions" takes blocks like those of BERT, DistilBERT, ALBERT, GPT-2 and Llama apart into path
    features [P, p, N]: of one layer p = H + 2 parts (residual stream, heads, feed-forward block), of two
    (H + 2)^2. Their sum is the network's own readout, which is checked to 1e-5 on every example. They are
    written without their means over the training examples, scaled to a mean kernel diagonal of 1; real
    labels lose their means too. Parts are called "L6 residual", "L6H3", "L6 feed-forward".
    `help(headway.network_contributions)` has the formulas.

    Examples
    --------
    >>> encoded = tokenizer(texts, padding="max_length", max_length=64, truncation=True,
    ...                     return_tensors="pt")  # doctest: +SKIP
    >>> headway.from_hugging_face("heads.h5", model, encoded, labels, classes=2, layers=[-1],
    ...                           form="contributions", readout="mean")  # doctest: +SKIP
    """
    splits = splits_of({"encoded": encoded, "labels": labels, "ids": ids}, test, sets,
                     required=("encoded", "labels"))
    contributions = checked_form(form, head_names)
    kept = checked_layers(layers, lambda: model.config.num_hidden_layers)
    if contributions:
        require_torch("headway.from_hugging_face: form=\"contributions\"")
    counts = {name: checked_encoded(model, f"{name}: encoded", given["encoded"]) for name, given in splits.items()}
    splits = {name: {**given, "encoded": placed(model, f"{name}: encoded", given["encoded"])} for name, given in splits.items()}
    if contributions:
        from headway.heads.network_blocks import stack_of
        from headway.heads.network_contributions import hugging_face_states

        def states(name, given, first):
            return hugging_face_states(model, given["encoded"], first, batch_size, name)
        with evaluating(model, batch_size, torch_attention=False):
            stack = stack_of(model)
            readout = readout or readout_by_attention(model, encoded, batch_size, "train")
            return write_parts(path_to_write(path), stack, states, splits, "encoded",
                                Options(readout, classes, None, note or "", dtype, kept), overwrite)
    sources = {
        name: Source(lambda name=name, given=given: hugging_face_blocks(model, given["encoded"], kept,
                                                                          batch_size, name),
                     counts[name], given, "encoded")
        for name, given in splits.items()}
    with evaluating(model, batch_size, torch_attention=False):
        readout = readout or readout_by_attention(model, encoded, batch_size, "train")
        options = Options(readout, classes, head_names, note or note_of(model, kept), dtype, kept)
        return write_network(path_to_write(path), sources, options, overwrite)


@with_known_arguments
def from_torch(path: str | os.PathLike, model: Any, inputs: Any, labels: ArrayLike, *, readout: str,
               mask: ArrayLike | None = None, ids: Sequence[str] | None = None,
               test: Mapping[str, Any] | None = None,
               sets: Mapping[str, Mapping[str, Any]] | None = None,
               form: str = "attention", layers: int | Sequence[int] | None = None,
               classes: int | None = None, batch_size: int = 16,
               head_names: Sequence[Sequence[str]] | None = None, note: str | None = None,
               dtype: DTypeLike = "float32", overwrite: bool = False) -> Path:
    """Write a data set from a PyTorch model whose attention is torch.nn.MultiheadAttention.

    Parameters
    ----------
    path : str or path
        The file, which appears whole or not at all.
    model : torch.nn.Module
        Every torch.nn.MultiheadAttention inside it that attends to its own tokens is one layer, in the
        order of the calls. torch.nn.TransformerEncoder is made of them.
    inputs : tensor, tuple of tensor, or mapping of str to tensor
        What the model takes, the first index being the example: called as model(x), model(*batch) or
        model(**batch).
    labels : array_like of shape (P,) or (P, C)
        Targets. Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together
        with `classes`. All else are real targets. The file has two classes as -1 and +1, more as one-hot.
    readout : {'first_token', 'last_token', 'mean'}
        The token that the network's answer is read from: the first real one ([CLS]), the last real one, or all.
    mask : array_like of shape (P, S), optional
        1 or True for a real token, 0 or False for padding: the opposite of a key_padding_mask of PyTorch. The model does not
        get it. A model that should know its padding gets its own mask with `inputs`; a warning says where it attends to
        padding. Default: from the key_padding_mask that the model hands to its first layer.
    ids : sequence of str, optional
        A name for each example.
    test : mapping of str to value, optional
        The test set: {"inputs": ..., "labels": ..., "mask": ..., "ids": ...}.
    sets : mapping of str to mapping, optional
        Further sets by name, each as `test`: {"validation": {...}}.
    form : {'attention', 'contributions'}, default: 'attention'
        What the file holds of the network: the attention of its heads, or exact parts of its readout.
    layers : int or sequence of int, optional
        Layers that are kept, counted from 1, or from -1, the last, down; ascending. Default: all, with
        contributions the last one.
    classes : int, optional
        Number of classes C, where labels are class numbers 0 to C - 1; 0: labels are real targets.
    batch_size : int, default: 16
        Examples that the model sees at a time.
    head_names : sequence of sequence of str, optional
        Names of the heads of each layer that is kept; default: "L3H1" for head 1 of layer 3. Not with
        contributions, which name their parts.
    note : str, optional
        What the data are, in words; default: how they were made.
    dtype : {'float32', 'float64'}, default: 'float32'
        Type of the arrays in the file.
    overwrite : bool, default: False
        Replace a file that exists.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    BadDataError
        Arrays of the wrong shape, values that are not finite, rows that are not attention weights.
    UsageError
        An option that is not allowed, or a model that is not known.
    CannotWriteError
        The file exists without overwrite=True, or cannot be written.
    UnavailableError
        form="contributions" without PyTorch, or with one older than 1.13.

    Notes
    -----
    While it runs, the attention modules are made to compute the weights of each head. The inputs of the
    data set are the queries of the first layer kept. All else is as for `headway.from_hugging_face`;
    "contributions" needs a model made of torch.nn.TransformerEncoderLayer.

    Examples
    --------
    >>> encoder = torch.nn.TransformerEncoder(layer, num_layers=2)  # doctest: +SKIP
    >>> headway.from_torch("heads.h5", encoder, x, labels, readout="mean", layers=[-1])  # doctest: +SKIP
    """
    if not hasattr(model, "modules"):
        raise UsageError(f"model: is {described(model)}; allowed: a torch.nn.Module")
    splits = splits_of({"inputs": inputs, "labels": labels, "mask": mask, "ids": ids}, test, sets,
                     required=("inputs", "labels"))
    contributions = checked_form(form, head_names)
    kept = checked_layers(layers, lambda: sum(
        type(module).__name__ == "MultiheadAttention" for module in model.modules()))
    if contributions:
        require_torch("headway.from_torch: form=\"contributions\"")
    counts = {name: checked_inputs(f"{name}: inputs", given["inputs"]) for name, given in splits.items()}
    splits = {name: _with_mask(name, given, counts[name]) for name, given in splits.items()}
    if contributions:
        from headway.heads.network_blocks import stack_of
        from headway.heads.network_contributions import torch_states
        stack = stack_of(model)

        def states(name, given, first):
            return as_of_train(torch_states(model, stack, given, first, batch_size, name), name, given, splits["train"])
        with evaluating(model, batch_size, torch_attention=True):
            return write_parts(path_to_write(path), stack, states, splits, "inputs",
                                Options(readout, classes, None, note or "", dtype, kept), overwrite)
    sources = {
        name: Source(lambda name=name, given=given: as_of_train(torch_blocks(model, given, kept, batch_size, name), name, given,
                                                               splits["train"]), counts[name], given)
        for name, given in splits.items()}
    options = Options(readout, classes, head_names, note or note_of(model, kept), dtype, kept)
    with evaluating(model, batch_size, torch_attention=True):
        return write_network(path_to_write(path), sources, options, overwrite)


def _with_mask(name: str, given: Mapping[str, Any], count: int, tokens: int | None = None) -> Mapping[str, Any]:
    """A split whose mask, if it has one, is checked."""
    if given.get("mask") is None:
        return given
    return {**given, "mask": checked_mask(f"{name}: mask", given["mask"], count, tokens)}
