"""Studies in Python: a file, or one that comes with Headway, with settings changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway import native
from headway.errors import UsageError
from headway.settings import overlays_of
from headway.words import in_python


@dataclass(frozen=True, repr=False)
class Study:
    """A study with everything resolved: `text` is what a study file would say (TOML)."""

    name: str
    text: str

    def __repr__(self) -> str:
        return f"<Study {self.name}, {len(self.text.splitlines())} lines of TOML in text>"


def read_study(path: str | os.PathLike, settings: Mapping[str, Any] | None = None) -> Study:
    """The study in a file, or of that name among those that come with Headway ("hmm-four-paths"), with
    `settings` such as {"model.widths": [10]} in place of its own.

    headway.solve and its like take it; so they do a path or a name. Errors: BadStudyError naming file,
    line, key, value and what is allowed; UnreadableFileError; UnavailableError without the extension
    module.
    """
    name = text_of_path("study", path)
    overlays = overlays_of("headway.read_study", "solve", {}, settings)
    request = {"input": name, "overlays": [f"{key}={value}" for key, (_, value) in overlays.items()]}
    with in_python({key: argument for key, (argument, _) in overlays.items()}):
        text = native.module().resolved_study(request)
    return Study(name, text)


def text_of_path(argument: str, path: Any) -> str:
    try:
        name = os.fspath(path)
    except TypeError:
        name = None
    if not isinstance(name, str) or not name or "\0" in name:
        raise UsageError(f"{argument}: is {path!r}; allowed: the path of a study, a data set or a result, "
                         "the name of a study that comes with Headway, or what headway.read_study gives")
    return name
