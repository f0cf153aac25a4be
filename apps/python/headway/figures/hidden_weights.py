"""The covariance S of a value network's hidden weights: as the prior has it, and as the data choose it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.figures import style
from headway.figures.selection import PlotOptions, chosen_points, point_label, share_shown
from headway.results.result import Point, Result

THEORY, SAMPLES, PRIOR = "theory", "posterior samples", "prior"
COLOURS = {PRIOR: style.GAUSSIAN_PROCESS, THEORY: style.THEORY, SAMPLES: style.SAMPLES}
HEADS_NAMED_UP_TO = 8


def available(result: Result) -> bool:
    return any(map(_has_adapted, result.points))


def _has_adapted(point: Point) -> bool:
    """Whether there is an S that is not the prior's. Fixed features keep that one."""
    return bool(matrices(point))


def matrices(point: Point) -> dict[str, np.ndarray]:
    """S by where it comes from; without those of the prior."""
    theory = point if point.samples is None else point.theory
    found = {THEORY: getattr(theory, "S", None), SAMPLES: getattr(point.samples, "S_mean", None)}
    return {name: s for name, s in found.items() if s is not None and np.isfinite(s).all() and _is_learned(s)}


def _is_learned(s: np.ndarray) -> bool:
    prior = np.eye(len(s)) * np.trace(s) / len(s)
    return bool(np.abs(s - prior).max() > 1e-9 * np.trace(s))


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """S before and after at the narrowest width that was not chosen otherwise, its eigenvalues, and the share of each head."""
    result = results[0]
    points = chosen_points(result, options, _has_adapted, most=1)[:1]
    found = matrices(points[0])
    size = len(next(iter(found.values())))
    all_of_them = {PRIOR: result.variances[0] * np.eye(size), **found}
    blocks = _blocks(result, size)
    figure = style.new_figure(2.75 * (len(all_of_them) + 2), 3.2)
    panels = figure.subplots(1, len(all_of_them) + 2)
    largest = max(np.abs(s).max() for s in all_of_them.values())
    for axes, (name, s) in zip(panels, all_of_them.items()):
        image = axes.imshow(s, cmap=style.DIVERGING, vmin=-largest, vmax=largest, interpolation="nearest")
        axes.set_title(f"S: {name}")
        _name_blocks(axes, blocks, size)
    figure.colorbar(image, ax=panels[len(all_of_them) - 1], fraction=0.046).outline.set_visible(False)
    _draw_eigenvalues(panels[-2], all_of_them)
    _draw_shares(panels[-1], all_of_them, blocks)
    style.head_line(figure, "What the hidden units read", result, points[0].temperature, point_label(points[0]),
                    *share_shown(points, result.points, _has_adapted))
    return figure


def _blocks(result: Result, size: int) -> int:
    """Blocks of S: a block for each head where hidden units see heads, else one."""
    heads = result.heads[0]
    shares = [getattr(found, "S_head_shares", None) for point in result.points for found in (point, point.theory)]
    known = [len(share) for share in shares if share is not None]
    return known[0] if known else heads if size % heads == 0 else 1


def _name_blocks(axes: Axes, blocks: int, size: int) -> None:
    style.no_frame(axes)
    edges = np.arange(1, blocks) * (size // blocks) - 0.5
    for edge in edges:
        axes.axhline(edge, color="white", linewidth=0.8)
        axes.axvline(edge, color="white", linewidth=0.8)
    centres = (np.arange(blocks) + 0.5) * (size // blocks) - 0.5
    if blocks == 1 or blocks > HEADS_NAMED_UP_TO:
        axes.set_xticks([])
        axes.set_yticks([])
    else:
        axes.set_xticks(centres, range(1, blocks + 1))
        axes.set_yticks(centres, range(1, blocks + 1))
    axes.set_xlabel("input" if blocks == 1 else "head, and its inputs")


def _draw_eigenvalues(axes: Axes, found: dict[str, np.ndarray]) -> None:
    for name, s in found.items():
        values = np.linalg.eigvalsh(s)[::-1]
        kind = {"linestyle": "--"} if name == PRIOR else {"marker": "o", "markersize": 3}
        axes.plot(np.arange(1, len(values) + 1), values, color=COLOURS[name], label=name, **kind)
    axes.set(title="eigenvalues of S", xlabel="rank", ylim=(0, None))
    axes.legend(loc="upper right")
    style.light_grid(axes)


def _draw_shares(axes: Axes, found: dict[str, np.ndarray], blocks: int) -> None:
    """The share of each head's block in tr S."""
    width = 0.8 / len(found)
    for number, (name, s) in enumerate(found.items()):
        shares = np.diag(s).reshape(blocks, -1).sum(1) / np.trace(s)
        at = np.arange(1, blocks + 1) + (number - 0.5 * (len(found) - 1)) * width
        axes.bar(at, shares, width, color=COLOURS[name], label=name)
    axes.set(title="share in tr S", xlabel="head" if blocks > 1 else "all inputs")
    axes.set_xticks(range(1, blocks + 1) if blocks <= HEADS_NAMED_UP_TO else [1, blocks])
    style.light_grid(axes)
