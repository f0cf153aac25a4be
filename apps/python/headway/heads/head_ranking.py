"""headway.rank_heads: a ranking of heads that one can prune by, with its errors.

It needs PyTorch, which is loaded when it is called. headway/ranking does the work.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.base.progress import Progress, listener_of
from headway.base.readout_checks import checked_penalty, checked_seed
from headway.base.signatures import with_known_arguments
from headway.base.torch_version import require_torch
from headway.errors import UsageError
from headway.heads.ranking.parts import measure_parts
from headway.results.ranking.cumulative import RemovalCurves
from headway.results.ranking.measured import FROZEN
from headway.results.ranking.table import HeadRanking, check_choice, ranking_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LONGEST = 128  # tokens of a text


@with_known_arguments
def rank_heads(model: Any, inputs: Mapping[str, Any] | Sequence[str], labels: ArrayLike, *, tokenizer: Any = None,
               layers: int | Sequence[int] | None = None, readout: str | None = None, classes: int | None = None,
               target: str = "fixed", mode: str = "mean", k: int | None = None, penalty: float | None = None,
               grouped: bool = True, theory: bool | None = None, batch_size: int = 16, seed: int = 1,
               cache: str | os.PathLike | None = None, progress: bool | Progress | None = None,
               heads: Mapping[str, int] | None = None, shared: str = "each", mask: ArrayLike | None = None) -> HeadRanking:
    """Rank the heads of a model of transformers or PyTorch by what their removal costs, and say how sure the order is.

    Each head is removed: its output is put at its mean, and at zero, before its output projection, and everything above is
    computed again. A ridge regression reads the labels off what the network then says, and each example is left out of it in
    turn. The combined estimate draws the measured cost towards the one that the readout expects: the less the examples tell,
    the more.

    Parameters
    ----------
    model : torch.nn.Module
        A model of transformers with blocks like those of BERT, DistilBERT, ALBERT, GPT-2 or Llama, or any other model of PyTorch
        together with `heads`. Attention entropy and cuts need a known kind, and attn_implementation="eager". Cuts also need single
        or double precision, and blocks that do nothing else.
    inputs : mapping of str to array_like of shape (P, S), sequence of str, tensor, or tuple of tensor
        What the tokenizer returns for the examples, or the texts themselves together with `tokenizer`. A model of PyTorch is
        called as model(x), model(*batch) or model(**batch), the first index being the example.
    labels : array_like of shape (P,) or (P, C)
        Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together with `classes`. All else are
        real targets; rows of whole numbers, as token ids are, only with classes=0. `headway.ablate_heads(..., loss=)`
        measures the loss of a language model.
    tokenizer : callable, optional
        The model's tokenizer, for texts. They are padded, and cut after 128 tokens.
    layers : int or sequence of int, optional
        Layers whose heads are ranked, counted from 1, or from -1, the last, down; ascending. Default: all.
    readout : {'first_token', 'last_token', 'mean'}, optional
        The token that the embedding is taken from. Default: the last real token of a causal model, the first of any other. A model
        is causal if its answer at the first token stays the same when all later tokens change.
    classes : int, optional
        Number of classes C, where labels are class numbers; 0: labels are real targets.
    target : {'fixed', 'refitted'}, default: 'fixed'
        What the combined estimate is of: the cost with the readout as it is, or after it has been fitted again. On fresh
        tasks "fixed" ranked heads better by the first of these costs. By the cost after refitting no difference is shown:
        data/results/head-ranking.md.
    mode : {'mean', 'zero'}, default: 'mean'
        What the output of a removed head is put at, in the combined estimate.
    k : int, optional
        The k of the column `among_cheapest`; default: a quarter of the heads.
    penalty : float, optional
        L2 penalty of the readout, on standardised embeddings; default: the one of smallest error on examples left out.
    grouped : bool, default: True
        Where several queries share a key and a value, they are one head, that of the key and the value, and are removed
        together. False: each query is a head.
    theory : bool, optional
        Measure the cut with the theory's U, too; default: where the extension module is there.
    batch_size : int, default: 16
        Examples that the model sees at a time.
    seed : int, default: 1
        Of the draws of the estimate and of the halves of examples.
    cache : path, optional
        A file that keeps every head that is finished. A call with the same model, examples and options goes on from there.
    progress : bool or callable, optional
        A function of (stage, done, total), or True for a bar; default: a bar at a terminal.
    heads : mapping of str to int, optional
        {name of a module: number of heads}, for any model of PyTorch: the modules that project concatenated heads, by their names in
        `model.named_modules()`. Hooks in front of them remove the heads. Default: the modules of a known kind, or every
        torch.nn.MultiheadAttention.
    shared : {'each', 'all'}, default: 'each'
        Where a pass calls such a module several times, as in ALBERT: each call has heads of its own, and a removal touches that call
        alone; or a removal touches all calls. Layers go in the order of the calls.
    mask : array_like of shape (P, S), optional
        1 for a real token, 0 for padding, of a model of PyTorch. The model does not get it. Default: `attention_mask` or a
        `key_padding_mask` among named inputs.

    Returns
    -------
    HeadRanking
        One row for each head. Every column has its standard error in NAME_error, and its cost in `passes`:
        `rank` (heads that cannot be told apart share one), `estimate` with `estimate_low`, `estimate_high` (90 %) and
        `among_cheapest`, the probability to be one of the k cheapest; `removal_MODE_TARGET`, the measured rises of the
        squared error; `expected_MODE_TARGET`, the rises that the readout expects; `cut_without_theory` and
        `cut_of_theory`, cuts of frozen parts with U = 1 and with the theory's U; `gradient`, `weight_norm`,
        `attention_entropy`.

    Raises
    ------
    UsageError
        An option that is not allowed, a model without heads that are known or named, one that transformers has pruned, or one
        whose heads cannot be removed cleanly; a cache of something else.
    BadDataError
        Masks that hide every token of an example, labels that are the same for all examples, fewer examples than
        classes, too few examples, a model whose embeddings are not finite.
    UnavailableError
        PyTorch is missing, or older than 1.13.

    Notes
    -----
    Before anything is measured the removal checks itself on a few examples: the head is at its mean or zero, the other heads
    are unchanged, the layer loses just what the head adds, without all heads the attention is gone, the embeddings change with
    the heads, and what the projection makes of each head alone sums up to its output. A check that fails is named.

    A model answers with [P, S, N], of which `readout` takes a token, or with [P, N], which is read as it is. Of an answer of
    transformers the last hidden state is read. While it is measured, other calls of Headway on the model wait, and it is in
    evaluation mode.

    Rises are of the mean squared error over examples that the readout did not see. Their errors include the noise of the
    examples and that of the fit (`headway.results.ranking.removal`). The rule of the estimate is in `headway.results.ranking.combine`.

    Examples
    --------
    >>> ranking = headway.rank_heads(model, texts, labels, tokenizer=tokenizer, layers=[-1],
    ...                              readout="mean")  # doctest: +SKIP
    >>> ranking.cheapest(3), ranking["among_cheapest"]  # doctest: +SKIP
    >>> ranking.to_csv("heads.csv")  # doctest: +SKIP
    >>> headway.rank_heads(model, (x, mask), labels, mask=mask, heads={"blocks.0.attn.proj": 4})  # doctest: +SKIP
    """
    require_torch("headway.rank_heads")
    from headway.heads.ranking.measuring import Options, measure
    penalty, seed = checked_penalty(penalty), checked_seed(seed)
    options = Options(layers, readout, classes, penalty, grouped, theory, batch_size, seed, cache, heads, shared, mask)
    measured, names, modules = measure(model, encoded_of(inputs, tokenizer), labels, options, listener_of(progress),
                                       lambda count: check_choice(mode, target, k, count))
    return ranking_of(measured, mode, target, k, seed, names, modules)


@with_known_arguments
def rank_parts(path: str | os.PathLike, *, target: str = "fixed", k: int | None = None, penalty: float | None = None,
               theory: bool | None = None, seed: int = 1) -> HeadRanking:
    """Rank the parts of one layer from a data set of contributions by frozen cuts, without the network.

    A frozen cut takes a part off and keeps everything else as it was, also what the part feeds. That is no removal: it tells
    neither what removing a head costs nor which head is cheapest. See `headway.rank_heads` for removal, and `headway
    prune-network` for networks that Headway trained.

    Parameters
    ----------
    path : str or path
        A data set of `headway extract`, `headway.from_hugging_face` or `headway.from_torch`, of contributions of one layer.
        Its training examples are used, each left out in turn.
    target : {'fixed', 'refitted'}, default: 'fixed'
        As for `headway.rank_heads`.
    k : int, optional
        As for `headway.rank_heads`.
    penalty : float, optional
        As for `headway.rank_heads`.
    theory : bool, optional
        As for `headway.rank_heads`.
    seed : int, default: 1
        As for `headway.rank_heads`.

    Returns
    -------
    HeadRanking
        One row for each part, under its name in the file: heads, residual stream, feed-forward block. Columns as of
        `headway.rank_heads`, with `frozen_cut_TARGET` for what is measured, `among_smallest_cuts`, and without scores
        of the network.

    Raises
    ------
    UsageError
        An option that is not allowed.
    BadDataError
        A data set of something else, labels or parts that are the same for all examples, fewer examples than classes, too few examples.
    UnreadableFileError
        The file cannot be read.

    Examples
    --------
    >>> ranking = headway.rank_parts("parts.h5")  # doctest: +SKIP
    >>> ranking["cut_of_theory"] - ranking["cut_without_theory"]  # what U adds  # doctest: +SKIP
    """
    check_choice("mean", target, None, 0)
    penalty, seed = checked_penalty(penalty), checked_seed(seed)
    measured, names = measure_parts(path, penalty, theory, seed)
    return ranking_of(measured, FROZEN, target, k, seed, names)


@with_known_arguments
def remove_in_order(model: Any, inputs: Mapping[str, Any] | Sequence[str], labels: ArrayLike, ranking: HeadRanking, *,
                    test: Mapping[str, Any] | None = None, tokenizer: Any = None, orders: Sequence[str] = ("estimate",),
                    random: int = 5, greedy: bool = False, most: int | None = None, classes: int | None = None,
                    batch_size: int = 16, seed: int = 1, progress: bool | Progress | None = None,
                    heads: Mapping[str, int] | None = None, shared: str = "each", mask: ArrayLike | None = None) -> RemovalCurves:
    """Remove head after head in the order of a ranking, fit the readout again each time, and measure the error.

    Parameters
    ----------
    model : torch.nn.Module
        The model that was ranked.
    inputs : mapping of str to array_like of shape (P, S), sequence of str, tensor, or tuple of tensor
        The labelled examples that the readout is fitted to, as for `headway.rank_heads`.
    labels : array_like of shape (P,) or (P, C)
        As for `headway.rank_heads`.
    ranking : HeadRanking
        What `headway.rank_heads` said of this model.
    test : mapping of str to value, optional
        {"inputs": ..., "labels": ..., "mask": ...}: examples that errors are measured on. Default: the labelled ones, each left out in
        turn. An order that was chosen on them looks better there than it is.
    tokenizer : callable, optional
        The model's tokenizer, for texts.
    orders : sequence of str, default: ('estimate',)
        Columns of the ranking. Heads go in rising order of each.
    random : int, default: 5
        How many random orders are removed for comparison.
    greedy : bool, default: False
        Search greedily, too: the head whose loss costs least goes next, by the labelled examples, each left out. For H heads
        that takes H^2 / 2 removals.
    most : int, optional
        How many heads go; default: all of the ranking.
    classes : int, optional
        As for `headway.rank_heads`.
    batch_size : int, default: 16
        Examples that the model sees at a time.
    seed : int, default: 1
        Of the random orders.
    progress : bool or callable, optional
        As for `headway.rank_heads`.
    heads, shared, mask : mapping, str, array_like, optional
        As for `headway.rank_heads`. The first two must be those of the ranking.

    Returns
    -------
    RemovalCurves
        For each order the squared error without its first 0, 1, ... heads, with standard errors.

    Raises
    ------
    UsageError, BadDataError, UnavailableError
        As `headway.rank_heads`; UsageError also for a model that lacks heads of the ranking.

    Examples
    --------
    >>> curves = headway.remove_in_order(model, encoded, labels, ranking, orders=["estimate", "gradient"],
    ...                                  test={"inputs": fresh, "labels": fresh_labels})  # doctest: +SKIP
    >>> curves.curves["estimate"].rise  # without 0, 1, 2, ... heads  # doctest: +SKIP
    """
    require_torch("headway.remove_in_order")
    if not isinstance(ranking, HeadRanking):
        raise UsageError(f"ranking: is {type(ranking).__name__}; allowed: what headway.rank_heads returns")
    if test is not None and (not isinstance(test, Mapping) or set(test) - {"mask"} != {"inputs", "labels"}):
        raise UsageError(f"test: is {list(test) if isinstance(test, Mapping) else type(test).__name__}; allowed: a mapping with "
                         "inputs and labels, and perhaps mask")
    if isinstance(random, bool) or not isinstance(random, int) or random < 0:
        raise UsageError(f"random: is {random!r}; allowed: an integer from 0")
    seed = checked_seed(seed)
    from headway.heads.ranking.removing import remove_in_order as removed
    sets = {"train": (encoded_of(inputs, tokenizer), labels, mask)}
    if test is not None:
        sets["test"] = (encoded_of(test["inputs"], tokenizer), test["labels"], test.get("mask"))
    return removed(model, sets, ranking, list(orders), random, greedy, most, classes, batch_size, seed, listener_of(progress),
                   heads, shared)


def encoded_of(inputs: Any, tokenizer: Any) -> Any:
    """`inputs` if they are what a model takes; what `tokenizer` makes of them if they are texts."""
    if isinstance(inputs, (Mapping, tuple)) or hasattr(inputs, "shape"):
        return inputs
    if isinstance(inputs, str) or not isinstance(inputs, Iterable) or not all(isinstance(text, str) for text in inputs):
        batches = ("" if isinstance(inputs, str) or not isinstance(inputs, Iterable) else
                   ". Concatenate batches, such as those of a DataLoader: torch.cat([x for x, _ in loader])")
        raise UsageError(f"inputs: is {type(inputs).__name__}; allowed: a tensor, a tuple of tensors, a mapping of names to tensors, such "
                         f"as a tokenizer returns, or a sequence of texts together with tokenizer{batches}")
    if tokenizer is None:
        raise UsageError("inputs: are texts, and tokenizer is missing; allowed: texts together with the model's tokenizer")
    return tokenizer(list(inputs), padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
