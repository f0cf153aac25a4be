"""Figures as SVG inside a page: coloured by its theme, with their numbers as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure

from headway.figures import rendered
from headway.figures.style import ON_LIGHT
from headway.report.pieces import details, element, escaped, table

ROWS = 100  # of the table of a figure's numbers; longer ones are cut, and say how long they are
MATRIX_UP_TO = 12  # rows of an image whose numbers are in a table
Table = tuple[str, list[str], list[list[str]]]

# Colours of headway.figures.style, and the page's own names for them, which change with its theme.
THEME = {"#262626": "ink", "#6b6b6b": "muted", "#ffffff": "card", "#ececec": "grid",
         "#d0d0d0": "faint", "#e2e2e2": "band", "#b8b8b8": "bar", "#4d4d4d": "limit",
         "#0072b2": "theory", "#d55e00": "corrected", "#009e73": "samples", "#cc79a7": "fourth",
         "#e69f00": "fifth", "#56b4e9": "sixth"}


def drawing(name: str, figure: Figure, shows: str, prefix: str, command: str) -> str:
    """A figure with its caption, its numbers, and the command that draws it alone."""
    title = name.replace("_", " ").capitalize()
    picture = themed_svg(figure, prefix, f"{title}: {shows}")
    tables = [table(header, rows, caption, sortable=False)
              for caption, header, rows in figure_tables(figure)]
    caption = element("figcaption", element("strong", escaped(title)), escaped(f" – {shows}. "),
                      element("code", escaped(command)))
    numbers = details("Numbers of this figure", *tables) if tables else ""
    return element("figure", element("div", picture, class_="scroll picture", role="region",
                                     tabindex=0, aria_label=title), caption, numbers)


def themed_svg(figure: Figure, prefix: str, label: str) -> str:
    """The figure as an <svg> of a page: identifiers of its own, colours of the page's theme."""
    text = rendered(figure, "svg").decode("utf-8")
    text = text[text.index("<svg"):]
    # A <style> in an <svg> of a page would hold for the whole page.
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", "",
                  text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    text = re.sub(r"((?:stroke|fill): )?(#[0-9a-fA-F]{6})\b", _themed, text)
    text = re.sub(r'\bd="[^"]*"', _rounded, text)
    width = re.search(r'width="([\d.]+)pt"', text)
    text = re.sub(r'\s(width|height)="[\d.]+pt"', "", text, count=2)
    start = text.index(">")
    return (f'<svg role="img" aria-label="{escaped(label)}" stroke-linejoin="round" '
            f'style="width: {float(width[1]) * 1.25 if width else 600:.0f}px"'
            f'{text[4:start]}>{text[start + 1:].strip()}')


def _rounded(path: re.Match) -> str:
    """A path with its coordinates cut to hundredths of a point."""
    return re.sub(r"(\d\.\d\d)\d+", r"\1", path[0])


def _themed(match: re.Match) -> str:
    """The page's own name for a colour. A colour without a name stays, but a dark one becomes lighter in a dark page."""
    use, colour = match[1] or "", match[2].lower()
    if colour in THEME:
        return f"{use}var(--{THEME[colour]})"
    red, green, blue = (int(colour[place:place + 2], 16) for place in (1, 3, 5))
    if use and 0.299 * red + 0.587 * green + 0.114 * blue < 110 and colour != ON_LIGHT:
        return f"{use}color-mix(in srgb, {colour}, white var(--lift))"
    return use + colour


# ---- the numbers of a figure


def figure_tables(figure: Figure) -> list[Table]:
    """(caption, header, rows) of everything that is drawn: lines, bars, points and small images."""
    found = []
    for number, axes in enumerate(figure.axes, 1):
        if axes.get_label() == "<colorbar>":
            continue
        caption = plain_words(axes.get_title(loc="left") or axes.get_ylabel()) or f"panel {number}"
        found += [(caption, header, rows) for header, rows in (*_images(axes), *_bars(axes),
                                                               *_series(axes))]
    return found


def plain_words(text: str) -> str:
    """matplotlib's mathematics as plain text: "N_a = 10" for "$N_\\mathrm{a}$ = 10"."""
    for code, plain in ((r"\$", "\0"), ("$", ""), (r"\mathrm", ""), (r"\,", " "), (r"\hat", ""),
                        (r"^\prime", "′"), (r"\pi", "π"), (r"\rho", "ρ"), (r"\infty", "∞"),
                        (r"\to", "→"), (r"\leq", "≤"), (r"\sum", "Σ"), (r"\cdot", "·"), ("{", ""),
                        ("}", ""), ("\n", " "), ("\0", "$")):
        text = text.replace(code, plain)
    return text.strip()


def _number(value: float) -> str:
    return "–" if not np.isfinite(value) else f"{value:.6g}".replace("-", "−")


def _limited(header: list[str], rows: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    if len(rows) > ROWS:
        note = [f"first {ROWS} of {len(rows)} rows", *[""] * (len(header) - 1)]
        rows = [*rows[:ROWS], note]
    return header, rows


def _images(axes: Axes) -> Iterator[tuple[list[str], list[list[str]]]]:
    for image in axes.images:
        values = np.asarray(image.get_array(), dtype=float)
        if values.ndim == 2 and len(values) <= MATRIX_UP_TO:
            names = [label.get_text() for label in axes.get_xticklabels()]
            if len(names) != len(values):
                names = [str(row) for row in range(1, len(values) + 1)]
            yield (["", *names], [[name, *map(_number, row)] for name, row in zip(names, values)])


def _bars(axes: Axes) -> Iterator[tuple[list[str], list[list[str]]]]:
    groups = [group for group in axes.containers if isinstance(group, BarContainer)]
    if not groups:
        return
    across = getattr(groups[0], "orientation", "vertical") == "horizontal"
    sizes = [[bar.get_width() if across else bar.get_height() for bar in group] for group in groups]
    ticks = [label.get_text() for label in (axes.get_yticklabels() if across else [])]
    places = ticks if len(ticks) == len(sizes[0]) and any(ticks) else range(1, len(sizes[0]) + 1)
    names = [_label(group, axes.get_xlabel() if across else axes.get_ylabel()) for group in groups]
    yield _limited([plain_words(axes.get_ylabel() if across else axes.get_xlabel()) or "bar", *names],
                   [[str(place), *map(_number, row)] for place, row in zip(places, zip(*sizes))])


def _label(artist, otherwise: str) -> str:
    label = str(artist.get_label())
    return plain_words(otherwise if label.startswith("_") else label) or "value"


def _series(axes: Axes) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Lines and points, those over the same places side by side."""
    tables: dict[tuple, list[tuple[str, np.ndarray]]] = {}
    for name, places, values in _lines(axes):
        columns = tables.setdefault(tuple(places), [])
        columns.append((name if name not in [known for known, _ in columns]
                        else f"{name} {len(columns) + 1}", values))
    x_name = plain_words(axes.get_xlabel()) or "x"
    for places, columns in tables.items():
        rows = [[_number(place), *(_number(values[row]) for _, values in columns)]
                for row, place in enumerate(places)]
        yield _limited([x_name, *(name for name, _ in columns)], rows)


def _lines(axes: Axes) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    otherwise = axes.get_ylabel() or axes.get_title(loc="left")
    owned = set()
    for group in axes.containers:
        if isinstance(group, ErrorbarContainer) and group[0] is not None:
            owned |= {id(group[0]), *map(id, group[1])}
            x, y = np.asarray(group[0].get_xydata(), dtype=float).T
            name = _label(group, otherwise)
            yield name, x, y
            if group.has_yerr and len(group[2][-1].get_segments()) == len(y):
                ends = np.array([part[:, 1] if len(part) == 2 else (np.nan, np.nan)
                                 for part in group[2][-1].get_segments()])
                yield f"{name}: lower end of bar", x, ends[:, 0]
                yield f"{name}: upper end of bar", x, ends[:, 1]
    for line in axes.lines:
        if id(line) not in owned and len(line.get_xdata()) and line.get_transform() == axes.transData:
            yield (_label(line, otherwise), *np.asarray(line.get_xydata(), dtype=float).T)
    for points in axes.collections:
        offsets = np.ma.filled(np.ma.asarray(points.get_offsets(), dtype=float), np.nan)
        if len(offsets) and offsets.any():
            yield (_label(points, otherwise), *offsets.T)
