"""Studies in Python: a file, or one that comes with Headway, with settings changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway import native
from headway.api.settings import overlays_of
from headway.base.paths import text_of_path
from headway.base.signatures import with_known_arguments
from headway.base.words import in_python


@dataclass(frozen=True, repr=False)
class Study:
    """A study with everything resolved, which `headway.read_study` makes.

    Attributes
    ----------
    name : str
        What it was read from: a path, or the name of a study that comes with Headway.
    text : str
        What a study file would say, TOML.

    Examples
    --------
    >>> import headway
    >>> study = headway.read_study("hmm-four-paths")
    >>> study.text.splitlines()[0]
    'schema = 1'
    """

    name: str
    text: str

    def __repr__(self) -> str:
        return f"<Study {self.name}, {len(self.text.splitlines())} lines of TOML in text>"


@with_known_arguments
def read_study(path: str | os.PathLike, settings: Mapping[str, Any] | None = None) -> Study:
    """Read a study, and change some of its keys.

    Parameters
    ----------
    path : str or path
        A study file, a data set or a result; or the name of a study that comes with Headway.
    settings : mapping of str to value, optional
        Keys that take the place of the study's own, by their dotted names: {"model.widths": [10]}.

    Returns
    -------
    Study
        The study, which `headway.solve` and its like take.

    Raises
    ------
    BadStudyError
        A key or a value is not allowed. The message names file, line, key, value and what is allowed.
    UnreadableFileError
        There is no such file or study.
    UnavailableError
        The extension module is missing.

    Examples
    --------
    >>> import headway
    >>> study = headway.read_study("hmm-four-paths", {"model.widths": [10], "model.temperature": 0.3})
    >>> headway.solve(study).points[0].temperature
    0.3
    """
    name = text_of_path("study", path)
    overlays = overlays_of("headway.read_study", "solve", {}, settings)
    request = {"input": name, "overlays": [f"{key}={value}" for key, (_, value) in overlays.items()]}
    with in_python({key: argument for key, (argument, _) in overlays.items()}):
        text = native.module().resolved_study(request)
    return Study(name, text)
