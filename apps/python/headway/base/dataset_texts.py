"""Words in messages about data-set files, as src/core/text.cpp has them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

#: What breaks a row of a table, or the order of what stands in it, as is_control() of src/core/text.cpp.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def number(value: float) -> str:
    """The shortest text that is this number: 0.1, 2, nan."""
    return "nan" if math.isnan(value) else repr(float(value)).removesuffix(".0")


def printable(text: bytes) -> str:
    """Cut after 64 bytes, at a character; control characters, and bytes that are no UTF-8, as "?"."""
    end = len(text)
    if end > 64:
        end = 64
        while end > 0 and text[end] & 0xC0 == 0x80:
            end -= 1
    shown = text[:end].decode("utf-8", "surrogateescape")  # a byte that is no UTF-8: a lone surrogate
    shown = re.sub("[\udc80-\udcff]", "?", _CONTROL.sub("?", shown))
    return shown + "..." if end < len(text) else shown


def text_fault(text: bytes, lines: bool) -> str | None:
    """Why a text cannot be shown in tables and figures, or None."""
    broken = None
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        broken = error.start
    for found in _CONTROL.finditer(text[:broken].decode("utf-8")):
        if lines and found[0] in "\n\t\r":
            continue
        c, at = ord(found[0]), len(found.string[:found.start()].encode("utf-8"))
        shown = c if c < 0x80 else f"U+{c:04X}"
        return f"contains the control character {shown} (byte {at}); allowed: printable text"
    return None if broken is None else f"is not UTF-8 text (byte {broken})"


def masked_fault(name: str, array: np.ma.MaskedArray, begin: int = 0) -> str:
    """Of an array with np.ma.is_masked(); `begin`: its first example's number."""
    at = np.argwhere(np.ma.getmaskarray(array))[0].tolist()
    return f"{name}{[at[0] + begin, *at[1:]] if at else ''}: is masked; allowed: numbers"


def nearly(name: str, known: str) -> bool:
    """A slip of the pen: `known` but for a letter or two, in any case."""
    allowed = 2 if len(known) > 5 else 1
    return len(name) <= len(known) + 2 and _edits(name.lower(), known) <= allowed


def _edits(a: Sequence, b: Sequence) -> int:
    """Number of insertions, deletions, replacements and swaps of neighbours."""
    d = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                d[i][j] = min(d[i][j], d[i - 2][j - 2] + 1)
    return d[-1][-1]
