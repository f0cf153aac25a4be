"""One page that shows results, works without a network, and needs nothing but a browser.

    headway.write_report(["solve.h5", "sample.h5"], "report.html")
    python -m headway report solve.h5 sample.h5 -o report.html

It may import base, results and figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from headway.base.files import path_to_write, refuse_inputs, write_text
from headway.base.paths import text_of_path
from headway.base.signatures import with_known_arguments
from headway.errors import UsageError
from headway.report.page import page
from headway.report.reading import read_any
from headway.results.ranking.table import HeadRanking

_ALLOWED = "the path of a result file; result.save(path) writes a result in memory to one"
_RANKING = ". A ranking has no page: ranking.plot() draws it, and ranking.to_csv(path) writes it"

__all__ = ["page", "read_any", "write_report"]


@with_known_arguments
def write_report(results: str | os.PathLike | Sequence[str | os.PathLike], path: str | os.PathLike,
                 labels: Sequence[str] | None = None, overwrite: bool = False) -> Path:
    """Write one page that shows results, for any browser and without a network.

    Parameters
    ----------
    results : str, path, or sequence of them
        Result files. Several stand side by side.
    path : str or path
        The page, HTML, which appears whole or not at all. A folder that is missing is made.
    labels : sequence of str, optional
        A name for each result; default: its study and verb.
    overwrite : bool, default: False
        Replace a page that exists.

    Returns
    -------
    Path
        The path of the page.

    Raises
    ------
    UsageError
        There is no result, something else than paths in its place, or labels are equal or of the wrong number.
    CannotWriteError
        The page exists without overwrite=True, is one of the results, or cannot be written.
    UnreadableFileError, BadDataError
        As `headway.read_result`.

    Examples
    --------
    >>> headway.write_report(["four.h5", "draws.h5"], "report.html")  # doctest: +SKIP
    """
    several = isinstance(results, Iterable) and not isinstance(results, (str, bytes, os.PathLike, HeadRanking))
    files = [text_of_path(f"results[{at}]" if several else "results", file, _ALLOWED + (_RANKING if isinstance(file, HeadRanking) else ""))
             for at, file in enumerate(results if several else [results])]
    if not files:
        raise UsageError("results: there is none; allowed: at least one result file")
    refuse_inputs(path_to_write(path), files)
    return write_text(page([read_any(file) for file in files], labels), path, overwrite)
