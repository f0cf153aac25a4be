"""headway.Dataset: arrays to compute on, as one object."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.api import kernels, verbs
from headway.api.arrays import GivenArrays
from headway.api.datasets import write_dataset
from headway.base.dataset_table import ARGUMENTS
from headway.base.signatures import refusing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headway.api.kernels import Action
    from headway.results.network_results import RemovalResult
    from headway.results.result import Result


class Dataset(GivenArrays):
    """Examples with the attention of every head, or their path features: what the theory computes on.

    Give `inputs` with one form of attention (`attention`, `attention_weights`, or `query` and `key`), or `features` with
    `heads`. P examples of S tokens with N_0 features; C outputs; H_l heads in layer l; p = H_1 ... H_L paths.

    Parameters
    ----------
    features : array_like of shape (P, p, N_0), optional
        Path features xi_pi, unscaled: N_0 numbers for each of the paths. Give `heads` with them.
    inputs : array_like of shape (P, S, N_0), optional
        Tokens that enter the first layer, in place of `features`. They may come without attention where `attention_prior` of
        the computation lets it be learned.
    labels : array_like of shape (P,) or (P, C), optional
        Targets. Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together with `classes`. All else
        are real targets. New inputs, for `headway.predict`, have none.
    classes : int, optional
        Number of classes C: `labels` are then class numbers 0 to C - 1, or of the forms above, and anything else is an error.
        0: labels are real targets, even if they are 0 and 1.
    heads : sequence of int, optional
        H_1, ..., H_L; with `features` only.
    attention : sequence of array_like of shape (P, H_l, S, S), optional
        The attention of every example, one array for each layer, indexed [example, head, query, key]. Rows sum to 1, within 1e-6
        (float32: 1e-4), unless `attention_rows` says otherwise.
    attention_weights : sequence of array_like of shape (H_l, N_0, N_0), optional
        One array for each layer: the logit of query s and key t is x_s^T W x_t.
    query : sequence of array_like of shape (H_l, G_l, N_0), optional
        With `key`, one array for each layer: logits are (Q x_s) . (K x_t) / sqrt(G_l).
    key : sequence of array_like of shape (H_l, G_l, N_0), optional
        See `query`.
    mask : array_like of shape (P, S), optional
        1 for a real token, 0 for padding. Padding gets no attention and is not read.
    ids : sequence of str, optional
        A name for each example.
    test_features : array_like of shape (P_test, p, N_0), optional
        As `features`, of the test set.
    test_inputs : array_like of shape (P_test, S, N_0), optional
        As `inputs`, of the test set.
    test_labels : array_like of shape (P_test,) or (P_test, C), optional
        As `labels`, of the test set.
    test_attention : sequence of array_like of shape (P_test, H_l, S, S), optional
        As `attention`, of the test set.
    test_mask : array_like of shape (P_test, S), optional
        As `mask`, of the test set.
    test_ids : sequence of str, optional
        As `ids`, of the test set.
    head_names : sequence of sequence of str, optional
        Names of the heads for tables and figures, one list for each layer.
    sets : mapping of str to mapping, optional
        Further sets on which results report, by name: {'validation': {'inputs': x, 'labels': y}}. Keys of a set are inputs,
        labels, mask, attention, path_features and ids. On the set 'validation' a temperature may be chosen.
    network : mapping of str to array_like, optional
        Weights that were trained with these heads, scaled as the theory's, which `headway.prune` then prunes beside it: `input`
        V_0 [N_1, N_0], `values` (one array [H_l, N_{l+1}, N_l] for each layer) and `readout` a [C, N_a]. Give the argument
        `readout` with it.
    readout : {'last_token', 'first_token', 'mean'}, optional
        How path features were read out; else the readout of a computation that does not say one.
    attention_rows : {'any'}, optional
        Attention may be signed, and its rows need not sum to 1. Such data are for value networks (`value_network`) alone.

    Raises
    ------
    BadDataError
        All faults of the arrays, each with argument, index, value and what is allowed; a `readout` that does not exist.
    UsageError
        An argument that does not exist; `classes` or `attention_rows` is not allowed.

    Notes
    -----
    C-contiguous arrays of float64 or float32 are used where they lie, and must not change then; others are copied.

    Examples
    --------
    >>> import numpy as np, headway
    >>> rng = np.random.default_rng(1)
    >>> x, y, uniform = rng.standard_normal((40, 6, 5)), np.resize([0, 1], 40), np.full((40, 2, 6, 6), 1 / 6)
    >>> data = headway.Dataset(inputs=x[:30], labels=y[:30], attention=[uniform[:30]],
    ...                        test_inputs=x[30:], test_labels=y[30:], test_attention=[uniform[30:]])
    >>> data
    <Dataset: 30 train and 10 test examples, heads [2]>
    >>> data.solve(widths=[10, 100], temperature=0.1).best("evidence").widths  # doctest: +SKIP
    (10, 10)
    """

    def __init__(self, *, features: ArrayLike | None = None, inputs: ArrayLike | None = None, labels: ArrayLike | None = None,
                 classes: int | None = None, heads: Sequence[int] | None = None, attention: Sequence[ArrayLike] | None = None,
                 attention_weights: Sequence[ArrayLike] | None = None, query: Sequence[ArrayLike] | None = None,
                 key: Sequence[ArrayLike] | None = None, mask: ArrayLike | None = None, ids: Sequence[str] | None = None,
                 test_features: ArrayLike | None = None, test_inputs: ArrayLike | None = None,
                 test_labels: ArrayLike | None = None, test_attention: Sequence[ArrayLike] | None = None,
                 test_mask: ArrayLike | None = None, test_ids: Sequence[str] | None = None,
                 head_names: Sequence[Sequence[str]] | None = None, sets: Mapping[str, Mapping[str, Any]] | None = None,
                 network: Mapping[str, Any] | None = None, readout: str | None = None,
                 attention_rows: str | None = None):
        """Take the arrays, under the names that help(headway.Dataset) explains."""
        given = {name: value for name, value in locals().items() if name in ARGUMENTS}
        new_inputs = all(given[name] is None for name in ("labels", "test_labels", "sets"))
        super().__init__(given, now=not new_inputs)

    __init__ = refusing("headway.Dataset", ARGUMENTS, __init__)

    def __repr__(self) -> str:
        counts = {name: len(self._given[f"{begin}{kind}"]) for name, begin in (("train", ""), ("test", "test_"))
                  for kind in ("features", "inputs") if f"{begin}{kind}" in self._given}
        if self._held is None:
            return f"<Dataset: {counts.get('train', 0)} new inputs>"
        counts |= {name: len(next(iter(one.values()))) for name, one in self._given.get("sets", {}).items() if one}
        return f"<Dataset: {' and '.join(f'{count} {name}' for name, count in counts.items())} examples, heads {self._held.heads}>"

    @property
    def heads(self) -> tuple[int, ...]:
        """tuple of int: H_1, ..., H_L; () where attention is to be learned."""
        return tuple(self._checked().heads)

    def solve(self, **arguments: Any) -> Result:
        """Solve the theory on these data.

        Parameters
        ----------
        **arguments : Any
            Those of `headway.solve`.

        Returns
        -------
        Result
            That of `headway.solve(data, ...)`.
        """
        return verbs.solve(self, **arguments)

    def align(self, **arguments: Any) -> Result:
        """Compare the eigenvectors of the kernel with the labels.

        Parameters
        ----------
        **arguments : Any
            Those of `headway.align`.

        Returns
        -------
        Result
            That of `headway.align(data, ...)`.
        """
        return verbs.align(self, **arguments)

    def prune(self, **arguments: Any) -> Result | RemovalResult:
        """Score the heads, and remove them one by one.

        Parameters
        ----------
        **arguments : Any
            Those of `headway.prune`.

        Returns
        -------
        Result
            That of `headway.prune(data, ...)`.
        """
        return verbs.prune(self, **arguments)

    def sample(self, **arguments: Any) -> Result:
        """Draw from the exact posterior at finite width.

        Parameters
        ----------
        **arguments : Any
            Those of `headway.sample`.

        Returns
        -------
        Result
            That of `headway.sample(data, ...)`.
        """
        return verbs.sample(self, **arguments)

    def action(self, **arguments: Any) -> Action:
        """The action S(U) on these data as a function.

        Parameters
        ----------
        **arguments : Any
            Those of `headway.action`.

        Returns
        -------
        Action
            That of `headway.action(data, ...)`.
        """
        return kernels.action(self, **arguments)

    def save(self, path: str | os.PathLike, **arguments: Any) -> Path:
        """Write the data set to a file, which every function takes in its place, and the program too.

        Parameters
        ----------
        path : str or path
            The file.
        **arguments : Any
            Those of `headway.write_dataset`, such as `note` and `overwrite`.

        Returns
        -------
        Path
            The path of the file.
        """
        return write_dataset(path, self, **arguments)
