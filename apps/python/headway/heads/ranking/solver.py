"""The theory's solver, where there is one."""

from __future__ import annotations

from collections.abc import Callable

from headway import native
from headway.api.verbs import solve
from headway.errors import UnavailableError
from headway.results.ranking.measured import CUTS


def theory_solver(wanted: bool | None, left_out: list[str]) -> Callable | None:
    """headway.solve, or None where it is not wanted. It is also None where it is missing and `wanted` is None; `left_out` then
    gets the reason."""
    if wanted is False:
        return None
    try:
        native.module()
    except UnavailableError as error:
        if wanted:
            raise
        left_out.append(f"{CUTS[1]} ({str(error).split('.')[0]})")
        return None
    return solve
