"""How results show themselves: one line at a prompt, a table in a notebook, figures on request."""

from __future__ import annotations

import base64
import copy
import html
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headway.base.data_frame import data_frame
from headway.base.files import make_folder_of, path_to_write, remove_folders, whole_file, write_bytes
from headway.base.hdf5 import open_file
from headway.base.paths import described, flag_of
from headway.base.remaking import how_to_remake
from headway.base.signatures import with_known_arguments, with_older_names
from headway.base.words import in_python
from headway.errors import UsageError
from headway.results.layouts import html_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import DataTree

SHOWN = 4  # entries of a list that a short form spells out
CARRIED = 16 << 20  # bytes of arrays that a pickled result takes along, so that it can go on; larger ones stay behind


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
    """What every whole result can do: it is a line at a prompt, a table in a notebook, and can be drawn and saved.

    A subclass gives the line as its property `summary`. Results and their parts are equal only to themselves (eq=False): of
    arrays nobody could say whether they are equal without a tolerance.
    """

    _computation: ClassVar[Any] = None  # of a result in memory: what the extension module made
    _data: ClassVar[Any] = None  # the arrays that it was made from, if any
    _saved: ClassVar[bytes | None] = None  # of a pickled result that was in memory: its file, compressed

    def __copy__(self) -> Shown:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        vars(made).pop("_file", None)  # is deleted with the first
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Shown:
        """The fields are copied. The computation and its arrays never change, and are shared."""
        made = object.__new__(type(self))
        memo[id(self)] = made
        vars(made).update({name: copy.deepcopy(getattr(self, name), memo) for name in self.__dataclass_fields__})
        vars(made).update({name: vars(self)[name] for name in ("_computation", "_data", "_saved") if name in vars(self)})
        return made

    def __getstate__(self) -> dict[str, Any]:
        """What pickle keeps: the fields; of a result in memory also its file, and its arrays where they are small.

        So it can be saved, and computed on, in another process.
        """
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if self._is_in_memory:
            state["_saved"] = self._saved if self._saved is not None else self._compressed_file()
            if self._data is not None and self._data.bytes <= CARRIED:
                state["_data"] = self._data
        return state

    def _compressed_file(self) -> bytes:
        with tempfile.TemporaryDirectory(prefix="headway-") as folder:
            file = self.save(os.path.join(folder, "result.h5"))
            return zlib.compress(file.read_bytes(), 1)

    @property
    def _is_in_memory(self) -> bool:
        """Whether it is no file that it stands for."""
        return self._computation is not None or self._saved is not None

    @with_older_names(force="overwrite")
    @with_known_arguments
    def save(self, path: str | os.PathLike, overwrite: bool = False) -> Path:
        """Write the result file that the program would write.

        Parameters
        ----------
        path : str or path
            The file, which appears whole or not at all. Of a result that was read from a file it is a copy. A folder that is
            missing is made.
        overwrite : bool, default: False
            Replace a file that exists. `force` is its older name.

        Returns
        -------
        Path
            The path of the file.

        Raises
        ------
        UsageError
            It is no path.
        CannotWriteError
            The file exists without overwrite=True, or cannot be written.
        UnreadableFileError
            The file that the result was read from is gone.

        Examples
        --------
        >>> import headway
        >>> headway.solve("hmm-four-paths", widths=[10]).save("four.h5").name
        'four.h5'
        """
        target, overwrite = path_to_write(path), flag_of("overwrite", overwrite)
        if self._computation is not None:
            folders = make_folder_of(target)
            try:
                with in_python():
                    self._computation.save(os.fspath(target), overwrite,
                                           "" if self._data is None else self._data.content_hash)
            except BaseException:
                remove_folders(folders)
                raise
        elif self._saved is not None:
            write_bytes(zlib.decompress(self._saved), target, overwrite)
        else:
            self._require_origin()
            with whole_file(target, overwrite, "overwrite=True") as name:
                with open_file(self.file):  # has the better message where the file is gone
                    pass
                shutil.copyfile(self.file, name)
        return target

    def _require_origin(self) -> None:
        """UsageError for what was made from a result in memory, and has neither its computation nor a file."""
        if not self._is_in_memory and str(self.file).startswith("headway.") and not self.file.exists():
            raise UsageError(f"result: has no file, and nothing of the computation behind it, as one that `theory` or "
                             f"dataclasses.replace made from a result of {self.file}; allowed: that result itself")

    @property
    def remake(self) -> str:
        """str: how to make the result again: what to do, and the command or the call to do it with."""
        return "\n".join(how_to_remake(self))

    @property
    def _verb(self) -> str:
        """The verb of the program that makes such results."""
        return self.kind

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows of its table, as texts. headway.results.table gives it to the class, since it knows all results."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of headway {self._verb}: {self.summary}>"

    def _repr_html_(self) -> str:
        return (f"<p><strong>{html.escape(self.study)}</strong>, headway {html.escape(self._verb)}: "
                f"{html.escape(self.summary)}</p>" + html_table(*self._cells()))

    @with_known_arguments
    def plot(self, *names: str, others: Shown | Sequence[Shown] = (), widths: int | Sequence[int] | None = None,
             temperature: float | None = None, path_names: Sequence[str] | None = None,
             labels: Sequence[str] | None = None, components: int = 30,
             limits_only: bool = False, point: Any = None) -> Figures:
        """Draw figures of the result.

        Parameters
        ----------
        *names : str
            The figures; default: all that these results have the data for. `headway.figures.FIGURES` lists
            them.
        others : result, or sequence of results, default: ()
            Further results, which are overlaid where a figure can. Other figures show the first result that has
            the data; `headway.figures.not_shown` tells which others have it, too.
        widths : int or sequence of int, optional
            Widths that figures of several panels show; default: the narrowest, the widest and the one nearest to their middle on a
            logarithmic scale.
        temperature : float, optional
            The temperature that is shown; default: that of the largest evidence, among those that all results
            have.
        path_names : sequence of str, optional
            A name for each path.
        labels : sequence of str, optional
            A name for each result, of `others` too.
        components : int, default: 30
            Principal components of the figure kernel_alignment.
        limits_only : bool, default: False
            Of `others` draw the Gaussian-process limit alone.
        point : int, 'best' or tuple (width, temperature), optional
            In place of `widths` and `temperature`: a point by its number, the one of largest log evidence, or one by its place.

        Returns
        -------
        Figures
            A dict of matplotlib figures by name, which a notebook shows one below the other.

        Raises
        ------
        UsageError
            A figure that is not known, or a choice that is not allowed.
        BadDataError
            The result has not the data for a figure that is asked for, or for any.
        UnavailableError
            matplotlib is missing.

        Examples
        --------
        >>> import headway
        >>> result = headway.solve("hmm-four-paths", widths=[10, 100])
        >>> result.plot("order_parameters", widths=[10, 100])
        <1 figure: order_parameters>
        """
        from headway import figures
        figures.known_names("names", names)
        if point is not None:
            if widths is not None or temperature is not None:
                raise UsageError("plot: has both the arguments point and "
                                 f"{'widths' if widths is not None else 'temperature'}; allowed: one of them")
            widths, temperature = figures.place_of(self, point)
        with in_python():
            options = figures.PlotOptions(widths, temperature, path_names, labels, components, limits_only)
            return Figures(figures.draw_all([self, *_checked_others(others)], options, names or None))

    def to_pandas(self) -> DataFrame:
        """Give the numbers of the result to pandas, a row for each thing that has some.

        Returns
        -------
        pandas.DataFrame
            Of a sweep of the theory a row for each point: `width`, as text where layers differ; `temperature`; numbers and
            words such as `accuracy` and `log_evidence`; `U_a`; those of further sets as `validation_accuracy`; those of the
            1/N correction as `corrected_accuracy`. Of networks `label`, `variant` and `seed`, then: of `train` and
            `evaluate` a row for each network with what the sweep set and `held_out_loss` for each split; of `latents` one
            for each layer (0: all) and decoder; of `prune_network` and `rank` one for each head. Of `predict` a row for each
            example, counted from 0; of a text one for each token.

        Raises
        ------
        UnavailableError
            pandas is not installed.

        Examples
        --------
        >>> import headway
        >>> frame = headway.solve("hmm-four-paths", widths=[10, 100]).to_pandas()  # doctest: +SKIP
        >>> frame.set_index("width").log_evidence.idxmax()  # doctest: +SKIP
        """
        from headway.results.frames import rows_of
        return data_frame(rows_of(self))

    def to_datatree(self) -> DataTree:
        """Give everything that the result holds to xarray.

        Returns
        -------
        xarray.DataTree
            Groups of arrays with named dimensions, as `headway.to_datatree` says.

        Raises
        ------
        UnavailableError
            xarray is missing, or older than 2024.10.
        """
        from headway.results.xarray_export import to_datatree
        return to_datatree(self)


class Figures(dict):
    """matplotlib figures by name. A notebook shows them one below the other.

    Examples
    --------
    >>> import headway
    >>> figures = headway.solve("hmm-four-paths", widths=[10]).plot("order_parameters", "convergence")
    >>> list(figures)
    ['order_parameters', 'convergence']
    >>> type(figures["convergence"]).__name__
    'Figure'
    """

    def __repr__(self) -> str:
        return f"<{len(self)} figure{'' if len(self) == 1 else 's'}: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        from headway.figures import rendered
        return "".join(
            f'<figure><img alt="{html.escape(name)}" style="max-width: 100%" '
            f'src="data:image/svg+xml;base64,{_encoded(rendered(figure, "svg"))}"></figure>'
            for name, figure in self.items())

    def only(self) -> Figure:
        """Give the figure, where there is just one.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        UsageError
            There are several figures, or none.
        """
        if len(self) != 1:
            raise UsageError(f"there are {len(self)} figures: {', '.join(self)}; allowed: one, or a name as in figures[name]")
        return next(iter(self.values()))


def _checked_others(others: Any) -> list[Shown]:
    """The argument `others`: one result, or several; UsageError for anything else."""
    if isinstance(others, Shown):
        return [others]
    found = list(others) if isinstance(others, Iterable) and not isinstance(others, (str, bytes, Mapping)) else [others]
    for at, other in enumerate(found):
        if not isinstance(other, Shown):
            raise UsageError(f"others[{at}]: is {described(other)}; allowed: results, as headway.read_result gives them")
    return found


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
