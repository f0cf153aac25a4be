"""Arguments that are paths, and what is said of one that is none."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.errors import UsageError

WRITTEN = "the path of the file to write"
LONGEST = 120  # characters of a wrong argument that a message shows

_STUDIES = ("the path of a study, a data set or a result, the name of a study that comes with Headway, or what "
            "headway.read_study gives")


def text_of_path(argument: str, path: Any, allowed: str = _STUDIES) -> str:
    """A path as text. UsageError naming the argument and what is allowed where it is none."""
    try:
        name = os.fspath(path)
    except TypeError:
        name = None
    if not isinstance(name, str) or not name or "\0" in name:
        by_name = "; arrays go by their names: give it as inputs= or features=" if allowed is _STUDIES and (
            hasattr(path, "shape") or isinstance(path, (list, tuple))) else ""
        raise UsageError(f"{argument}: is {described(path)}; allowed: {allowed}{by_name}")
    require_utf8(argument, name)
    return name


def require_utf8(argument: str, text: str) -> None:
    """UsageError unless a text can be written as UTF-8, as the program takes texts and names of files."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{argument}: is {described(text)}; allowed: UTF-8; rename a file whose name is not") from None


def flag_of(argument: str, value: Any) -> bool:
    """True or False, False where it was not given; UsageError for anything else, such as the text "no"."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise UsageError(f"{argument}: is {described(value)}; allowed: True or False")


def output_of(output: Any) -> str:
    """The argument `output` as text, "" where it was not given; UsageError where it is no path."""
    return "" if output is None else text_of_path("output", output, WRITTEN)


def described(value: Any) -> str:
    """What a wrong argument is, in a line: of an array its shape and type, of a table or another thing of several lines its type."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of shape {list(value.shape)} and type {value.dtype}"
    if isinstance(value, (list, tuple, Mapping)) and len(repr(value)) > LONGEST:
        return f"a {type(value).__name__} of length {len(value)}"
    text = repr(value)
    if "\n" in text:
        return f"of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST - 3]}..."
