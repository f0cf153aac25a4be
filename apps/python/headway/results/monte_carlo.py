"""How far a mean over draws may be off by chance: within so many of its standard errors 95 % of the time. And R-hat."""

from __future__ import annotations

import math
from collections.abc import Iterable

from headway.results.result_points import Point

BY_DRAWS = 2.0  # of errors from effective draws, as those of U and of log p(y): hundreds of degrees of freedom
_NORMAL = 1.959964
_STUDENT = (12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281)  # 1 to 10 degrees of freedom


def student(degrees: float) -> float:
    """The 97.5 % quantile of Student's t, to four digits; NaN without a degree of freedom."""
    if not degrees >= 1.0:
        return math.nan
    if degrees <= len(_STUDENT):
        return _STUDENT[int(degrees) - 1]
    z = _NORMAL  # Cornish and Fisher's series
    return (z + (z ** 3 + z) / (4 * degrees) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2)
            + (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * degrees ** 3))


def by_chains(point: Point) -> float:
    """Of errors from the spread of the chains' means, as those of the predictor and the accuracy: Student's t."""
    return student(float(point.attributes.get("chains", math.nan)) - 1.0)


def span(limits: Iterable[float]) -> str:
    """"3.18", or "3.18 to 12.7" of limits that differ."""
    known = sorted(limit for limit in limits if math.isfinite(limit))
    return " to ".join(dict.fromkeys(f"{limit:.3g}" for limit in (*known[:1], *known[-1:])))


def rhat_text(rhat: float) -> str:
    """Three decimals; of chains that stand still, whose R-hat has no bound, four significant digits. NaN is "-"."""
    return "-" if not math.isfinite(rhat) else f"{rhat:.4g}" if rhat > 1000.0 else f"{rhat:.3f}"


def bars_text(limits: Iterable[float]) -> str:
    """What bars of these lengths are."""
    return f"± {span(limits)} Monte Carlo standard errors (95 %)"
