"""The best point of a sweep, and points by their names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from headway.base.paths import described
from headway.errors import BadDataError, UsageError
from headway.results.result_points import Point, width_text
from headway.results.sweep_arguments import SAME_TEMPERATURE, checked_point

if TYPE_CHECKING:
    from headway.results.result import Result

VALIDATION = "validation"
Score = Callable[[Point], "tuple[float, ...] | None"]


def best_point(result: Result, by: str = "evidence") -> Point:
    """The point that a rule takes among those that converged, as the program takes it; the first of equal ones.

    Errors: UsageError for an unknown rule, BadDataError where no point has what the rule needs.
    """
    if by not in _RULES:
        raise UsageError(f"by: is {described(by)}; allowed: {', '.join(_RULES)}")
    best = best_of(result.points, by)
    if best is None:
        if not any(point.converged for point in result.points):
            raise BadDataError(f"best: no point of {result.file} converged, so none is the best; result.points has all")
        others = [f'"{other}"' for other in _RULES if best_of(result.points, other) is not None]
        raise BadDataError(f'best: no point of {result.file} has {_NEEDS[by]}, which by="{by}" needs; allowed here: '
                           f"{', '.join(others) or 'no rule'}. {_HOW[by]}")
    return best


def best_of(points: Sequence[Point], by: str = "evidence") -> Point | None:
    """The point that a rule takes among these; None where none has what the rule needs."""
    points = [point for point in points if point.converged]
    scored = [(point, score) for point in points if (score := _RULES[by](points)(point)) is not None]
    return max(scored, key=lambda pair: pair[1])[0] if scored else None


def _evidence(points: Sequence[Point]) -> Score:
    """Evidences by Laplace's method or of samples if all points have one, else leading orders. Where attention is learned the
    evidence of the theory is that of U for one attention, and does not count."""
    leading = any("evidence_method" in point.attributes and point.attributes["evidence_method"] != "laplace" for point in points)

    def score(point: Point) -> tuple[float, ...] | None:
        value = point.attributes.get("log_evidence_leading_order" if leading else "log_evidence", math.nan)
        return None if point.minima or not math.isfinite(value) else (float(value),)
    return score


def _measured(accuracy: float, error: float) -> tuple[float, ...] | None:
    """By accuracy, then by the squared error; by that alone where labels are no classes."""
    return None if math.isnan(error) else (accuracy if math.isfinite(accuracy) else -math.inf, -error)


def _validation(points: Sequence[Point]) -> Score:
    return lambda point: (_measured(point.sets[VALIDATION].accuracy, point.sets[VALIDATION].mean_squared_error)
                          if VALIDATION in point.sets else None)


def _test(points: Sequence[Point]) -> Score:
    return lambda point: _measured(point.accuracy, point.test_mean_squared_error)


_RULES: dict[str, Callable[[Sequence[Point]], Score]] = {"evidence": _evidence, "validation": _validation, "test": _test}
_NEEDS = {"evidence": "a log evidence", "validation": f'a set "{VALIDATION}"', "test": "a test set"}
_HOW = {"evidence": "headway.solve and headway.sample give log evidences where attention is not learned",
        "validation": 'Arrays have such a set with sets={"validation": {"inputs": ..., "labels": ...}}; then compute again',
        "test": "Arrays have a test set with test_inputs= and test_labels=; then compute again"}


def edge_of_sweep(result: Result, point: Point) -> str:
    """"the smallest width and the largest temperature of the sweep": in what a point is at the edge; "" inside."""
    axes = (("width", [(max(one.widths), one.widths) for one in result.points], (max(point.widths), point.widths)),
            ("temperature", [one.temperature for one in result.points], point.temperature))
    found = [f"the {word} {name}" for name, values, value in axes if len(set(values)) > 1
             for word, end in (("smallest", min(values)), ("largest", max(values))) if value == end]
    return f"{' and '.join(found)} of the sweep" if found else ""


def edge_warning(result: Result, point: Point) -> str:
    """A sentence where a point is at the edge of the sweep; else ""."""
    edge = edge_of_sweep(result, point)
    return f"the best point has {edge}; a sweep that goes on may have a better point" if edge else ""


def best_text(result: Result) -> str:
    """"best by evidence: N 10, T 0.3, log evidence -100.33; ..."; "" for a single point, or without evidence."""
    if len(result.points) < 2:
        return ""
    try:
        best = best_point(result)
    except BadDataError:
        return ""
    edge = edge_of_sweep(result, best)
    return (f"best by evidence: N {width_text(best.widths)}, T {best.temperature:g}, log evidence {best.log_evidence:.2f}"
            + (f", with {edge}; a sweep that goes on may have a better point" if edge else ""))


def number_of_point(result: Result, point: Any) -> int:
    """The number of the point that an argument `point` names: a number, "best", or (width, temperature) with one width or all."""
    if isinstance(point, str) and point == "best":
        best = best_point(result)
        return next(at for at, one in enumerate(result.points) if one is best)
    if not isinstance(point, (tuple, list)):
        return checked_point(point, len(result.points), result.file) % len(result.points)
    for at, one in enumerate(result.points):
        if _is_named(one, point):
            return at
    known = [f"({width_text(one.widths)}, {one.temperature:g})" for one in result.points[:12]]
    raise UsageError(f"point: is {described(point)}; allowed: a number, \"best\", or one of {' '.join(known)}"
                     f"{' ...' if len(result.points) > 12 else ''}")


def named_point(result: Result, point: Any) -> tuple[Point, str]:
    """The point that an argument names, and for "best" a sentence where it is at the edge of the sweep."""
    found = result.points[number_of_point(result, point)]
    return found, edge_warning(result, found) if isinstance(point, str) else ""


def _is_named(point: Point, name: Sequence[Any]) -> bool:
    """Whether a point is (width, temperature), (N_1, ..., N_a, temperature) or ((N_1, ..., N_a), temperature)."""
    *widths, temperature = name
    if len(widths) == 1 and isinstance(widths[0], (tuple, list)):
        widths = list(widths[0])
    try:
        same = math.isclose(point.temperature, temperature, rel_tol=SAME_TEMPERATURE)
    except TypeError:
        return False
    return same and (list(point.widths) == widths or len(widths) == 1 and set(point.widths) == set(widths))
