"""One rule for labels, whoever takes them: which are classes, and how the theory writes classes.

Two classes are -1 and +1, or 0 and 1. C classes are one-hot rows, or class numbers 0 to C - 1 where `classes` says C. All
else are real targets. The theory writes two classes as -1 and +1, and more as one-hot rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headway.caller import warn
from headway.errors import UsageError

MOST_CLASSES_GUESSED = 20  # more different whole numbers are hardly classes


def checked_classes(classes: object) -> int | None:
    """The argument `classes`; UsageError unless it is None, 0 or a number of classes."""
    if classes is None:
        return None
    if isinstance(classes, bool) or not isinstance(classes, (int, np.integer)) or classes < 0 or classes == 1:
        raise UsageError(f"classes: is {classes!r}; allowed: None, 0 for real targets, or an integer from 2")
    return int(classes)


def as_targets(labels: Mapping[str, np.ndarray], classes: int | None, faults: list[str]) -> dict[str, np.ndarray]:
    """Labels as the theory takes them.

    Parameters
    ----------
    labels : mapping of str to ndarray
        The labels of all splits, [P] or [P, C], by the name that a message gives them. Whether 0 and 1 are two classes
        is decided by all splits together, since one alone may lack a class.
    classes : int or None
        Number of classes; 0: labels are real targets; None: they are classes where they look it.
    faults : list of str
        Gets a sentence for each split whose labels are not what `classes` says.

    Returns
    -------
    dict of str to ndarray
        Of two classes -1 and +1, of more one-hot rows; real targets as they are.
    """
    known = dict(labels)
    if classes == 0:
        return known
    flat = {name: array for name, array in known.items() if array.ndim == 1 or array.ndim == 2 and array.shape[1] == 1}
    values = np.unique(np.concatenate([array.reshape(-1) for array in flat.values()])) if flat else np.array([])
    from_zero = bool(len(values)) and np.isin(values, (0, 1)).all() and 0 in values
    for name, array in known.items():
        if name in flat and from_zero and classes in (None, 2):
            known[name] = np.where(array == 1, 1.0, -1.0).astype(array.dtype if array.dtype.kind == "f" else float)
        elif classes is not None and not _are(array, classes):
            faults.append(f"{name}: allowed with classes={classes}: {_allowed(classes)}")
        elif name in flat and classes is not None and classes > 2:
            known[name] = np.eye(classes)[array.reshape(-1).astype(int)]
    return known


def warn_of_whole_numbers(name: str, labels: np.ndarray, classes: int | None) -> None:
    """Warns of real targets that look like class numbers."""
    if classes is not None or labels.ndim != 1 or (np.abs(labels) == 1.0).all():
        return
    values = np.unique(labels)
    if len(values) <= MOST_CLASSES_GUESSED and (values == np.round(values)).all():
        warn(f"{name}: hold whole numbers such as {_shown(values)}, which are taken as real targets. For class numbers give "
             f"classes={max(int(values.max()) + 1, 2)}; classes=0 says that they are real targets")


def _shown(values: Sequence[float]) -> list[int]:
    return [int(value) for value in values[:4]]


def _are(labels: np.ndarray, classes: int) -> bool:
    """Are these labels of so many classes, in any form?"""
    if labels.ndim == 2 and labels.shape[1] == classes:
        return bool(np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all())
    if labels.ndim > 2 or labels.ndim == 2 and labels.shape[1] != 1:
        return False
    return bool(np.isin(labels, (-1, 1) if classes == 2 else np.arange(classes)).all())


def _allowed(classes: int) -> str:
    signs = "-1 and +1, " if classes == 2 else ""
    return f"{signs}class numbers [P], whole numbers from 0 to {classes - 1}, or one-hot rows [P, {classes}]"
