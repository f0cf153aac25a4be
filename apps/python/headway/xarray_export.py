"""Results as xarray objects with named dimensions, and draws as ArviZ takes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.errors import BadDataError, UsageError
from headway.latent_results import EvaluateResult, LatentsResult
from headway.named_arrays import Group, Names, draws_of, groups_of
from headway.network_arrays import evaluation_groups, latents_groups, removal_groups
from headway.network_results import RemovalResult
from headway.version import __version__

if TYPE_CHECKING:
    from headway.results import Result
    from headway.training_results import TrainingResult


def to_datatree(result: Result | TrainingResult | LatentsResult | EvaluateResult | RemovalResult
                ) -> Any:
    """An `xarray.DataTree` of everything that the result holds; see headway.named_arrays for its
    dimensions. Needs xarray 2024.10 or newer (UsageError).

    Groups of the theory: / (labels, path kernels; provenance as attributes), points, corrected,
    alignment, pruning, posterior, theory (of samples), gaussian_process, network. Of training: runs, and
    curves/<split>. Of latents: runs, decoding, layer_<l>, all_layers; of evaluate: runs; of
    prune of a train result: runs, scores. Where points differ in a size, shorter arrays end in NaN.
    """
    xarray = _xarray("to_datatree")
    return xarray.DataTree.from_dict(
        {path: _dataset(xarray, group) for path, group in _groups(result).items()})


def _groups(result: Result | TrainingResult | LatentsResult | EvaluateResult | RemovalResult
            ) -> dict[str, Group]:
    if isinstance(result, RemovalResult):
        return removal_groups(result)
    if isinstance(result, LatentsResult):
        return latents_groups(result)
    return evaluation_groups(result) if isinstance(result, EvaluateResult) else groups_of(result)


def to_inference_data(result: Result, point: int = 0) -> Any:
    """The draws of one sweep point for ArviZ: an `InferenceData` of ArviZ 0.x, an `xarray.DataTree` for
    ArviZ 1.x (also where only xarray is installed).

    posterior: U_1, ..., U_L [chain, draw, path, path_other], U_a [chain, draw]; sample_stats: lp, the
    log density; observed_data: y [train_example]. Several outputs add their own dimensions.
    Errors: UsageError for a point that is not there or without xarray, BadDataError without draws.
    """
    samples = _samples(result, point)
    xarray, names = _xarray("to_inference_data"), Names(result)
    draws = {name: (("chain", "draw", *dimensions), arrays[0])
             for name, (dimensions, arrays) in draws_of([samples], names).items()}
    statistics = {"lp": draws.pop("log_density")} if "log_density" in draws else {}
    at = result.points[point]
    about = {"inference_library": "headway", "inference_library_version": __version__,
             "study": result.study, "sampler": at.method, "widths": np.array(at.widths),
             "temperature": at.temperature}
    about |= {"sampling_time": at.attributes[name] for name in ("sampling_seconds",)
              if name in at.attributes}
    observed = Group()
    observed.add("y", names.examples("train_example"), result.train_labels)
    groups = {"posterior": names.group(draws, about),
              "sample_stats": names.group(statistics, about),
              "observed_data": names.group(observed.variables)}
    chains, count = samples.readout_draws.shape[:2]
    index = {"chain": (("chain",), np.arange(chains)), "draw": (("draw",), np.arange(count))}
    for name in ("posterior", "sample_stats"):
        groups[name].coordinates |= index
    return _inference_data(xarray, {name: _dataset(xarray, group)
                                    for name, group in groups.items() if group.variables})


def posterior_draws(path: str | os.PathLike, point: int = 0) -> dict[str, np.ndarray]:
    """U_1, ..., U_L and U_a of one sweep point, each [chain, draw, ...], as plain arrays.

    Errors: as read_result; UsageError for a point that is not there, BadDataError without draws.
    """
    from headway.result_reader import read_result
    samples = _samples(read_result(path), point)
    draws = {f"U_{layer}": values for layer, values in sorted(samples.draws.items())}
    return {**draws, "U_a": samples.readout_draws}


def to_arviz(path: str | os.PathLike, point: int = 0) -> Any:
    """`read_result(path).to_inference_data(point)`."""
    from headway.result_reader import read_result
    return to_inference_data(read_result(path), point)


def _samples(result: Result, point: int):
    points = getattr(result, "points", ())
    if not 0 <= point < len(points):
        raise UsageError(f"point: is {point}; {result.file} has {len(points)} points, counted from 0")
    samples = points[point].samples
    if samples is None or samples.readout_draws is None:
        raise BadDataError(f"{result.file}: point {point} holds no draws (a result of "
                           "`headway sample` has)")
    return samples


def _xarray(caller: str) -> Any:
    try:
        import xarray  # only here: nothing else needs it
    except ImportError:
        raise UsageError(f"{caller}: needs the package xarray (pip install xarray)") from None
    if not hasattr(xarray, "DataTree"):
        raise UsageError(f"{caller}: needs xarray 2024.10 or newer; there is {xarray.__version__}")
    return xarray


def _dataset(xarray: Any, group: Group) -> Any:
    return xarray.Dataset(group.variables, group.coordinates, _attributes(group.attributes))


def _attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """As netCDF can hold them: no empty values."""
    return {name: value for name, value in attributes.items() if value is not None}


def _inference_data(xarray: Any, datasets: dict[str, Any]) -> Any:
    try:
        import arviz
        older = int(arviz.__version__.split(".")[0]) < 1
    except ImportError:
        older = False
    return arviz.InferenceData(**datasets) if older else xarray.DataTree.from_dict(datasets)
