"""headway.ablate_heads, gradient_sensitivity and head_baselines: what heads are worth to a pretrained network.

They need PyTorch, which is loaded when they are called. headway/heads/head_removal.py does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.base.signatures import with_known_arguments
from headway.base.torch_version import require_torch
from headway.results.head_table import HeadTable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@with_known_arguments
def ablate_heads(model: Any, encoded: Mapping[str, Any], labels: ArrayLike, *,
                 test: Mapping[str, Any] | None = None, layers: int | Sequence[int] | None = None,
                 mode: str = "mean", probe: str = "ridge", penalty: float | None = None,
                 readout: str | None = None, classes: int | None = None, batch_size: int = 16,
                 seed: int = 1, heads: Mapping[str, int] | None = None, shared: str = "each",
                 mask: ArrayLike | None = None, loss: Callable[[Any, Any], Any] | None = None) -> HeadTable:
    """Remove each head of a model of transformers or PyTorch, and measure what a linear readout loses, or the model itself.

    A ridge or logistic regression is fitted once to the embeddings of the whole network. Then the output
    of one head at a time is replaced before its output projection, and everything above is computed
    again. Nothing is frozen or linearised.

    Parameters
    ----------
    model : torch.nn.Module
        A model of transformers with blocks like those of BERT, DistilBERT, ALBERT, GPT-2 or Llama, or any other model of PyTorch
        together with `heads`. Any implementation of attention will do.
    encoded : mapping of str to array_like of shape (P, S), tensor, or tuple of tensor
        What the tokenizer returns for the examples that the readout is fitted to, padded on either side. Where padding
        would move the positions of tokens, the model gets position_ids, and a warning says so. A model of PyTorch is called as
        model(x), model(*batch) or model(**batch), the first index being the example.
    labels : array_like of shape (P,) or (P, C)
        Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together with
        `classes`. All else are real targets.
    test : mapping of str to value, optional
        {"encoded": ..., "labels": ..., "mask": ...}: examples that losses are measured on; default: those of `encoded`.
    layers : int or sequence of int, optional
        Layers whose heads are removed, counted from 1, or from -1, the last, down; ascending. Default: all.
    mode : {'mean', 'zero', 'resample'}, default: 'mean', as of `headway.rank_heads`
        What replaces the output of a head: its mean over all real tokens of `encoded`, nothing, or that of
        another example of its batch: at its first real token, its second, and so on. Where that example has fewer, they
        come again from the first.
    probe : {'ridge', 'logistic'}, default: 'ridge'
        The readout. "logistic" needs classes.
    penalty : float, optional
        L2 penalty of the readout, on standardised embeddings; default: chosen by cross-validation.
    readout : {'first_token', 'last_token', 'mean'}, optional
        The token that the embedding is taken from. Default: the last real token of a causal model, the first of any other. A model
        is causal if its answer at the first token stays the same when all later tokens change.
    classes : int, optional
        Number of classes C, where labels are class numbers; 0: labels are real targets.
    batch_size : int, default: 16
        Examples that the model sees at a time.
    seed : int, default: 1
        Of the order of examples for mode "resample".
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
    loss : callable, optional
        The model's own loss, in place of a readout: a function of what the model returns and of the labels of a batch, which gives
        a number for each example. The labels are whatever it takes, such as token ids. It is measured on `encoded`.

    Returns
    -------
    HeadTable
        Columns: `loss_rise` (of the squared error, of the cross-entropy in nats, or of `loss`) and, without `loss`, `accuracy_drop` (NaN
        where labels are real). Both are positive where the head is needed. Each has `_error`, the standard
        error of the paired differences. `attributes` has loss and accuracy of the whole network, examples,
        mode, probe, penalty, readout, and the set that was measured: `table.attributes["loss"]`.

    Raises
    ------
    UsageError
        An option that is not allowed, a model without heads that are known or named, a module that is no projection of heads.
    BadDataError
        Labels of the wrong shape or form, labels that are the same for all examples, fewer than 2 examples of a class,
        fewer than 8 examples, masks that hide every token of an example, tokens that the model does not know, texts
        longer than its positions.
    UnavailableError
        PyTorch is missing, or older than 1.13.

    Notes
    -----
    It costs one pass of the model, and for each head a pass of the layers from its own up; for named modules a whole pass.
    Then, and with `loss`, the removal first checks itself, as `headway.rank_heads` says. Meanwhile other calls of Headway on the model wait, and the
    model is in evaluation mode. It may answer with [P, S, N], of which `readout` takes a token, or with [P, N].

    Contributions
    of `headway.from_hugging_face` have lost their means, so mode "mean" is what the theory's removal of a
    head corresponds to.

    Examples
    --------
    >>> table = headway.ablate_heads(model, encoded, labels, layers=[-1], mode="mean")  # doctest: +SKIP
    >>> table.grid("loss_rise")  # [layer, head]  # doctest: +SKIP
    >>> table.to_csv("heads.csv")  # doctest: +SKIP

    What a language model loses, in nats a token:

    >>> def loss(said, ids):
    ...     nats = torch.nn.functional.cross_entropy(said.logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    ...     return nats.mean(1)
    >>> headway.ablate_heads(model, {"input_ids": ids}, ids, loss=loss)  # doctest: +SKIP
    """
    require_torch("headway.ablate_heads")
    from headway.heads import head_removal
    return head_removal.ablate_heads(model, encoded, labels, test=test, layers=layers, mode=mode, probe=probe, penalty=penalty,
                                     readout=readout, classes=classes, batch_size=batch_size, seed=seed, heads=heads, shared=shared, mask=mask,
                                     loss=loss)


@with_known_arguments
def gradient_sensitivity(model: Any, encoded: Mapping[str, Any], labels: ArrayLike, *,
                         layers: int | Sequence[int] | None = None, probe: str = "ridge",
                         penalty: float | None = None, readout: str | None = None,
                         classes: int | None = None, batch_size: int = 16, heads: Mapping[str, int] | None = None,
                         shared: str = "each", mask: ArrayLike | None = None) -> HeadTable:
    """Measure how much a linear readout's loss depends on each head, to first order [Michel et al. 2019].

    The output of head h is multiplied by m_h, and the loss is differentiated at m = 1.

    Parameters
    ----------
    model : torch.nn.Module
        As for `headway.ablate_heads`.
    encoded : mapping of str to array_like of shape (P, S), tensor, or tuple of tensor
        As for `headway.ablate_heads`.
    labels : array_like of shape (P,) or (P, C)
        As for `headway.ablate_heads`.
    layers : int or sequence of int, optional
        As for `headway.ablate_heads`.
    probe : {'ridge', 'logistic'}, default: 'ridge'
        The readout, which is fitted to the same examples.
    penalty : float, optional
        L2 penalty of the readout; default: chosen by cross-validation.
    readout : {'first_token', 'last_token', 'mean'}, optional
        The token that the embedding is taken from. Default: the last real token of a causal model, the first of any other. A model
        is causal if its answer at the first token stays the same when all later tokens change.
    classes : int, optional
        Number of classes C, where labels are class numbers; 0: labels are real targets.
    batch_size : int, default: 16
        Examples that the model sees at a time.
    heads, shared, mask : mapping, str, array_like, optional
        As for `headway.ablate_heads`.

    Returns
    -------
    HeadTable
        Columns: `sensitivity`, the mean over examples of |d loss / d m_h|; `sensitivity_error`, its standard
        error; `sensitivity_in_layer`, divided by the root of the sum of squares in its layer.

    Raises
    ------
    UsageError, BadDataError, UnavailableError
        As `headway.ablate_heads`.

    Notes
    -----
    It costs one pass of the model, forward and backward.

    Examples
    --------
    >>> table = headway.gradient_sensitivity(model, encoded, labels, layers=[-1])  # doctest: +SKIP
    >>> table["sensitivity_in_layer"]  # doctest: +SKIP
    """
    require_torch("headway.gradient_sensitivity")
    from headway.heads import head_removal
    return head_removal.gradient_sensitivity(model, encoded, labels, layers=layers, probe=probe, penalty=penalty,
                                             readout=readout, classes=classes, batch_size=batch_size, heads=heads, shared=shared,
                                             mask=mask)


@with_known_arguments
def head_baselines(model: Any, encoded: Mapping[str, Any], *, layers: int | Sequence[int] | None = None,
                   batch_size: int = 16) -> HeadTable:
    """Measure what is often taken for a head's worth, although no loss is asked.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        As for `headway.ablate_heads`, loaded with attn_implementation="eager".
    encoded : mapping of str to array_like of shape (P, S)
        What the tokenizer returns.
    layers : int or sequence of int, optional
        As for `headway.ablate_heads`.
    batch_size : int, default: 16
        Examples that the model sees at a time.

    Returns
    -------
    HeadTable
        Columns: `weight_norm`, the Frobenius norm of W_o^h W_v^h; `attention_entropy`, in nats, the mean over
        the real queries.

    Raises
    ------
    UsageError, UnavailableError
        As `headway.ablate_heads`; UsageError also where the model returns no attention.

    Examples
    --------
    >>> headway.head_baselines(model, encoded, layers=[-1]).to_csv("baselines.csv")  # doctest: +SKIP
    """
    require_torch("headway.head_baselines")
    from headway.heads import head_removal
    return head_removal.head_baselines(model, encoded, layers=layers, batch_size=batch_size)

