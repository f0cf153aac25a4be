"""What the program says, in Python's words: its options are arguments here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from headway.errors import BadDataError, CannotWriteError, HeadwayError

_FIXED = (("--shard i/n", "shard=(i, n)"), ("--force", "overwrite=True"), ("another -o", "another output"), ("-o is given", "output is given"),
          ("--dry-run", "dry_run=True"))
_AXIS = re.compile(r"--set '([\w.]+)=\[\{(\w+) = ([^']*)\}\]'")
_SET = re.compile(r"--set ([\w.]+)=")
_OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)")
_VERB = re.compile(r"(?<!mpirun -n R )\bheadway (solve|align|prune-network|prune|sample|predict|train|latents|evaluate)\b")


def python_words(text: str, arguments: Mapping[str, str] | None = None) -> str:
    """A message of the program without its command line: "--force" is overwrite=True, "--set model.widths=" is widths=.

    Parameters
    ----------
    text : str
        What the program says.
    arguments : mapping of str to str, optional
        By dotted key of the study, the argument that gave it: {"model.widths": "widths"}.

    Returns
    -------
    str
        The same for someone who called a function.
    """
    lines = text.split("\n")
    return "\n".join(line if line.startswith("  ") else _in_python(line, arguments or {}) for line in lines)


def _in_python(text: str, known: Mapping[str, str]) -> str:
    """One line of a message. (Commands to be typed stand on lines of their own, after two spaces, and stay.)"""
    text = _AXIS.sub(lambda found: f'settings={{"{found[1]}": [{{"{found[2]}": {found[3]}}}]}}', text)
    text = _SET.sub(lambda found: f"{known.get(found[1], f'settings[{found[1]!r}]')}=", text)
    for option, argument in _FIXED:
        text = text.replace(option, argument)
    text = _OPTION.sub(lambda found: found[1].replace("-", "_"), text)
    return _VERB.sub(lambda found: "headway." + found[1].replace("-", "_"), text)


def with_names(text: str, names: Sequence[tuple[str, str]]) -> str:
    """A message with names of arguments for the files that stand for them.

    Parameters
    ----------
    text : str
        The message.
    names : sequence of (str, str)
        Pairs of a path and a name. Of two pairs with one path each gives its name once, the last one from then on.
    """
    for path in dict.fromkeys(path for path, _ in names):
        own = [name for known, name in names if known == path]
        text = re.sub(re.escape(path), lambda _: own.pop(0) if len(own) > 1 else own[0], text)
    return text


def raise_unwritten(text: str, result: object, arguments: Mapping[str, str] | None = None, names: Sequence[tuple[str, str]] = ()) -> None:
    """CannotWriteError, which keeps the result, where its file could not be written; `text` says why, else it is ""."""
    if text:
        raise CannotWriteError(with_names(python_words(text, arguments), names), result)


@contextmanager
def in_python(arguments: Mapping[str, str] | None = None, names: Sequence[tuple[str, str]] = ()) -> Iterator[None]:
    """In this block errors of the package speak of arguments, not of the program's options.

    `names` are those of files that stand for arguments, as `with_names` takes them.
    """
    try:
        yield
    except BadDataError as error:
        raise BadDataError([with_names(python_words(fault, arguments), names) for fault in error.faults]) from None
    except HeadwayError as error:
        raise type(error)(with_names(python_words(str(error), arguments), names)) from None
