"""Results as xarray objects with named dimensions, and draws as ArviZ takes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.base.paths import text_of_path
from headway.base.signatures import with_known_arguments, with_older_names
from headway.errors import BadDataError, UnavailableError, UsageError
from headway.results.best_point import number_of_point
from headway.results.display import Shown
from headway.results.latent_results import EvaluateResult, LatentsResult
from headway.results.named_arrays import Group, Names, groups_of, posterior_of
from headway.results.network_arrays import evaluation_groups, latents_groups, removal_groups
from headway.results.network_predictions import NetworkPredictResult
from headway.results.network_results import RemovalResult
from headway.results.prediction_results import PredictResult
from headway.results.rank_results import RankResult
from headway.results.result_reader import AnyResult, read_result
from headway.version import __version__

if TYPE_CHECKING:
    from arviz import InferenceData
    from xarray import DataTree

    from headway.results.result import Result


@with_known_arguments
def to_datatree(result: AnyResult | str | os.PathLike) -> DataTree:
    """Give everything that a result holds to xarray.

    `result.to_datatree()` is the same.

    Parameters
    ----------
    result : Result, TrainingResult, LatentsResult, EvaluateResult, RemovalResult, str or path
        A result in memory, what `headway.read_result` gives, or the path of a result file.

    Returns
    -------
    xarray.DataTree
        Groups of arrays with named dimensions, which `help(headway.results.named_arrays)` lists. Groups of the
        theory: / (labels, path kernels; provenance as attributes), points, corrected, alignment, pruning,
        posterior, theory (of samples), gaussian_process, network. Of training: runs, and curves/<split>.
        Of latents: runs, decoding, layer_<l>, all_layers. Of evaluate: runs. Of prune_network:
        runs, scores. Where points differ in a size, shorter arrays end in NaN.

    Raises
    ------
    UnavailableError
        xarray is missing, or older than 2024.10.
    UsageError
        `result` is neither a result nor a path.

    Examples
    --------
    >>> tree = headway.to_datatree(headway.read_result("four.h5"))  # doctest: +SKIP
    >>> tree["points"].U_1.sel(path="(1,1)", path_other="(1,2)")  # doctest: +SKIP
    """
    groups = _groups(_read(result))
    xarray = _xarray("to_datatree")
    return xarray.DataTree.from_dict({path: _dataset(xarray, group) for path, group in groups.items()})


def _groups(result: AnyResult) -> dict[str, Group]:
    if isinstance(result, (PredictResult, NetworkPredictResult)):
        arrays = "points" if isinstance(result, PredictResult) else "groups"
        raise UsageError(f"to_datatree: takes no result of predict; allowed: its arrays, as in result.{arrays}[0].mean")
    if isinstance(result, RankResult):
        raise UsageError("to_datatree: takes no result of rank; allowed: its columns, as in result.runs[0][\"estimate\"]")
    if isinstance(result, RemovalResult):
        return removal_groups(result)
    if isinstance(result, LatentsResult):
        return latents_groups(result)
    return evaluation_groups(result) if isinstance(result, EvaluateResult) else groups_of(result)


@with_known_arguments
def to_inference_data(result: Result | str | os.PathLike, point: Any = 0) -> InferenceData | DataTree:
    """Give the draws of one sweep point to ArviZ.

    `result.to_inference_data(point)` is the same.

    Parameters
    ----------
    result : Result, str or path
        A result of `headway.sample`, or the path of one.
    point : int, 'best' or (width, temperature), default: 0
        The sweep point: its number from 0, or from -1, the last, down; the one of largest evidence; or by its place.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        For ArviZ 0.x an InferenceData; for ArviZ 1.x, and where only xarray is installed, a DataTree. Groups:
        posterior with U_1, ..., U_L [chain, draw, path, path_other] and U_a [chain, draw]; sample_stats with
        lp, the log density; observed_data with y [train_example]. Several outputs add dimensions.

    Raises
    ------
    UnavailableError
        xarray is missing.
    UsageError
        There is no such point.
    BadDataError
        The result holds no draws.

    Examples
    --------
    >>> drawn = headway.sample("hmm-four-paths", widths=[10])  # doctest: +SKIP
    >>> arviz.summary(drawn.to_inference_data())  # doctest: +SKIP
    """
    result = _read(result)
    samples = _samples(result, point)
    xarray, names = _xarray("to_inference_data"), Names(result)
    draws = {name: (dimensions[1:], values[0]) for name, (dimensions, values) in posterior_of([samples], names).variables.items()}
    statistics = {"lp": draws.pop("log_density")} if "log_density" in draws else {}
    at = result.points[number_of_point(result, point)]
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


@with_older_names(path="result")
@with_known_arguments
def posterior_draws(result: Result | str | os.PathLike, point: Any = 0) -> dict[str, np.ndarray]:
    """Give the draws of one sweep point as plain arrays.

    Parameters
    ----------
    result : Result, str or path
        A result of `headway.sample`, or the path of one.
    point : int, 'best' or (width, temperature), default: 0
        The sweep point: its number from 0, or from -1, the last, down; the one of largest evidence; or by its place.

    Returns
    -------
    dict of str to ndarray
        U_1, ..., U_L, each [chain, draw, C p_l, C p_l], and U_a [chain, draw] or [chain, draw, C, C].

    Raises
    ------
    UsageError
        There is no such point.
    BadDataError
        The result holds no draws.

    Examples
    --------
    >>> headway.posterior_draws("draws.h5")["U_1"].mean(axis=(0, 1))  # doctest: +SKIP
    """
    samples = _samples(_read(result), point)
    draws = {f"U_{layer}": values for layer, values in sorted(samples.draws.items())}
    return {**draws, "U_a": samples.readout_draws}


@with_older_names(path="result")
@with_known_arguments
def to_arviz(result: Result | str | os.PathLike, point: Any = 0) -> InferenceData | DataTree:
    """Give the draws of one sweep point to ArviZ: another name of `headway.to_inference_data`.

    Parameters
    ----------
    result : Result, str or path
        A result of `headway.sample`, or the path of one.
    point : int, 'best' or (width, temperature), default: 0
        The sweep point: its number from 0, or from -1, the last, down; the one of largest evidence; or by its place.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        As `headway.to_inference_data`.

    Raises
    ------
    UnavailableError, UsageError, BadDataError
        As `headway.to_inference_data`.
    """
    return to_inference_data(result, point)


def _read(result: Any) -> Any:
    """A result, or the one in the file of this path."""
    if isinstance(result, Shown):
        return result
    return read_result(text_of_path("result", result, "a result, or the path of one"))


def _samples(result: Result, point: int):
    points = getattr(result, "points", ())
    if not points:
        raise UsageError(f"{result.file}: has no points; allowed: a result of headway.sample")
    samples = points[number_of_point(result, point)].samples
    if samples is None or samples.readout_draws is None:
        raise BadDataError(f"{result.file}: point {point} holds no draws; allowed: a result of headway.sample")
    return samples


def _xarray(caller: str) -> Any:
    try:
        import xarray  # only here: nothing else needs it
    except ImportError:
        raise UnavailableError(f"{caller}: needs the package xarray (apt-get install python3-xarray, or pip install xarray h5py)") from None
    if not hasattr(xarray, "DataTree"):
        raise UnavailableError(f"{caller}: needs xarray 2024.10 or newer; there is {xarray.__version__}")
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
