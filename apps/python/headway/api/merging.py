"""headway.merge: the parts of a study, which shard=(i, n) or the program's --shard made, as one result."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headway import native
from headway.api.compute import file_of
from headway.base.caller import warn
from headway.base.paths import described, flag_of, output_of, text_of_path
from headway.base.signatures import with_known_arguments
from headway.base.words import in_python, python_words, raise_unwritten
from headway.errors import UsageError
from headway.results.display import Shown
from headway.results.result_reader import result_of

if TYPE_CHECKING:
    from headway.results.result import Result
    from headway.results.training_results import TrainingResult

_LOG = logging.getLogger("headway")
_ALLOWED = "the path of a part, or a result that shard=(i, n) made"


@with_known_arguments
def merge(parts: Iterable[str | os.PathLike | Result | TrainingResult], *,
          output: str | os.PathLike | None = None, overwrite: bool = False) -> Result | TrainingResult:
    """Join the parts of a study into the result of the whole.

    The answer is that of the program `headway merge`, and that of the undivided study, to the last bit.

    Parameters
    ----------
    parts : iterable of str, path, Result or TrainingResult
        All parts of one study, in any order: what `shard=(i, n)` of `headway.solve`, `headway.sample` or
        `headway.train` gave, or files of the program's `--shard i/n`.
    output : str or path, optional
        Also write the result file there.
    overwrite : bool, default: False
        Replace `output` where it exists.

    Returns
    -------
    Result or TrainingResult
        The result of the whole study.

    Raises
    ------
    BadDataError
        Parts that do not belong together, or that are not finished. The message names the part.
    UnreadableFileError
        A file is missing, or a part is. The message has the call or the command that makes it.
    UsageError
        There are no parts, or something else in their place.
    CannotWriteError
        An `output` that exists or cannot be written.
    UnavailableError
        The extension module is missing.

    Examples
    --------
    >>> import headway
    >>> parts = [headway.solve("hmm-four-paths", widths=[10], temperature=[0.01, 0.1], shard=(i, 2))
    ...          for i in range(2)]
    >>> [point.temperature for point in parts[1].points]
    [0.1]
    >>> [point.temperature for point in headway.merge(parts).points]
    [0.01, 0.1]
    """
    if isinstance(parts, (str, os.PathLike)) or not isinstance(parts, Iterable):
        raise UsageError(f"parts: is {described(parts)}; allowed: a list of parts, each {_ALLOWED}")
    kept = list(parts)  # keeps results in memory, whose files are deleted with them
    files = [_file_of(f"parts[{at}]", part) for at, part in enumerate(kept)]
    if not files:
        raise UsageError(f"parts: is empty; allowed: all parts of a study, each {_ALLOWED}")
    request: dict[str, Any] = {
        "input": files[0], "more_inputs": files[1:], "output": output_of(output),
        "force": flag_of("overwrite", overwrite), "command": ["headway.merge(...)"], "warning": lambda text: warn(python_words(text)),
        "note": _LOG.info}
    names = [(file, f"parts[{at}]") for at, (file, part) in enumerate(zip(files, kept)) if getattr(part, "_is_in_memory", False)]
    with in_python(names=names):
        done = native.module().compute("merge", request)
    merged = result_of(done, None, "headway.merge")
    raise_unwritten(done.unwritten, merged, names=names)
    return merged


def _file_of(name: str, part: Any) -> str:
    if isinstance(part, Shown):
        part._require_origin()
    if getattr(part, "_is_in_memory", False):
        return file_of(part)
    return text_of_path(name, getattr(part, "file", part), _ALLOWED)
