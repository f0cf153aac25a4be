"""Errors of the package. Each knows the exit code that the program `headway` gives the same fault."""

from __future__ import annotations

from collections.abc import Sequence


class HeadwayError(Exception):
    """Base class: `exit_code` is what `python -m headway` returns for it."""

    exit_code = 70


class UsageError(HeadwayError, ValueError):
    """A wrong option or argument (64)."""

    exit_code = 64


class BadDataError(HeadwayError, ValueError):
    """A fault inside a data-set or result file, or in the arrays for one (65).

    `faults` holds all of them, one sentence each; the message has one a line.
    """

    exit_code = 65

    def __init__(self, faults: str | Sequence[str]):
        self.faults = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__("\n".join(self.faults))


class UnreadableFileError(HeadwayError, OSError):
    """A file that is missing or cannot be opened (66)."""

    exit_code = 66


class CannotWriteError(HeadwayError, OSError):
    """An output that exists already, or cannot be written (73)."""

    exit_code = 73
