"""Masks of real tokens: one rule for every function that takes a network's examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headway.base.dataset_texts import number
from headway.base.tensors import as_numpy
from headway.errors import BadDataError

MEANING = "(1 for a real token, 0 for padding)"


def checked_mask(name: str, mask: Any, count: int, tokens: int | None = None) -> np.ndarray:
    """The mask of all examples as True and False, [P, S].

    Parameters
    ----------
    name : str
        What a message calls it.
    mask : array_like of shape (P, S)
        As it was given.
    count, tokens : int
        P and S. Without S any number of tokens is allowed here; require_tokens() checks it later.

    Raises
    ------
    BadDataError
        The shape is wrong, a value is neither 0 nor 1, or an example has no real token.
    """
    try:
        array = as_numpy(name, mask)
    except ValueError as error:
        if isinstance(error, BadDataError):
            raise
        raise BadDataError(f"{name}: has rows of different lengths; allowed: {_allowed(count, tokens)}") from None
    if array.ndim != 2 or len(array) != count:
        raise BadDataError(f"{name}: has shape {list(array.shape)}; allowed: {_allowed(count, tokens)}")
    if tokens is not None:
        require_tokens(name, array.shape, tokens)
    if array.dtype.kind not in "biuf":
        raise BadDataError(f"{name}: is of type {array.dtype}; allowed: 0 and 1, or False and True")
    wrong = np.argwhere((array != 0) & (array != 1))
    if len(wrong):
        at = wrong[0].tolist()
        raise BadDataError(f"{name}{at}: {number(array[tuple(at)])}; allowed: 0 or 1 {MEANING}")
    real = array == 1
    require_real(name, real)
    return real


def require_tokens(name: str, shape: Sequence[int], tokens: int) -> None:
    """BadDataError unless a mask of this shape, of all examples, has as many tokens as the network sees."""
    if shape[1] != tokens:
        raise BadDataError(f"{name}: has shape {list(shape)}; allowed: {_allowed(shape[0], tokens)}")


def require_real(name: str, real: np.ndarray, begin: int = 0) -> None:
    """BadDataError unless every example [b, S] has a real token; `begin` is the number of the first."""
    empty = np.flatnonzero(~real.any(axis=1))
    if len(empty):
        raise BadDataError(f"{name}[{begin + empty[0]}]: no token is 1; allowed: at least one real token in every "
                           f"example {MEANING}")


def require_words(name: str, real: np.ndarray, ids: np.ndarray, padding: int) -> None:
    """BadDataError where the mask of an example [P, S] is 1 for the padding token and 0 for all others."""
    is_padding = ids == padding
    wrong = np.flatnonzero((is_padding == real).all(axis=1) & ~real.all(axis=1))
    if len(wrong):
        raise BadDataError(f"{name}[{wrong[0]}]: is 1 for padding (token {padding}) and 0 for all other tokens; "
                           f"allowed: the opposite {MEANING}")


def require_attended(where: str, weights: np.ndarray, real: np.ndarray, begin: int) -> None:
    """BadDataError where a real token attends to padding alone, as happens under a mask that is the wrong way round.

    Parameters
    ----------
    where : str
        What a message calls the attention.
    weights : ndarray of shape (b, H, S)
        The attention of each query on real keys, summed.
    real : ndarray of shape (b, S)
        The mask.
    begin : int
        The number of the first example.
    """
    bad = np.argwhere((weights <= 0.0) & real[:, None, :])
    if len(bad):
        example, head, query = bad[0].tolist()
        raise BadDataError(f"{where}: row [{begin + example}, {head}, {query}] (example, head, query): all of the "
                           "attention is on masked tokens; allowed: a mask under which real tokens attend to real ones "
                           f"{MEANING}")


def _allowed(count: int, tokens: int | None) -> str:
    return f"[{count}, {'S' if tokens is None else tokens}], a row for each example"
