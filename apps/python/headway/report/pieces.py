"""Pieces of HTML. Whatever comes from a file goes through `escaped`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def escaped(value: Any) -> str:
    """Text that is no markup, in an element or in a quoted attribute."""
    return html.escape(str(value), quote=True)


def element(tag: str, *content: str, **attributes: Any) -> str:
    """<tag attributes>content</tag>: attributes are escaped, the content is HTML already.

    A trailing _ of a name is dropped (class_) and other ones become hyphens (aria_label); an attribute
    that is None or False is left out.
    """
    words = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escaped(value)}"')
        for name, value in attributes.items() if value is not None and value is not False)
    return f"<{tag}{words}>{''.join(content)}</{tag}>"


def section(identity: str, heading: str, *content: str, level: int = 2) -> str:
    """A region with a heading that names it."""
    name = f"{identity}-heading"
    return element("section", element(f"h{level}", escaped(heading), id=name), *content,
                   id=identity, aria_labelledby=name) + "\n"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str,
          sortable: bool = True) -> str:
    """A table that scrolls by itself where the page is narrow; with `sortable`, by a click or a key on
    each header (report.js)."""
    rows = [[str(cell) for cell in row] for row in rows]
    kinds = ["words" if any(_is_words(row[column]) for row in rows) else None
             for column in range(len(header))]
    head = "".join(element("th", escaped(cell), scope="col", class_=kind)
                   for cell, kind in zip(header, kinds))
    lines = [element("tr", element("th", escaped(first), scope="row"), *(
        element("td", escaped(cell), class_=kind) for cell, kind in zip(rest, kinds[1:])))
        for first, *rest in rows]
    return element(
        "div", element("table", element("caption", escaped(caption)),
                       element("thead", element("tr", head)), element("tbody", *lines),
                       class_="sortable" if sortable else None),
        class_="scroll", role="region", aria_label=caption, tabindex=0)


def _is_words(cell: str) -> bool:
    """Whether a cell is no number, and not missing."""
    return cell != "infinite" and re.search(r"[^\W\d_]{3}", cell) is not None


def details(summary: str, *content: str) -> str:
    return element("details", element("summary", escaped(summary)), *content)


def definitions(entries: Mapping[str, Any]) -> str:
    """Names and values."""
    return element("dl", *(element("div", element("dt", escaped(name)), element("dd", escaped(value)))
                           for name, value in entries.items()))


def code_block(text: str, name: str) -> str:
    """Text to copy, which the keyboard can scroll."""
    return element("pre", element("code", escaped(text)), tabindex=0, role="region", aria_label=name)


def paragraph(text: str, **attributes: Any) -> str:
    return element("p", escaped(text), **attributes)


def choice(identity: str, label: str, options: Mapping[str, str]) -> str:
    """A labelled select: values and what they are called."""
    return element("label", escaped(label) + " ", element("select", *(
        element("option", escaped(name), value=value) for value, name in options.items()),
        id=identity), class_="control")


def slider(identity: str, label: str, names: Sequence[str], start: int = 0) -> str:
    """A labelled range over `names`; what it stands on is written beside it and told to screen readers."""
    last = len(names) - 1
    return element(
        "label", element("span", escaped(label)),
        element("input", type="range", id=identity, min=0, max=max(last, 0), step=1, value=start,
                disabled=last < 1, aria_valuetext=names[start]).removesuffix("</input>"),
        element("output", escaped(names[start]), id=f"{identity}-shown", for_=identity),
        class_="control slider")
