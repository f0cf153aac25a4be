"""How results show themselves: one line at a prompt, a table in a notebook, figures on request."""

from __future__ import annotations

import base64
import html
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headway.files import whole_file
from headway.hdf5 import open_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 4  # entries of a list that a short form spells out


def brief(value: Any) -> str:
    """A value in a few words: an array by its shape, a long list or a table by its length."""
    if isinstance(value, np.ndarray):
        return f"array {list(value.shape)}" if value.ndim else f"{value.item():g}"
    if isinstance(value, Brief):
        return f"<{type(value).__name__}>"
    if isinstance(value, Mapping):
        return f"{{{len(value)} entries}}" if len(value) > SHOWN else "{" + ", ".join(
            f"{key}: {brief(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(brief, value[:SHOWN]))
        return f"[{items}, ... {len(value)} in all]" if len(value) > SHOWN else f"[{items}]"
    if isinstance(value, str):
        return repr(value if len(value) <= 60 else value[:57] + "...")
    return f"{value:g}" if isinstance(value, float) else repr(value)


class Brief:
    """A short `repr`: the fields of a dataclass, arrays as their shapes; fields that are None or empty
    are left out."""

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__}
        words = [f"{name}={brief(value)}" for name, value in shown.items()
                 if value is not None and not (isinstance(value, (tuple, Mapping)) and not value)]
        return f"{type(self).__name__}({', '.join(words)})"


class Shown(Brief):
    """A whole result: says what it is at a prompt, is a table in a notebook, and can be drawn.

    `summary` (of the class that has this one as its base) is the line that says what it is.
    """

    _computation: ClassVar[Any] = None  # of a result in memory: what the extension module made
    _data: ClassVar[Any] = None  # the arrays that it was made from, if any

    def __copy__(self) -> Shown:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and deep copies keep: what can be read, not what the computation can still make."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def save(self, path: str | os.PathLike, force: bool = False) -> Path:
        """Writes the result file that the program would write, whole or not at all; of a result that
        was read from a file, a copy. Returns its path.

        Errors: CannotWriteError where it exists already (force=True replaces it) or cannot be written,
        UnreadableFileError where the file that was read is gone.
        """
        target = Path(path)
        if self._computation is not None:
            self._computation.save(os.fspath(target), force,
                                   "" if self._data is None else self._data.content_hash)
        else:
            with whole_file(target, force, "force=True") as name:
                with open_file(self.file):  # whose words fit where it is gone
                    pass
                shutil.copyfile(self.file, name)
        return target

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of headway {self.kind}: {self.summary}>"

    def _repr_html_(self) -> str:
        from headway.table import cells
        return (f"<p><strong>{html.escape(self.study)}</strong>, headway {html.escape(self.kind)}: "
                f"{html.escape(self.summary)}</p>" + html_table(*cells(self)))

    def plot(self, *names: str, others: Sequence[Any] = (), **options) -> Figures:
        """The figures `names`, by default all that this result has the data for, by name.

        Other results are overlaid where a figure can; `options` are those of
        headway.figures.PlotOptions (widths, temperature, path_names, ...). In a notebook the figures
        show themselves; `["order_parameters"]` of the answer is a matplotlib Figure.
        Errors: UsageError for an unknown name or choice, BadDataError where there is nothing to draw.
        """
        from headway import figures
        return Figures(figures.draw_all([self, *others], figures.PlotOptions(**options),
                                        names or None))


    def to_datatree(self):
        """Everything as an `xarray.DataTree`; see headway.xarray_export.to_datatree."""
        from headway.xarray_export import to_datatree
        return to_datatree(self)


class Figures(dict):
    """matplotlib figures by name, which a notebook shows one below the other."""

    def __repr__(self) -> str:
        return f"<{len(self)} figure{'' if len(self) == 1 else 's'}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        from headway.figures import rendered
        return "".join(
            f'<figure><img alt="{html.escape(name)}" style="max-width: 100%" '
            f'src="data:image/svg+xml;base64,{_encoded(rendered(figure, "svg"))}"></figure>'
            for name, figure in self.items())

    def only(self) -> Figure:
        """The figure, where there is just one; ValueError otherwise."""
        if len(self) != 1:
            raise ValueError(f"there are {len(self)} figures: {', '.join(self)}")
        return next(iter(self.values()))


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain HTML table of texts, escaped."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
