"""One rule for labels, whoever takes them: which are classes, and how the theory writes classes.

Two classes are -1 and +1, or 0 and 1. C classes are one-hot rows, or class numbers 0 to C - 1 where `classes` says C. All
else are real targets. The theory writes two classes as -1 and +1, and more as one-hot rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headway.base.caller import warn
from headway.base.dataset_texts import number
from headway.errors import UsageError

MOST_CLASSES = 1 << 16  # of more, one order parameter of the readout [C, C] takes over 32 GiB
MOST_CLASSES_GUESSED = 20  # more different whole numbers are hardly classes


def checked_classes(classes: object) -> int | None:
    """The argument `classes`; UsageError unless it is None, 0 or a number of classes."""
    if classes is None:
        return None
    if isinstance(classes, bool) or not isinstance(classes, (int, np.integer)) or not (
            classes == 0 or 2 <= classes <= MOST_CLASSES):
        raise UsageError(f"classes: is {classes!r}; allowed: None, 0 for real targets, or an integer from 2 to {MOST_CLASSES}")
    return int(classes)


def are_classes(targets: np.ndarray) -> bool:
    """Whether labels as the theory takes them are classes: -1 and +1 of one output, one-hot rows of several."""
    if targets.ndim == 1:
        return bool(np.isin(targets, (-1.0, 1.0)).all())
    return bool(np.isin(targets, (0.0, 1.0)).all() and (targets.sum(axis=1) == 1.0).all())


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
    from_zero = from_zero and (1 in values or classes == 2)  # 0 alone is a real target like any other
    if classes == 2 and _mixed(flat, faults):
        return known
    for name, array in known.items():
        if name in flat and from_zero and classes in (None, 2):
            known[name] = np.where(array == 1, 1.0, -1.0).astype(array.dtype if array.dtype.kind == "f" else float)
        elif classes is not None and not _are(array, classes):
            faults.append(f"{name}{_first_wrong(array, classes)} allowed with classes={classes}: "
                          f"{_allowed(classes)}{_counted_from_one(array, classes)}")
        elif name in flat and classes is not None and classes > 2:
            known[name] = _one_hot(array.reshape(-1).astype(int), classes)
    return known


def warn_of_whole_numbers(name: str, labels: np.ndarray, classes: int | None) -> None:
    """Warns of labels that are all equal, and of real targets that look like class numbers."""
    if len(labels) > 1 and (labels == labels[:1]).all():
        warn(f"{name}: are all {_row(labels[0])}: there is nothing to tell apart")
        return
    if classes is not None or labels.ndim == 2 and labels.shape[1] > 1 or (np.abs(labels) == 1.0).all():
        return
    values = np.unique(labels)
    if len(values) <= MOST_CLASSES_GUESSED and (values == np.round(values)).all():
        first = int(values.min())
        classes = max(int(values.max()) + 1 - first, 2)
        change = f"subtract {first}" if first > 0 else f"add {-first}"
        how = f"For class numbers, which start at 0, {change} and give" if first else "For class numbers give"
        warn(f"{name}: hold whole numbers such as {_shown(values)}, which are taken as real targets. {how} classes={classes}; "
             "classes=0 says that they are real targets")


def _row(label: np.ndarray) -> str:
    """One label, as a number or a row of numbers."""
    return number(label.item()) if label.size == 1 else f"[{', '.join(number(x) for x in label.tolist())}]"


def _shown(values: Sequence[float]) -> list[int]:
    return [int(value) for value in values[:4]]


def _are(labels: np.ndarray, classes: int) -> bool:
    """Are these labels of so many classes, in any form?"""
    if labels.ndim == 2 and labels.shape[1] == classes:
        return bool(np.isin(labels, (0, 1)).all() and (labels.sum(axis=1) == 1).all())
    if labels.ndim > 2 or labels.ndim == 2 and labels.shape[1] != 1:
        return False
    if classes == 2:
        return bool(np.isin(labels, (-1, 1)).all())
    return bool(((labels >= 0) & (labels < classes) & (labels == np.floor(labels))).all())


def _first_wrong(labels: np.ndarray, classes: int) -> str:
    """What follows the name in a message: index and value of the first label that names none of the classes, or the wrong shape."""
    if labels.ndim == 2 and labels.shape[1] == classes:
        wrong = ~np.isin(labels, (0, 1)).all(axis=1) | (labels.sum(axis=1) != 1)
    elif labels.ndim == 1 or labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.reshape(-1)
        wrong = ~np.isin(labels, np.arange(classes)) & ~(np.isin(labels, (-1, 1)) if classes == 2 else False)
    else:
        return f" have shape {list(labels.shape)};"
    if not wrong.any():
        return ": mix -1, 0 and 1;"
    first = int(np.argmax(wrong))
    return f"[{first}]: {labels[first].tolist()};"


def _one_hot(numbers: np.ndarray, classes: int) -> np.ndarray:
    rows = np.zeros((len(numbers), classes))
    rows[np.arange(len(numbers)), numbers] = 1
    return rows


def _mixed(flat: Mapping[str, np.ndarray], faults: list[str]) -> bool:
    """Whether some splits name two classes by 0 and 1, and others by -1 and +1; a fault for each that is not like the first."""
    words = {(0, 1): "0 and 1", (-1, 1): "-1 and +1"}
    kinds = {name: next((pair for pair in words if np.isin(array, pair).all() and pair[0] in array), None)
             for name, array in flat.items()}
    first = next((name for name, pair in kinds.items() if pair), None)
    others = [name for name, pair in kinds.items() if pair and pair != kinds[first]]
    faults += [f"{name}: names two classes by {words[kinds[name]]}; allowed: {words[kinds[first]]}, as in {first}" for name in others]
    return bool(others)


def _counted_from_one(labels: np.ndarray, classes: int) -> str:
    """What to do, if these labels are class numbers from 1."""
    if labels.size == 0 or not (labels.min() >= 1 and labels.max() == classes and (labels == np.floor(labels)).all()):
        return ""
    return f"; these go from {int(labels.min())} to {classes}: class numbers start at 0, so subtract 1"


def _allowed(classes: int) -> str:
    signs = "-1 and +1, " if classes == 2 else ""
    return f"{signs}class numbers [P], whole numbers from 0 to {classes - 1}, or one-hot rows [P, {classes}]"
