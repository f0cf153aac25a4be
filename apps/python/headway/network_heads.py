"""headway.ablate_heads, gradient_sensitivity and head_baselines: what heads are worth to a pretrained network.

They need PyTorch, which is loaded when they are called. headway/head_removal.py does the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.head_table import HeadTable
from headway.signatures import with_known_arguments
from headway.torch_version import require_torch

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@with_known_arguments
def ablate_heads(model: Any, encoded: Mapping[str, Any], labels: ArrayLike, *,
                 test: Mapping[str, Any] | None = None, layers: int | Sequence[int] | None = None,
                 mode: str = "mean", probe: str = "ridge", penalty: float | None = None,
                 readout: str = "first_token", classes: int | None = None, batch_size: int = 16,
                 seed: int = 1) -> HeadTable:
    """Remove each head of a Hugging Face model, and measure what a linear readout loses.

    A ridge or logistic regression is fitted once to the embeddings of the whole network. Then the output
    of one head at a time is replaced before its output projection, and everything above is computed
    again. Nothing is frozen or linearised.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        An encoder or decoder with blocks like those of BERT, DistilBERT, ALBERT, GPT-2 or Llama. Any
        implementation of attention will do.
    encoded : mapping of str to array_like of shape (P, S)
        What the tokenizer returns for the examples that the readout is fitted to, padded on either side. Where padding
        would move the positions of tokens, the model gets position_ids, and a warning says so.
    labels : array_like of shape (P,) or (P, C)
        Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together with
        `classes`. All else are real targets.
    test : mapping of str to value, optional
        {"encoded": ..., "labels": ...}: examples that losses are measured on; default: those of `encoded`.
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
    readout : {'first_token', 'last_token', 'mean'}, default: 'first_token'
        The token that the embedding is taken from.
    classes : int, optional
        Number of classes C, where labels are class numbers; 0: labels are real targets.
    batch_size : int, default: 16
        Examples that the model sees at a time.
    seed : int, default: 1
        Of the order of examples for mode "resample".

    Returns
    -------
    HeadTable
        Columns: `loss_rise` (of the squared error, or of the cross-entropy in nats) and `accuracy_drop` (NaN
        where labels are real). Both are positive where the head is needed. Each has `_error`, the standard
        error of the paired differences. `attributes` has loss and accuracy of the whole network, examples,
        mode, probe, penalty, and the set that was measured: `table.attributes["loss"]`.

    Raises
    ------
    UsageError
        An option that is not allowed, or a model whose blocks are not known.
    BadDataError
        Labels of the wrong shape or form, labels that are the same for all examples, fewer than 2 examples of a class,
        fewer than 8 examples, masks that hide every token of an example, tokens that the model does not know, texts
        longer than its positions.
    UnavailableError
        PyTorch is missing, or older than 1.13.

    Notes
    -----
    It costs one pass of the model, and for each head a pass of the layers from its own up. Contributions
    of `headway.from_hugging_face` have lost their means, so mode "mean" is what the theory's removal of a
    head corresponds to.

    Examples
    --------
    >>> table = headway.ablate_heads(model, encoded, labels, layers=[-1], mode="mean")  # doctest: +SKIP
    >>> table.grid("loss_rise")  # [layer, head]  # doctest: +SKIP
    >>> table.to_csv("heads.csv")  # doctest: +SKIP
    """
    require_torch("headway.ablate_heads")
    from headway import head_removal
    return head_removal.ablate_heads(model, encoded, labels, test=test, layers=layers, mode=mode, probe=probe, penalty=penalty,
                                     readout=readout, classes=classes, batch_size=batch_size, seed=seed)


@with_known_arguments
def gradient_sensitivity(model: Any, encoded: Mapping[str, Any], labels: ArrayLike, *,
                         layers: int | Sequence[int] | None = None, probe: str = "ridge",
                         penalty: float | None = None, readout: str = "first_token",
                         classes: int | None = None, batch_size: int = 16) -> HeadTable:
    """Measure how much a linear readout's loss depends on each head, to first order [Michel et al. 2019].

    The output of head h is multiplied by m_h, and the loss is differentiated at m = 1.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        As for `headway.ablate_heads`.
    encoded : mapping of str to array_like of shape (P, S)
        What the tokenizer returns.
    labels : array_like of shape (P,) or (P, C)
        As for `headway.ablate_heads`.
    layers : int or sequence of int, optional
        As for `headway.ablate_heads`.
    probe : {'ridge', 'logistic'}, default: 'ridge'
        The readout, which is fitted to the same examples.
    penalty : float, optional
        L2 penalty of the readout; default: chosen by cross-validation.
    readout : {'first_token', 'last_token', 'mean'}, default: 'first_token'
        The token that the embedding is taken from.
    classes : int, optional
        Number of classes C, where labels are class numbers; 0: labels are real targets.
    batch_size : int, default: 16
        Examples that the model sees at a time.

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
    from headway import head_removal
    return head_removal.gradient_sensitivity(model, encoded, labels, layers=layers, probe=probe, penalty=penalty,
                                             readout=readout, classes=classes, batch_size=batch_size)


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
    from headway import head_removal
    return head_removal.head_baselines(model, encoded, layers=layers, batch_size=batch_size)

