"""Arguments that are arrays, as the arrays of a data-set file: numbers, texts, masks and targets, by their places there."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from headway.api.dataset_files import UNHOLDABLE
from headway.base import dataset_table, hdf5
from headway.base.dataset_table import Member, set_name_fault
from headway.base.dataset_texts import masked_fault
from headway.base.labels import as_targets
from headway.base.tensors import plain_array


class _EmptyGroup:
    """Stands for a group without members. There is one of it, also in another process."""

    def __reduce__(self) -> str:
        return "EMPTY_GROUP"


EMPTY_GROUP = _EmptyGroup()
_OWN_NAMES = {"attention/query": "query", "attention/key": "key", "names": "head_names"}


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
    """The arrays with labels as the theory takes them (headway.base.labels); faults of their classes are added."""
    labels = {path: array for path, array in arrays.items()
              if path.endswith("/labels") and isinstance(array, np.ndarray)}
    targets = as_targets({name_of(path): array for path, array in labels.items()}, classes, faults)
    return {**arrays, **{path: targets[name_of(path)] for path in labels}}
