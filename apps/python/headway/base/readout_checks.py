"""What is refused before a linear readout of embeddings is fitted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headway.errors import BadDataError, UsageError

MOST_SEED = 2**63 - 1


def checked_penalty(penalty: Any) -> float | None:
    """The argument `penalty`; UsageError unless it is None or a positive number."""
    if penalty is None:
        return None
    if isinstance(penalty, (bool, np.bool_)) or not isinstance(penalty, (int, float, np.integer, np.floating)) \
            or not 0.0 < penalty < math.inf:
        raise UsageError(f"penalty: is {penalty!r}; allowed: None, or a positive number")
    return float(penalty)


def checked_seed(seed: Any) -> int:
    """The argument `seed`; UsageError unless it is a whole number that every generator takes."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed <= MOST_SEED:
        raise UsageError(f"seed: is {seed!r}; allowed: an integer from 0 to {MOST_SEED}")
    return int(seed)


def require_finite(embeddings: Any) -> None:
    """BadDataError where embeddings [P, N] are not finite, since no readout can be fitted to them."""
    wrong = np.flatnonzero(~np.isfinite(np.asarray(embeddings)).all(-1))
    if len(wrong):
        raise BadDataError(f"embeddings: {len(wrong)} of {len(embeddings)} are not finite, first that of example {wrong[0]}; "
                           "allowed: a model and inputs that give finite numbers")
