"""How a result is made again: a sentence, and a command that works."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

_ARRAYS = re.compile(r'^file = "arrays in memory"$', re.MULTILINE)


def of_arrays(provenance: Mapping[str, Any]) -> bool:
    """Whether a result was made from arrays in memory."""
    return _ARRAYS.search(str(provenance.get("study_toml", ""))) is not None


def how_to_remake(result: Any) -> tuple[str, str]:
    """What to do, and the command or the call to do it with.

    A file holds its study, but neither arrays that were in memory nor new inputs nor the networks that were put on other data.
    """
    command = str(result.provenance.get("command", ""))
    if of_arrays(result.provenance):
        return ("It was made from arrays in memory, which it does not hold. Run this in Python, and pass the same arrays again:",
                unquoted(command))
    if result.kind in ("predict", "network_predict"):
        made = unquoted(command)
        return f"It was made by this {'command' if made == command else 'call'}, from a result and new inputs:", made
    if result.kind == "evaluate" or type(result).__name__ == "RemovalResult":
        return "The file that this command names has the networks:", command
    if getattr(result, "_is_in_memory", False):
        return "It was made by this call:", unquoted(command)
    return "The file holds its own study. This computes it again:", f"headway {result.kind} {shlex.quote(str(result.file))} -o again.h5"


def unquoted(command: str) -> str:
    """A call is recorded as one word of a command line."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[0] if len(words) == 1 else command
