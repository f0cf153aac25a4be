"""Reference pages made of what the program and the package say of themselves."""

import inspect
import re
import subprocess
import sys

from sphinx.ext.autodoc.mock import mock

import headway


def commands(program, python_path):
    """The page of every command: --help of the program, of its verbs and of the Python package."""
    general = _help([program])
    verbs = re.findall(r"^  ([\w-]+) {2,}\S", general.partition("Verbs:")[2].partition("\n\n")[0], re.MULTILINE)
    package = [sys.executable, "-m", "headway"]
    summary = _help(package, python_path)
    further = re.findall(r"^    (\w+) {2,}\S", summary, re.MULTILINE)
    if not verbs or not further:
        raise SystemExit("reference.py: --help lists no commands")
    lines = ["# Commands", "", "What `headway --help` and `headway VERB --help` print; "
             "[the program](../apps/cli/README.md) explains it.", "", *_block("headway", general)]
    for verb in verbs:
        lines += _block(f"headway {verb}", _help([program, verb]))
    lines += _block("python3 -m headway", summary)
    for verb in further:
        lines += _block(f"python3 -m headway {verb}", _help([*package, verb], python_path))
    return "\n".join(lines)


def _block(title, text):
    return [f"## {title}", "", "```text", text.strip(), "```", ""]


def _help(command, python_path=None):
    environment = None if python_path is None else {"PYTHONPATH": str(python_path), "PATH": "/usr/bin:/bin", "COLUMNS": "100"}
    return subprocess.run([*command, "--help"], text=True, stdout=subprocess.PIPE, check=True, env=environment).stdout


def python():
    """The page of the package's public names, with autodoc's directives; reStructuredText."""
    names = [name for name in headway.__all__ if name not in ("__version__", "figures")]
    with mock(["torch"]):
        things = {name: getattr(headway, name) for name in names}
    errors = [name for name, thing in things.items() if inspect.isclass(thing) and issubclass(thing, BaseException)]
    classes = [name for name, thing in things.items() if inspect.isclass(thing) and name not in errors]
    functions = [name for name in names if name not in errors and name not in classes]
    parts = [_heading("Python reference", "="), ".. automodule:: headway\n", _heading("Functions", "-")]
    parts += [f".. autofunction:: headway.{name}\n" for name in functions]
    parts += [_heading("Results and other objects", "-")]
    parts += [_class(f"headway.{name}", things[name]) for name in classes]
    parts += [_heading("Errors", "-")]
    parts += [f".. autoexception:: headway.{name}()\n" for name in errors]
    parts += [_heading("Figures", "-"), ".. automodule:: headway.figures\n", ".. autofunction:: headway.figures.draw_all\n",
              _class("headway.figures.PlotOptions", headway.figures.PlotOptions)]
    for module, title in (("results.named_arrays", "Names of dimensions"),
                          ("heads.network_contributions", "Contributions of a network")):
        parts += [_heading(title, "-"), f".. automodule:: headway.{module}\n"]
    return "\n".join(parts)


def _class(name, thing):
    """The directive for a class. Attributes that the docstring describes are not listed again as members without a word."""
    whole = re.search(r"^ *Attributes\n *-{3,}$", thing.__doc__ or "", re.MULTILINE)
    return f".. autoclass:: {name}()\n   :members:\n" + ("" if whole else "   :undoc-members:\n")


def _heading(title, line):
    return f"{title}\n{line * len(title)}\n"
