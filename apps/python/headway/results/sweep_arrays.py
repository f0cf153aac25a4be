"""A sweep as one data set of xarray whose dimensions are width and temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.errors import UnavailableError
from headway.results.frames import width_name
from headway.results.named_arrays import Group, groups_of

if TYPE_CHECKING:
    from xarray import Dataset

    from headway.results.result import Result

#: What the names of a group's variables begin with; where it is "", only if the name is taken.
_PREFIXES = {"/points": "", "/pruning": "", "/alignment": "", "/corrected": "corrected_", "/posterior": "draws_",
             "/theory": "theory_", "/theory/corrected": "theory_corrected_"}
_LIMIT = "/gaussian_process"


def to_xarray(result: Result) -> Dataset:
    """A data set with the dimensions width and temperature; `Result.to_xarray` says what is in it."""
    try:
        import xarray  # only here: nothing else needs it
    except ImportError:
        raise UnavailableError("to_xarray: needs the package xarray (apt-get install python3-xarray, or pip install xarray h5py)") from None
    groups = groups_of(result)
    grid = _Grid(result)
    whole = Group(dict(groups["/"].variables), dict(groups["/"].coordinates),
                  {name: value for name, value in groups["/"].attributes.items() if value is not None})
    for name, prefix in _PREFIXES.items():
        if name in groups:
            _add(whole, groups[name], prefix, name, grid.laid_out)
    if _LIMIT in groups:
        limits = groups[_LIMIT]
        order = [list(limits.coordinates["temperature"][1]).index(one) if one in limits.coordinates["temperature"][1] else None
                 for one in grid.temperatures]
        if None not in order:
            _add(whole, limits, "gaussian_process_", _LIMIT, lambda dimensions, array: (dimensions, array[order]))
    whole.coordinates |= grid.coordinates()
    return xarray.Dataset(whole.variables, whole.coordinates, whole.attributes)


def _add(whole: Group, group: Group, prefix: str, name: str, laid_out) -> None:
    for variable, (dimensions, array) in group.variables.items():
        taken = f"{prefix}{variable}"
        if taken in whole.variables or taken in group.coordinates or taken in ("width", "temperature"):
            taken = f"{name.strip('/').replace('/', '_')}_{variable}"
        whole.variables[taken] = laid_out(dimensions, array)
    for coordinate, known in group.coordinates.items():
        if "point" not in known[0] and coordinate != "temperature":
            whole.coordinates[coordinate] = known


class _Grid:
    """Where each point of a sweep lies among its widths and temperatures."""

    def __init__(self, result: Result):
        self.layers = len(result.heads)
        self.widths = list(dict.fromkeys(point.widths for point in result.points))
        self.temperatures = list(dict.fromkeys(point.temperature for point in result.points))
        self.places = [(self.widths.index(point.widths), self.temperatures.index(point.temperature)) for point in result.points]

    def coordinates(self) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
        names = [width_name(widths) for widths in self.widths]
        same_kind = names if len({type(name) for name in names}) < 2 else [str(name) for name in names]
        widths = np.array(self.widths).reshape(len(self.widths), self.layers + 1)
        return {"width": (("width",), np.array(same_kind)), "temperature": (("temperature",), np.array(self.temperatures)),
                "layer_width": (("width", "layer"), widths[:, :-1]), "readout_width": (("width",), widths[:, -1]),
                "layer": (("layer",), np.arange(1, self.layers + 1))}

    def laid_out(self, dimensions: tuple[str, ...], array: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        """An array over points as one over widths and temperatures; NaN, or "" of words, where a point is missing."""
        if dimensions[:1] != ("point",):
            return dimensions, array
        shape = (len(self.widths), len(self.temperatures), *array.shape[1:])
        words = array.dtype.kind in "US"
        whole = np.full(shape, "" if words else np.nan, dtype=array.dtype if words else float)
        for place, value in zip(self.places, array):
            whole[place] = value
        return ("width", "temperature", *dimensions[1:]), whole
