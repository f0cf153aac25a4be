"""Rows of texts as a table: aligned, Markdown, CSV or HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence


def aligned(header: list[str], rows: list[list[str]]) -> str:
    """A table as text, columns aligned to the right."""
    sizes = [max(map(len, column)) for column in zip(header, *rows)]
    lines = ["  ".join(cell.rjust(size) for cell, size in zip(row, sizes)).rstrip()
             for row in [header, *rows]]
    lines.insert(1, "  ".join("-" * size for size in sizes))
    return "\n".join(lines)


def aligned_in_blocks(header: list[str], rows: list[list[str]], fixed: int, width: int) -> str:
    """The same in as many blocks, one below the other, as columns need in lines of `width`. Each begins with the `fixed` first."""
    sizes = [max(map(len, column)) + 2 for column in zip(header, *rows)]
    blocks: list[list[int]] = []
    for column in range(fixed, len(header)):
        if not blocks or sum(sizes[:fixed]) + sum(sizes[at] for at in (*blocks[-1], column)) - 2 > width:
            blocks.append([])
        blocks[-1].append(column)
    shown = [[*range(fixed), *block] for block in blocks] or [list(range(len(header)))]
    return "\n\n".join(aligned([header[at] for at in block], [[row[at] for at in block] for row in rows]) for block in shown)


def _markdown(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [header, *rows]]
    lines.insert(1, "|" + "|".join(["---:"] * len(header)) + "|")
    return "\n".join(lines)


def _csv(header: list[str], rows: list[list[str]]) -> str:
    def quoted(cell: str) -> str:
        return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\n') else cell
    return "\n".join(",".join(map(quoted, row)) for row in [header, *rows])


#: By the name of a format.
LAYOUTS = {"text": aligned, "markdown": _markdown, "csv": _csv}


def paragraph(text: str) -> str:
    """A paragraph of HTML with this text, escaped."""
    return f"<p>{html.escape(text)}</p>"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain HTML table of texts, escaped."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
