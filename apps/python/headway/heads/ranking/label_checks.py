"""Which labels allow a ranking. `headway rank` refuses the same (src/verbs/head_ranker.cpp)."""

from __future__ import annotations

import numpy as np

from headway.base.labels import are_classes

FEWEST = 8  # examples


def label_faults(y: np.ndarray, absent: bool = False) -> list[str]:
    """What is wrong with labels [P, C]: few examples, one class, classes of one example. absent: a class may have none."""
    count, faults = len(y), []
    if y.shape[1] > 1 and np.isin(y, (0.0, 1.0)).all():
        of_class = y.sum(0).astype(int)
        few = (of_class == 1) if absent else (of_class < 2)
        if count < y.shape[1]:
            faults.append(f"labels: {count} examples of {y.shape[1]} classes; allowed: more examples than classes")
        elif few.any():
            row = int(few.argmax())
            faults.append(f"labels: class {row} has {of_class[row]} of {count} examples; allowed: at least 2 of each class")
    elif np.isin(y, (-1.0, 1.0)).all() and min((y < 0).sum(), (y > 0).sum()) == 1:
        faults.append(f"labels: one class has 1 of {count} examples; allowed: at least 2 of each class")
    if np.ptp(y, axis=0).max() == 0.0:  # if there is one class alone, that is the fault to name
        return [f"labels: are {y[0].tolist()} for all {count} examples; allowed: at least two different labels"]
    if not faults and count < FEWEST:
        faults.append(f"labels: {count} examples; allowed: at least {FEWEST}")
    return faults


def token_faults(y: np.ndarray) -> list[str]:
    """What is wrong with labels [P, C] that were given as whole numbers, without `classes`: rows that look like the tokens of texts."""
    if y.shape[1] == 1 or are_classes(y) or len(np.unique(y)) <= 2:
        return []
    return [f"labels: are whole numbers of shape {list(y.shape)}, such as {y[0, :4].astype(int).tolist()}, which are no one-hot rows; allowed: "
            "labels of whole examples, [P], or rows of real targets, which classes=0 says that they are. headway.ablate_heads(..., loss=) "
            "measures the loss of a language model; a readout would fit the numbers of tokens"]
