"""Errors of the package. Each has the exit code that the program `headway` ends with for the same fault."""

from __future__ import annotations

from collections.abc import Sequence


class HeadwayError(Exception):
    """The base of every error of the package.

    Attributes
    ----------
    exit_code : int
        What `python -m headway` and the program `headway` end with.
    """

    exit_code = 70


class UsageError(HeadwayError, ValueError):
    """An argument or option that is wrong (exit code 64)."""

    exit_code = 64


class BadDataError(HeadwayError, ValueError):
    """A fault inside a data-set or result file, or in arrays (exit code 65).

    Parameters
    ----------
    faults : str or sequence of str
        All faults, one sentence each. The message has one a line.

    Attributes
    ----------
    faults : tuple of str
        All of them.
    """

    exit_code = 65

    def __init__(self, faults: str | Sequence[str]):
        self.faults = (faults,) if isinstance(faults, str) else tuple(faults)
        super().__init__("\n".join(self.faults))


class UnreadableFileError(HeadwayError, OSError):
    """A file that is missing or cannot be opened (exit code 66)."""

    exit_code = 66


class CannotWriteError(HeadwayError, OSError):
    """An output that exists already or cannot be written (exit code 73).

    Parameters
    ----------
    text : str, default: ''
        The message.
    result : Result, optional
        What was computed before the file could not be written.

    Attributes
    ----------
    result : Result or None
        What was computed before the file could not be written: result.save(path) tries again.
    """

    exit_code = 73

    def __init__(self, text: str = "", result: object = None):
        super().__init__(text)
        self.result = result


class UnavailableError(HeadwayError, RuntimeError):
    """A device, a library or a package that this installation lacks, or memory (exit code 69)."""

    exit_code = 69


class InternalError(HeadwayError, RuntimeError):
    """A bug in Headway: please report it with what caused it (exit code 70)."""

    exit_code = 70


class BadStudyError(HeadwayError, ValueError):
    """A value in a study, or a setting, that is not allowed (exit code 78)."""

    exit_code = 78


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed, and the computation stopped at a safe point (exit code 130).

    Parameters
    ----------
    text : str, default: ''
        The message.
    result : Result, TrainingResult, LatentsResult, EvaluateResult or RemovalResult, optional
        What was finished until then.

    Attributes
    ----------
    result : Result, TrainingResult, LatentsResult, EvaluateResult, RemovalResult or None
        What was finished until then.
    """

    exit_code = 130

    def __init__(self, text: str = "", result: object = None):
        super().__init__(text)
        self.result = result


class NotUsableWarning(UserWarning):
    """A result is finished but not to be trusted: it did not converge, or its chains do not agree."""


_OF_PROGRAM = {kind.exit_code: kind
               for kind in (UsageError, BadDataError, UnreadableFileError, UnavailableError,
                            InternalError, CannotWriteError, BadStudyError, Interrupted)}


def of_program(exit_code: int, text: str) -> BaseException:
    """The exception that stands for an exit code of the program, with the program's words."""
    return _OF_PROGRAM.get(exit_code, InternalError)(text)
