"""Draws of `headway sample` in the layout of ArviZ."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from headway.errors import BadDataError, UsageError
from headway.result_reader import read_result


def posterior_draws(path: str | os.PathLike, point: int = 0) -> dict[str, np.ndarray]:
    """U_1, ..., U_L and U_a of one sweep point, each [chain, draw, ...] as ArviZ wants it.

    Errors: as read_result; UsageError for a point that is not there, BadDataError without draws.
    """
    result = read_result(path)
    if not 0 <= point < len(result.points):
        raise UsageError(f"point: is {point}; {path} has 0 to {len(result.points) - 1}")
    samples = result.points[point].samples
    if samples is None or samples.readout_draws is None:
        raise BadDataError(f"{path}: point {point} holds no draws (a result of `headway sample` has)")
    draws = {f"U_{layer}": values for layer, values in sorted(samples.draws.items())}
    return {**draws, "U_a": samples.readout_draws}


def to_arviz(path: str | os.PathLike, point: int = 0) -> Any:
    """The draws of one sweep point as an `arviz.InferenceData`. Needs the package arviz."""
    try:
        import arviz  # only here: nothing else needs it
    except ImportError:
        raise UsageError("to_arviz: needs the package arviz (pip install arviz); "
                         "posterior_draws gives the same arrays without it") from None
    return arviz.from_dict(posterior=posterior_draws(path, point))
