"""Making and checking of data-set files (schema headway-dataset 1.0) in all four attention forms."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from headway import dataset_table, hdf5
from headway.dataset_checks import Checker, set_name_fault
from headway.dataset_files import UNHOLDABLE, check_name_layers, create_numbers, new_file, write_header
from headway.dataset_table import Member
from headway.dataset_texts import masked_fault
from headway.errors import BadDataError, UsageError
from headway.files import path_to_write
from headway.labels import as_targets, checked_classes, warn_of_whole_numbers
from headway.paths import text_of_path
from headway.signatures import with_known_arguments
from headway.tensors import plain_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

class _EmptyGroup:
    """Stands for a group without members. There is one of it, also in another process."""

    def __reduce__(self) -> str:
        return "EMPTY_GROUP"


EMPTY_GROUP = _EmptyGroup()
_OWN_NAMES = {"attention/query": "query", "attention/key": "key", "names": "head_names"}


@with_known_arguments
def write_dataset(path: str | os.PathLike, *, train_inputs: ArrayLike | None = None,
                  train_labels: ArrayLike | None = None, test_inputs: ArrayLike | None = None,
                  test_labels: ArrayLike | None = None,
                  attention_weights: Sequence[ArrayLike] | None = None,
                  query: Sequence[ArrayLike] | None = None, key: Sequence[ArrayLike] | None = None,
                  train_attention: Sequence[ArrayLike] | None = None,
                  test_attention: Sequence[ArrayLike] | None = None,
                  train_path_features: ArrayLike | None = None,
                  test_path_features: ArrayLike | None = None, heads: Sequence[int] | None = None,
                  train_mask: ArrayLike | None = None, test_mask: ArrayLike | None = None,
                  head_names: Sequence[Sequence[str]] | None = None,
                  train_ids: Sequence[str] | None = None, test_ids: Sequence[str] | None = None,
                  sets: Mapping[str, Mapping[str, Any]] | None = None,
                  network: Mapping[str, Any] | None = None, classes: int | None = None,
                  note: str | None = None, readout: str | None = None,
                  dtype: DTypeLike | None = None, overwrite: bool = False) -> Path:
    """Write a data set that `headway solve FILE.h5` takes, after checking all of it.

    Give labels, and the attention in exactly one of four forms: `attention_weights`; `query` and `key`;
    `train_attention`; or `train_path_features` with `heads`. Inputs may also come without attention, for studies
    that let it be learned (`attention_prior`).

    Parameters
    ----------
    path : str or path
        The file, which appears whole or not at all. A folder that is missing is made.
    train_inputs : array_like of shape (P, S, N_0), optional
        Tokens that enter the first layer; not with path features.
    train_labels : array_like of shape (P,) or (P, C)
        Targets. Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together
        with `classes`. All else are real targets. The file has two classes as -1 and +1, more as one-hot.
    test_inputs : array_like of shape (P_test, S, N_0), optional
        As `train_inputs`, of the test set.
    test_labels : array_like of shape (P_test,) or (P_test, C), optional
        As `train_labels`, of the test set.
    attention_weights : sequence of array_like of shape (H_l, N_0, N_0), optional
        One array for each layer: the logit of query s and key t is x_s^T W x_t.
    query : sequence of array_like of shape (H_l, G_l, N_0), optional
        With `key`, one array for each layer: logits are (Q x_s) . (K x_t) / sqrt(G_l).
    key : sequence of array_like of shape (H_l, G_l, N_0), optional
        See `query`.
    train_attention : sequence of array_like of shape (P, H_l, S, S), optional
        The attention of every example, one array for each layer, indexed [example, head, query, key]. Rows
        sum to 1, within 1e-6 (float32: 1e-4).
    test_attention : sequence of array_like of shape (P_test, H_l, S, S), optional
        As `train_attention`, of the test set.
    train_path_features : array_like of shape (P, p, N_0), optional
        Path features xi_pi, unscaled, in place of inputs. Give `heads` with them.
    test_path_features : array_like of shape (P_test, p, N_0), optional
        As `train_path_features`, of the test set.
    heads : sequence of int, optional
        H_1, ..., H_L, whose product is p; with path features only.
    train_mask : array_like of shape (P, S), optional
        1 for a real token, 0 for padding.
    test_mask : array_like of shape (P_test, S), optional
        As `train_mask`, of the test set.
    head_names : sequence of sequence of str, optional
        Names of the heads for tables and figures, one list for each layer.
    train_ids : sequence of str, optional
        A name for each example.
    test_ids : sequence of str, optional
        A name for each example of the test set.
    sets : mapping of str to mapping, optional
        Further sets on which `headway solve` reports, by name: {"validation": {"inputs": x, "labels": y}}.
        Keys of a set are inputs, labels, mask, attention, path_features and ids. On the set "validation" a
        temperature may be chosen. Sets alone, without training examples, need no labels: they are new inputs
        for `headway.predict`.
    network : mapping of str to array_like, optional
        Weights that were trained with these heads, scaled as the theory's, which `headway prune` then
        prunes beside it: `input` V_0 [N_1, N_0], `values` (one array [H_l, N_{l+1}, N_l] for each layer)
        and `readout` a [C, N_a]. Give the argument `readout` with it.
    classes : int, optional
        Number of classes C, where labels are class numbers 0 to C - 1; 0: labels are real targets.
    note : str, optional
        What the data are, in words.
    readout : {'last_token', 'first_token', 'mean'}, optional
        How path features were read out; else the readout of a study that does not say one.
    dtype : {'float32', 'float64'}, optional
        Type of the arrays in the file; default: float32 stays so, all else becomes float64.
    overwrite : bool, default: False
        Replace a file that exists.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    BadDataError
        All faults of the arrays, each with argument, index, value and what is allowed.
    CannotWriteError
        The file exists without overwrite=True, or cannot be written.
    UsageError
        `path`, `dtype` or `classes` is not allowed.

    Examples
    --------
    >>> import numpy as np, headway
    >>> rng = np.random.default_rng(1)
    >>> x, w = rng.standard_normal((12, 3, 5)), rng.standard_normal((2, 5, 5))
    >>> path = headway.write_dataset("mine.h5", train_inputs=x, train_labels=np.resize([1, -1], 12),
    ...                              attention_weights=[w, w])
    >>> headway.check_dataset(path)
    []
    """
    path, dtype, classes = path_to_write(path), _checked_dtype(dtype), checked_classes(classes)
    faults: list[str] = []
    given = {"train/inputs": train_inputs, "train/labels": train_labels, "train/mask": train_mask,
             "train/attention": train_attention, "train/path_features": train_path_features,
             "train/ids": train_ids, "test/inputs": test_inputs, "test/labels": test_labels,
             "test/mask": test_mask, "test/attention": test_attention,
             "test/path_features": test_path_features, "test/ids": test_ids,
             "attention/weights": attention_weights, "attention/query": query, "attention/key": key,
             "names": head_names} | given_sets(sets, faults) | given_network(network, faults)
    arrays: dict[str, Any] = {}
    for where, value in given.items():
        if value is not None:
            arrays |= arrays_of(where, value, dtype, faults)
    if heads is not None and not any(where.endswith("/path_features") for where in arrays):
        faults.append("heads: is allowed with path features only; otherwise the attention has them")
    if np.ma.is_masked(heads):
        faults.append(masked_fault("heads", heads))
    arrays = with_targets(arrays, classes, faults)
    if faults:
        raise BadDataError(faults)
    with new_file(path, overwrite) as file:
        write_header(file, note, readout)
        _fill(file, arrays, heads)
        file.flush()
        checker = Checker(file, argument_name, attribute="", learned=True)
        faults = checker.run()
        if faults:
            raise BadDataError(faults)
        check_name_layers(head_names, checker.heads)
        if "train/labels" in arrays:  # new inputs have none
            warn_of_whole_numbers("train_labels", arrays["train/labels"], classes)
    return path


@with_known_arguments
def check_dataset(path: str | os.PathLike) -> list[str]:
    """List every fault of a data-set file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    list of str
        One sentence for each fault, in the words of `headway validate`; empty if there are none.

    Raises
    ------
    UsageError
        It is no path.
    UnreadableFileError
        The file is missing or cannot be opened.
    BadDataError
        The file is not HDF5.

    Examples
    --------
    >>> headway.check_dataset("mine.h5")  # doctest: +SKIP
    ['train/labels: shape [10]; allowed: [P] or [P, C] with extents [12, 1], none zero']
    """
    with hdf5.open_file(text_of_path("path", path, "the path of a data-set file")) as file:
        return Checker(file, learned=True).run()


# ---- arguments to arrays


def _checked_dtype(dtype: Any) -> np.dtype | None:
    if dtype is None:
        return None
    try:
        known = np.dtype(dtype)
    except (TypeError, ValueError):
        known = None
    # numpy takes None for float64, also where it compares
    if known is None or known not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise UsageError(f"dtype: is {dtype!r}; allowed: \"float32\", \"float64\" or None")
    return known


def argument_name(path: str) -> str:
    """"attention/weights/layer_1" -> "attention_weights[0]", "train/inputs" -> "train_inputs",
    "sets/a/inputs" -> "sets['a']['inputs']"."""
    layer = re.fullmatch(r"(.+)/layer_(\d+)", path)
    if layer:
        return f"{argument_name(layer[1])}[{int(layer[2]) - 1}]"
    first, *rest = path.split("/")
    if rest and first in ("sets", "network"):
        return first + "".join(f"[{part!r}]" for part in rest)
    return _OWN_NAMES.get(path, path.replace("/", "_"))


def number_array(name: str, value: Any, dtype: np.dtype | None, faults: list[str]) -> Any:
    """`value` as a contiguous float array; None, and a fault, where it is not an array of numbers."""
    try:
        if isinstance(value, np.ndarray):
            array = plain_array(value)
        else:
            with warnings.catch_warnings():  # numpy warns of lists of several lengths
                warnings.simplefilter("error")
                array = plain_array(value)
    except (ValueError, TypeError, RuntimeError, Warning) as error:  # RuntimeError: of libraries whose arrays numpy is to read
        faults.append(f"{name}: is not a rectangular array of numbers ({hdf5.reason(error)})")
        return None
    if np.ma.is_masked(value):
        faults.append(masked_fault(name, value))
        return None
    if array.dtype.kind not in "fiub":
        faults.append(f"{name}: has type {array.dtype}; allowed: real numbers")
        return None
    target = dtype or (array.dtype if array.dtype == np.float32 else np.dtype(np.float64))
    if array.dtype == target and array.ndim and array.flags.c_contiguous:
        return array
    with np.errstate(over="ignore"):  # an overflow shows as inf and is reported by the check
        return np.ascontiguousarray(array, dtype=target)


def given_sets(sets: Any, faults: list[str]) -> dict[str, Any]:
    """The argument `sets` by the paths of the file; a set without anything becomes an empty group."""
    if sets is None:
        return {}
    if not isinstance(sets, Mapping) or not all(isinstance(data, Mapping) for data in sets.values()):
        faults.append("sets: is no mapping of names to mappings; allowed: {\"validation\": "
                      "{\"inputs\": x, \"labels\": y}}")
        return {}
    allowed = dataset_table.children("<split>")
    given: dict[str, Any] = {}
    for name, data in sets.items():
        fault = set_name_fault(str(name))
        if fault:
            faults.append(f"sets: \"{name}\" is {fault}")
            continue
        unknown = [str(key) for key in data if key not in allowed]
        if unknown:
            faults.append(f"sets[{str(name)!r}]: has the unknown key {unknown[0]!r}; allowed: "
                          f"{', '.join(allowed)}")
        given |= {f"sets/{name}": EMPTY_GROUP}
        given |= {f"sets/{name}/{key}": data.get(key) for key in allowed}
    return given


def given_network(network: Any, faults: list[str]) -> dict[str, Any]:
    """The argument `network` by the paths of the file."""
    if network is None:
        return {}
    keys = dataset_table.children("network")
    if not isinstance(network, Mapping) or set(network) != set(keys):
        given = list(network) if isinstance(network, Mapping) else type(network).__name__
        faults.append(f"network: is {given}; allowed: a mapping with the keys {', '.join(keys)}")
        return {}
    return {f"network/{key}": network[key] for key in keys}


def arrays_of(path: str, value: Any, dtype: np.dtype | None, faults: list[str],
              name_of: Callable[[str], str] = argument_name) -> dict[str, Any]:
    """What stands at `path` and below in the file, as arrays or lists of texts."""
    if value is EMPTY_GROUP:
        return {path: value}
    split = path.rpartition("/")[0]
    member = next(row for row in dataset_table.MEMBERS if row.path_in(split) == path)
    name = name_of(path)
    if not member.layered:
        return {path: _array(member, name, value, dtype, faults)}
    if isinstance(value, np.ndarray) and value.ndim != 1 or not hasattr(value, "__len__"):
        what = "one array" if hasattr(value, "shape") else f"of type {type(value).__name__}"
        faults.append(f"{name}: is {what}; allowed: a list with one array for each layer")
        return {}
    layers = {f"{path}/layer_{layer}": _array(member, f"{name}[{layer - 1}]", array, dtype, faults)
              for layer, array in enumerate(value, 1)}
    return layers or {path: EMPTY_GROUP}


def _array(member: Member, name: str, value: Any, dtype: np.dtype | None, faults: list[str]) -> Any:
    if value is None:
        faults.append(f"{name}: is missing")
        return None
    if member.values == "text":
        return _text_list(name, value, faults)
    return (_mask_array(name, value, faults) if member.values == "mask"
            else number_array(name, value, dtype, faults))


def _mask_array(name: str, value: Any, faults: list[str]) -> np.ndarray | None:
    array = number_array(name, value, np.dtype(np.float64), faults)
    if array is None:
        return None
    valid = np.isin(array, (0.0, 1.0))
    return array.astype(np.uint8) if valid.all() else array


def _text_list(name: str, values: Any, faults: list[str]) -> list[str] | None:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        faults.append(f"{name}: is {values!r}; allowed: a list of strings")
        return None
    values = list(values)
    for index, value in enumerate(values):
        if not isinstance(value, (str, int, np.integer)):
            faults.append(f"{name}: is {value!r} at [{index}]; allowed: strings")
            return None
        if UNHOLDABLE.search(str(value)):
            faults.append(f"{name}: is {value!r} at [{index}], which HDF5 cannot hold; allowed: "
                          "printable text")
            return None
    return [str(value) for value in values]


def with_targets(arrays: Mapping[str, Any], classes: int | None, faults: list[str],
                 name_of: Callable[[str], str] = argument_name) -> dict[str, Any]:
    """The arrays with labels as the theory takes them (headway.labels); faults of their classes are added."""
    labels = {path: array for path, array in arrays.items()
              if path.endswith("/labels") and isinstance(array, np.ndarray)}
    targets = as_targets({name_of(path): array for path, array in labels.items()}, classes, faults)
    return {**arrays, **{path: targets[name_of(path)] for path in labels}}


# ---- writing


def _fill(file: h5py.File, arrays: Mapping[str, Any], heads: Any) -> None:
    for path, value in arrays.items():
        if value is EMPTY_GROUP:
            file.require_group(path)
        elif isinstance(value, list):
            file.create_dataset(path, data=value, dtype=h5py.string_dtype())
        else:
            numbers = np.asarray(value)
            create_numbers(file, path, numbers.shape, numbers.dtype, numbers)
        if path.endswith("/path_features") and heads is not None:
            file[path].attrs["heads"] = np.asarray(heads)
