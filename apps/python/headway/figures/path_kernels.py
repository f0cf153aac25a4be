"""Same-path kernels C_{pi pi} of the training examples, sorted by label."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.figures import style
from headway.figures.selection import PlotOptions, path_labels
from headway.results.result import Result


def available(result: Result) -> bool:
    return result.path_kernels is not None and result.train_labels is not None


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 2: one panel for each path. Each kernel is divided by its own mean diagonal; all share one
    colour scale."""
    result = results[0]
    order, borders, names = sorted_examples(result.train_labels)
    kernels = result.path_kernels[:, order][:, :, order]
    means = np.einsum("ijj->i", kernels) / kernels.shape[1]
    kernels = kernels / np.where(means > 0, means, 1.0)[:, None, None]
    columns = min(4, len(kernels)) if len(kernels) != 9 else 3
    rows = math.ceil(len(kernels) / columns)
    lines = 1 + (" " in path_labels(result, options)[0])
    margins = style.Margins(left=0.72, bottom=0.5, top=0.63 + 0.16 * lines,
                            row_gap=0.18 + 0.16 * lines, right=1.05)
    figure, panels, bar_axes = style.image_grid(rows, columns, 1.65, margins)
    low, high = np.quantile(kernels, [0.005, 0.995])
    scale = {"cmap": "viridis", "vmin": 0.0, "vmax": high}
    if low < -0.1 * high:
        limit = max(-low, high)
        scale = {"cmap": style.DIVERGING, "vmin": -limit, "vmax": limit}
    titles = [label.replace(" ", "\n", 1) for label in path_labels(result, options)]
    size = max(len(line) for title in titles for line in title.split("\n"))
    for index, axes in enumerate(panels.flat):
        if index >= len(kernels):
            axes.set_visible(False)
            continue
        image = axes.imshow(kernels[index], **scale, interpolation="nearest")
        axes.set_title(titles[index], fontsize=min(9.5, 210.0 / size))
        _mark_classes(axes, borders, names, index % columns == 0, index >= len(kernels) - columns)
    beyond = (kernels.min() < scale["vmin"], kernels.max() > scale["vmax"])
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max",
              (True, True): "both"}[tuple(map(bool, beyond))]
    bar = figure.colorbar(image, cax=bar_axes, extend=extend, extendfrac=0.04)
    bar.outline.set_visible(False)
    bar.set_label(r"$C_{\pi\pi}$ / mean diagonal")
    style.head_line(figure, "How alike each path sees two training examples", result, None, "examples sorted by label",
                    "each kernel divided by its mean diagonal")
    return figure


def sorted_examples(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(order of the examples, where each class ends, class names). Real labels are one class without a
    name."""
    flat = labels.reshape(len(labels), -1)
    if flat.shape[1] > 1:
        key = flat.argmax(axis=1).astype(float)
        name = "class {:g}".format
        key_names = key + 1
    else:
        key = -flat[:, 0]
        name = _signed
        key_names = flat[:, 0]
    order = np.argsort(key, kind="stable")
    values, counts = np.unique(key, return_counts=True)
    if len(values) > 10:
        return order, np.array([len(labels)]), [""]
    names = [name(key_names[np.flatnonzero(key == value)[0]]) for value in values]
    return order, np.cumsum(counts), names


def _signed(value: float) -> str:
    return f"{value:+g}".replace("-", "\u2212")


def _mark_classes(axes: Axes, borders: np.ndarray, names: list[str], left: bool,
                  bottom: bool) -> None:
    style.no_frame(axes)
    for border in borders[:-1]:
        axes.axhline(border - 0.5, color="white", linewidth=1.2)
        axes.axvline(border - 0.5, color="white", linewidth=1.2)
    starts = np.concatenate([[0], borders[:-1]])
    centres = (starts + borders - 1) / 2
    axes.set_xticks(centres, names if bottom else [""] * len(names))
    axes.set_yticks(centres, names if left else [""] * len(names))
    if left:
        axes.set_ylabel("label of example")
    if bottom:
        axes.set_xlabel("label of example")
