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


class UnavailableError(HeadwayError, RuntimeError):
    """A device, a part or a package that this installation lacks (69)."""

    exit_code = 69


class InternalError(HeadwayError, RuntimeError):
    """A bug in Headway: please report it with what caused it (70)."""

    exit_code = 70


class BadStudyError(HeadwayError, ValueError):
    """A value in a study, or an option, that is not allowed (78)."""

    exit_code = 78


class Interrupted(KeyboardInterrupt):
    """Stopped by Ctrl-C at a safe point. `result` has what was finished until then, or is None."""

    exit_code = 130

    def __init__(self, text: str = "", result: object = None):
        super().__init__(text)
        self.result = result


class NotUsableWarning(UserWarning):
    """A result that is finished but not to be trusted: not converged, chains that do not agree."""


_OF_PROGRAM = {kind.exit_code: kind
               for kind in (UsageError, BadDataError, UnreadableFileError, UnavailableError,
                            InternalError, CannotWriteError, BadStudyError, Interrupted)}


def of_program(exit_code: int, text: str) -> BaseException:
    """What the program says with this exit code, as an exception with its words."""
    return _OF_PROGRAM.get(exit_code, InternalError)(text)
