"""headway.gram: data-set files of any size as the Gram matrix of their path features."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headway import native
from headway.api.settings import overlays_of
from headway.base.caller import warn
from headway.base.paths import WRITTEN, flag_of, text_of_path
from headway.base.progress import Bars, listener_of
from headway.base.signatures import with_known_arguments
from headway.base.words import in_python, python_words, raise_unwritten
from headway.errors import UsageError

_LOG = logging.getLogger("headway")


@with_known_arguments
def gram(data: str | os.PathLike | Iterable[str | os.PathLike], output: str | os.PathLike, *,
         readout: str | None = None, attention: str | None = None, threads: int | None = None,
         overwrite: bool = False, progress: bool | Callable[..., object] | None = None) -> Path:
    """Sum data-set files of any size into a Gram matrix, which `headway.solve` and `headway.sample` take.

    It is the program's `headway gram`. Each file is read once, in blocks. The Gram matrix has the same size for any
    number of examples. Under `mpirun -n 4 python3 SCRIPT` each process reads its share of the examples.

    Parameters
    ----------
    data : str, path, or iterable of them
        Data-set files with the same heads, features and outputs. Their training examples are added. All need the
        same test set and further sets by name. The examples of each of these are kept, file after file: a test
        example that stands in two files counts twice.
    output : str or path
        The file of the Gram matrix.
    readout : {'last_token', 'first_token', 'mean'}, optional
        Tokens that the readout takes; default: that of the data, else the last token.
    attention : {'softmax', 'hardmax'}, optional
        How logits become attention weights.
    threads : int, optional
        Number of threads, 0 for all cores. Never changes a result.
    overwrite : bool, default: False
        Replace `output` where it exists.
    progress : bool or callable, optional
        As for `headway.solve`.

    Returns
    -------
    Path
        The path of the file, which is there on every process when the call returns.

    Raises
    ------
    BadDataError
        Files that are damaged or do not fit each other. The message names the file.
    UsageError
        No files, or something else in their place; or processes that were given different files.
    UnreadableFileError, CannotWriteError
        A file that is missing or cannot be read; an `output` that exists or cannot be written.
    UnavailableError
        The extension module is missing.
    Interrupted
        Ctrl-C was pressed. Nothing is written.

    Notes
    -----
    The result is the same to the last bit for any number of threads and processes (eq. 64).

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np, headway
    >>> folder, rng = pathlib.Path(tempfile.mkdtemp()), np.random.default_rng(1)
    >>> files = [headway.write_dataset(folder / f"{part}.h5", train_path_features=rng.standard_normal((50, 4, 5)),
    ...                                train_labels=np.resize([1.0, -1.0], 50), heads=[2, 2]) for part in "ab"]
    >>> everything = headway.gram(files, folder / "all.h5")
    >>> headway.solve(everything, widths=[10], temperature=0.1).points[0].converged
    True
    """
    given = [data] if isinstance(data, (str, os.PathLike)) else data
    if not isinstance(given, Iterable):
        raise UsageError(f"data: is {data!r}; allowed: the path of a data-set file, or a list of them")
    files = [text_of_path(f"data[{at}]", one) for at, one in enumerate(given)]
    if not files:
        raise UsageError("data: is empty; allowed: the path of a data-set file, or a list of them")
    settings = {name: value for name, value in (("readout", readout), ("attention", attention), ("threads", threads))
                if value is not None}
    overlays = overlays_of("headway.gram", "solve", settings, None)
    arguments = {key: name for key, (name, _) in overlays.items()}
    heard = listener_of(progress)
    target = text_of_path("output", output, WRITTEN)
    request: dict[str, Any] = {
        "input": files[0], "more_inputs": files[1:], "output": target, "force": flag_of("overwrite", overwrite), "progress": heard,
        "overlays": [f"{key}={value}" for key, (_, value) in overlays.items()],
        "main_thread": threading.current_thread() is threading.main_thread(), "command": ["headway.gram(...)"],
        "warning": lambda text: warn(python_words(text, arguments)), "note": _LOG.info}
    try:
        with in_python(arguments):
            done = native.module().compute("gram", request)
    finally:
        if isinstance(heard, Bars):
            heard.close()
    raise_unwritten(done.unwritten, None, arguments)
    return Path(target)
