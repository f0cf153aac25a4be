"""The look that all figures share: one palette, one set of sizes, byte-identical output."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from headway.base.files import write_bytes
from headway.figures.selection import temperature_text
from headway.results.result import Result

# Okabe and Ito's palette (colour-blind safe); each colour has one meaning in every figure.
INK = "#262626"
MUTED = "#6b6b6b"
FAINT = "#d0d0d0"
ON_LIGHT, ON_DARK = "#262627", "#fefefe"  # text on images, which no theme of a page changes
THEORY = "#0072B2"
CORRECTED = "#D55E00"
SAMPLES = "#009E73"
GAUSSIAN_PROCESS = "#4d4d4d"
OVERLAY = (THEORY, CORRECTED, SAMPLES, "#CC79A7", "#E69F00", "#56B4E9")
DIVERGING = "RdBu_r"

STUDIES_UP_TO, VALUES_UP_TO = 3, 6  # of several results, that the line above a figure names
FORMATS = ("png", "pdf", "svg")
DOTS_PER_INCH = 160
_SETTINGS = {
    "font.family": "DejaVu Sans", "mathtext.fontset": "dejavusans", "font.size": 9.0,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK,
    "xtick.color": INK, "ytick.color": INK,
    "axes.titlesize": 9.5, "axes.titlelocation": "left", "axes.titlepad": 7.0,
    "axes.labelsize": 9.0, "xtick.labelsize": 8.5, "ytick.labelsize": 8.5,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8,
    "xtick.major.width": 0.8, "ytick.major.width": 0.8, "xtick.major.size": 3.0,
    "ytick.major.size": 3.0, "xtick.minor.size": 1.6, "ytick.minor.size": 1.6,
    "legend.frameon": False, "legend.fontsize": 8.5, "legend.handlelength": 1.8,
    "lines.linewidth": 1.6, "lines.markersize": 4.5, "lines.solid_capstyle": "round",
    "figure.facecolor": "white", "savefig.facecolor": "white", "savefig.dpi": DOTS_PER_INCH,
    "pdf.fonttype": 42, "svg.fonttype": "path", "svg.hashsalt": "headway",
}
_METADATA = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Producer": None},
             "svg": {"Date": None, "Creator": None}}


@contextmanager
def applied() -> Iterator[None]:
    """The house style, whatever the user's own matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def new_figure(width: float, height: float) -> Figure:
    """A figure of this size in inches, laid out so that nothing overlaps."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=CONSTRAINED_TOP, wspace=0.03, hspace=0.04)
    return figure


@dataclass(frozen=True)
class Margins:
    """Room in inches around and between the square panels of `image_grid`."""

    left: float
    bottom: float
    top: float = 0.77
    right: float = 0.85
    column_gap: float = 0.16
    row_gap: float = 0.36


def image_grid(rows: int, columns: int, size: float, margins: Margins
               ) -> tuple[Figure, np.ndarray, Axes]:
    """Square panels of `size` inches and, at the right of the first row, an axes for the colour bar."""
    width = margins.left + columns * size + (columns - 1) * margins.column_gap + margins.right
    height = margins.bottom + rows * size + (rows - 1) * margins.row_gap + margins.top
    figure = Figure(figsize=(width, height))
    panels = np.empty((rows, columns), dtype=object)
    for row in range(rows):
        for column in range(columns):
            x = margins.left + column * (size + margins.column_gap)
            y = margins.bottom + (rows - 1 - row) * (size + margins.row_gap)
            panels[row, column] = figure.add_axes((x / width, y / height, size / width,
                                                   size / height))
    x = width - margins.right + 0.12
    y = margins.bottom + (rows - 1) * (size + margins.row_gap)
    bar = figure.add_axes((x / width, y / height, 0.11 / width, size / height))
    return figure, panels, bar


def rendered(figure: Figure, kind: str = "png") -> bytes:
    """The figure as the bytes of a PNG, PDF or SVG file; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    with applied(), _quiet_fonts():
        figure.savefig(buffer, format=kind, metadata=_METADATA[kind])
    return buffer.getvalue()


@contextmanager
def _quiet_fonts() -> Iterator[None]:
    """fontTools warns of the date in matplotlib's own fonts whenever it puts one into a PDF."""
    log = logging.getLogger("fontTools.ttLib.tables._h_e_a_d")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def save(figure: Figure, file_path: Path, overwrite: bool = True) -> None:
    """Writes the figure in the format of the file name's ending, whole or not at all."""
    write_bytes(rendered(figure, file_path.suffix[1:]), file_path, overwrite)


def head_line(figure: Figure, title: str, results: Result | Sequence[Result], temperature: float | None, *more: str,
              study: bool = True) -> None:
    """The lines above the panels: a title that says what is drawn, and below it what _about() says, and whatever `more` there is
    to know. Both are broken where the figure is narrow."""
    parts = _about(results if isinstance(results, Sequence) else [results], temperature, study)
    width = figure.get_size_inches()[0]
    room = width - 2 * _HEAD_MARGIN
    titles = _broken(title.split(" "), room, _TITLE_FONT, " ")
    lines = _broken([*parts, *more], room, _HEAD_FONT, "  ·  ")
    fixed = figure.get_layout_engine() is None
    if fixed and len(titles) + len(lines) > 2:
        _make_room_above(figure, (len(titles) + len(lines) - 2) * _HEAD_LINE)
    height = figure.get_size_inches()[1]
    top = 1.0 - (_FIXED_TOP if fixed else CONSTRAINED_TOP) / height
    # The layout makes room for the one text that it knows, so blank lines there stand for the title.
    place = {"y": top, "va": "top"} if fixed else {}
    figure.suptitle("\n".join([*(" " for _ in titles), *lines]), x=_HEAD_MARGIN / width, ha="left", fontproperties=_HEAD_FONT,
                    color=MUTED, linespacing=_LINE_SPACING, **place)
    figure.text(_HEAD_MARGIN / width, top, "\n".join(titles), ha="left", va="top", fontproperties=_TITLE_FONT, color=INK,
                linespacing=_LINE_SPACING)


def _about(results: Sequence[Result], temperature: float | None, study: bool) -> list[str]:
    """The study, T where all is drawn at one, the number of training examples, the seed: of several results each value."""
    studies = list(dict.fromkeys(plain(result.study) for result in results))
    parts = [", ".join(studies) if len(studies) <= STUDIES_UP_TO else counted(len(studies), "study")] if study else []
    if temperature is not None:
        swept = [result for result in results if len(result.temperatures) > 1]
        parts.append(temperature_text((swept or results)[0], temperature))
    counts = sorted({len(result.train_labels) for result in results if result.train_labels is not None})
    if counts:
        parts.append(_values([f"{count:,}".replace(",", "\u2009") for count in counts])
                     + f" training example{'' if counts == [1] else 's'}")
    seeds = sorted({int(result.provenance["seed"]) for result in results if "seed" in result.provenance})
    if seeds:
        parts.append(f"seed{'' if len(seeds) == 1 else 's'} {_values(list(map(str, seeds)))}")
    partial = sum(result.partial for result in results)
    if partial:
        parts.append("partial result" if len(results) == 1 else f"{partial} of {len(results)} results partial")
    return parts


def _values(values: Sequence[str]) -> str:
    """"40", "40, 80 and 160"; of many the first and the last: "1 to 20"."""
    if len(values) > VALUES_UP_TO:
        return f"{values[0]} to {values[-1]}"
    return " and ".join(filter(None, (", ".join(values[:-1]), values[-1])))


def counted(count: int, noun: str) -> str:
    """"1 seed", "3 seeds", "4 minima", "10 000 training examples"."""
    many = {"minimum": "minima", "study": "studies"}.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else many}".replace(",", "\u2009")


_HEAD_FONT = FontProperties(family="DejaVu Sans", size=8.5)
_TITLE_FONT = FontProperties(family="DejaVu Sans", size=9.5, weight="bold")
_LINE_SPACING = 1.25
_HEAD_LINE, _HEAD_MARGIN = 0.15, 0.1  # inches
_FIXED_TOP, CONSTRAINED_TOP = 0.08, 0.05  # inches above the title; the second is what new_figure() leaves around panels


def text_width(text: str, font: FontProperties = _HEAD_FONT) -> float:
    """In inches; the font is as large as that of names beside an axis."""
    maths = text.replace(r"\$", "").count("$") > 0
    return RendererAgg(1, 1, 72.0).get_text_width_height_descent(text, font, maths)[0] / 72.0


def _broken(parts: Sequence[str], width: float, font: FontProperties, between: str) -> list[str]:
    """`parts` joined into as few lines as fit `width` inches; a part is never broken."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{between}{part}" if lines else part
        if lines and text_width(longer, font) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _make_room_above(figure: Figure, inches: float) -> None:
    """A taller figure whose panels keep their sizes and their distances from the bottom."""
    width, height = figure.get_size_inches()
    for axes in figure.axes:
        x, y, w, h = axes.get_position(original=True).bounds
        share = height / (height + inches)
        axes.set_position((x, y * share, w, h * share))
    figure.set_size_inches(width, height + inches)


def plain(text: str) -> str:
    """A name from a file, none of whose letters means mathematics to matplotlib."""
    return text.replace("$", r"\$")


def error_bars(values: Sequence[float]) -> np.ndarray | None:
    """Sizes of error bars; None, which draws none, where not one of them is known."""
    sizes = np.asarray(values, dtype=float)
    return sizes if np.isfinite(sizes).any() else None


def ordered_colours(count: int) -> list[tuple]:
    """Colours for an ordered quantity such as width, dark for the first (viridis, without its ends)."""
    return [colormaps["viridis"](value) for value in np.linspace(0.08, 0.82, max(count, 2))[:count]]


def end_at_one(axes: Axes, floor: float | None = 0.0) -> None:
    """Ends an axis of accuracies at 0 and 1, and with it all bands and bars; that of R^2, without a `floor`, at 1."""
    low, high = axes.get_ylim()
    axes.set_ylim(low if floor is None else max(low, floor), min(high, 1.0))
    caps = {line for bars in axes.containers if isinstance(bars, ErrorbarContainer) for line in bars.lines[1]}
    for line in axes.lines:
        if line not in caps:
            line.set_clip_on(False)  # marks on the edge are drawn whole


def light_grid(axes: Axes, axis: str = "y") -> None:
    axes.grid(axis=axis, color="#ececec", linewidth=0.7)
    axes.set_axisbelow(True)


def legend_outside(axes: Axes, *entries, **options) -> None:
    """The legend at the right of the panel, where it covers no curve."""
    axes.legend(*entries, loc="center left", bbox_to_anchor=(1.0, 0.5), **options)


def legend_above(axes: Axes, *entries, columns: int = 2, **options) -> None:
    """The legend between the head line and the panel."""
    axes.legend(*entries, loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncol=columns,
                columnspacing=1.4, borderaxespad=0.1, **options)


def no_frame(axes: Axes) -> None:
    """For images: no spines, no tick marks."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
