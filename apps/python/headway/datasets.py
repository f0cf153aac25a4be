"""Making and checking of data-set files (schema headway-dataset 1.0) in all four attention forms."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from headway import hdf5
from headway.dataset_checks import Checker, Network, Parts, Split
from headway.dataset_files import faults_of, new_file, write_head_names, write_header
from headway.errors import BadDataError, UsageError

_LIST_ARGUMENTS = {"attention/weights": "attention_weights", "attention/query": "query",
                   "attention/key": "key", "train/attention": "train_attention",
                   "test/attention": "test_attention", "names": "head_names"}


def write_dataset(path: str | os.PathLike, *, train_inputs=None, train_labels=None,
                  test_inputs=None, test_labels=None, attention_weights: Sequence | None = None,
                  query: Sequence | None = None, key: Sequence | None = None,
                  train_attention: Sequence | None = None, test_attention: Sequence | None = None,
                  train_path_features=None, test_path_features=None,
                  heads: Sequence[int] | None = None, train_mask=None, test_mask=None,
                  head_names: Sequence[Sequence[str]] | None = None,
                  train_ids: Sequence[str] | None = None, test_ids: Sequence[str] | None = None,
                  sets: Mapping[str, Mapping[str, Any]] | None = None,
                  network: Mapping[str, Any] | None = None,
                  note: str | None = None, readout: str | None = None, dtype=None,
                  overwrite: bool = False) -> Path:
    """Writes a data set that `headway solve FILE.h5` takes, after checking all of it.

    train_inputs [P, S, N_0] and train_labels [P] or [P, C] (and the same for test, optional), with
    exactly one form of attention; each list has one array for every layer:
      attention_weights        [H_l, N_0, N_0], logits[query s, key t] = x_s^T W x_t
      query and key            [H_l, G_l, N_0], logits = (Q x_s) . (K x_t) / sqrt(G_l)
      train_attention (test_)  [P, H_l, S, S], the matrices themselves, [example, head, query, key]
      train_path_features (test_) with heads = [H_1, ..., H_L]: [P, p, N_0], unscaled, no inputs
    readout: "last_token", "first_token" or "mean"; which one path features were taken with, and for
    the other forms the one that a study gets that does not say model.readout.
    Masks are [P, S] with 1 for a real token. head_names has one list of names a layer.
    sets: further sets on which `headway solve` reports, besides test, by name; each a mapping of
    inputs, labels, mask, attention, path_features and ids as train and test have them:
      sets={"validation": {"inputs": x, "labels": y}}
    The temperature of a study may be chosen on the one named "validation".
    network: the weights that were trained with these heads, which `headway prune` then prunes beside
    the theory: a mapping of input V_0 [N_1, N_0], values (one [H_l, N_{l+1}, N_l] a layer) and
    readout a [C, N_a], scaled as the theory's (include/headway/core/linear_value_network.hpp); the
    argument readout then says which readout it has.
    dtype: "float32" or "float64"; by default float32 arrays stay so and all others become float64.

    The file appears whole or not at all. Returns its path.
    Errors: BadDataError with every fault (argument, index, value, what is allowed),
    CannotWriteError (exists without overwrite=True, no permission, full disk), UsageError (dtype).
    """
    arrays = dict(train_inputs=train_inputs, train_labels=train_labels, test_inputs=test_inputs,
                  test_labels=test_labels, train_path_features=train_path_features,
                  test_path_features=test_path_features)
    lists = dict(attention_weights=attention_weights, query=query, key=key,
                 train_attention=train_attention, test_attention=test_attention)
    faults: list[str] = []
    dtype = _checked_dtype(dtype)
    data = {name: _number_array(name, value, dtype, faults) for name, value in arrays.items()}
    data |= {name: _number_arrays(name, value, dtype, faults) for name, value in lists.items()}
    data["train_mask"] = _mask_array("train_mask", train_mask, faults)
    data["test_mask"] = _mask_array("test_mask", test_mask, faults)
    names = None if head_names is None else [_text_list(f"head_names[{layer}]", layer_names, faults)
                                             for layer, layer_names in enumerate(head_names)]
    ids = {"train": _text_list("train_ids", train_ids, faults),
           "test": _text_list("test_ids", test_ids, faults)}
    further = _sets(sets, dtype, faults)
    trained = _network(network, dtype, faults)
    if faults:
        raise BadDataError(faults)
    parts = Parts(train=_split("train", data, ids), test=_split("test", data, ids), sets=further,
                  weights=data["attention_weights"], query=data["query"], key=data["key"],
                  heads=heads, head_names=names, readout=readout, network=trained)
    faults = Checker(parts, _argument_name).run()
    if faults:
        raise BadDataError(faults)
    _warn_about_labels(parts.train.labels)
    return _write(Path(path), parts, note, overwrite)


def check_dataset(path: str | os.PathLike) -> list[str]:
    """All faults of a data-set file, one sentence each; an empty list if there are none.

    The same checks as `headway validate`. A file that cannot be opened raises
    UnreadableFileError, one that is not HDF5 BadDataError.
    """
    with hdf5.open_file(path) as file:
        faults = hdf5.schema_faults(file, "headway-dataset")
        if faults:
            return faults
        try:
            return faults_of(file)
        except (OSError, RuntimeError) as error:
            return [f"damaged: {str(error).splitlines()[0]}"]


# ---- arguments to arrays


def _checked_dtype(dtype: Any) -> np.dtype | None:
    if dtype is None:
        return None
    try:
        known = np.dtype(dtype)
    except TypeError:
        known = None
    if known not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise UsageError(f"dtype: is {dtype!r}; allowed: \"float32\", \"float64\" or None")
    return known


def _number_array(name: str, value: Any, dtype: np.dtype | None, faults: list[str]) -> Any:
    """`value` as a contiguous float array, or None; says why where it is none."""
    if value is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array = np.asarray(value)
    except (ValueError, TypeError, Warning) as error:
        faults.append(f"{name}: is not a rectangular array of numbers ({error})")
        return None
    if array.dtype.kind not in "fiub":
        faults.append(f"{name}: has type {array.dtype}; allowed: real numbers")
        return None
    target = dtype or (array.dtype if array.dtype == np.float32 else np.dtype(np.float64))
    with np.errstate(over="ignore"):  # an overflow shows as inf and is reported by the check
        return np.ascontiguousarray(array, dtype=target)


def _number_arrays(name: str, values: Any, dtype: np.dtype | None, faults: list[str]) -> Any:
    if values is None:
        return None
    if isinstance(values, np.ndarray) and values.ndim != 1 or not hasattr(values, "__len__"):
        faults.append(f"{name}: is one array; allowed: a list with one array for each layer")
        return None
    return [_number_array(f"{name}[{layer}]", value, dtype, faults)
            for layer, value in enumerate(values)]


def _mask_array(name: str, value: Any, faults: list[str]) -> np.ndarray | None:
    array = _number_array(name, value, np.dtype(np.float64), faults)
    if array is None:
        return None
    valid = np.isin(array, (0.0, 1.0))
    return array.astype(np.uint8) if valid.all() else array


def _text_list(name: str, values: Any, faults: list[str]) -> list[str] | None:
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        faults.append(f"{name}: is {values!r}; allowed: a list of strings")
        return None
    values = list(values)
    for index, value in enumerate(values):
        if not isinstance(value, (str, int, np.integer)):
            faults.append(f"{name}: is {value!r} at [{index}]; allowed: strings")
            return None
        if any(ord(c) < 32 or ord(c) == 127 for c in str(value)):
            faults.append(f"{name}: is {value!r} at [{index}], which holds a control character; "
                          "allowed: printable text")
            return None
    return [str(value) for value in values]


def _split(split: str, data: dict[str, Any], ids: dict[str, Any]) -> Split:
    return Split(inputs=data[f"{split}_inputs"], labels=data[f"{split}_labels"],
                 mask=data[f"{split}_mask"], attention=data[f"{split}_attention"],
                 path_features=data[f"{split}_path_features"], ids=ids[split])


def _sets(sets: Any, dtype: np.dtype | None, faults: list[str]) -> dict[str, Split]:
    """The argument `sets`, checked as far as it takes to make arrays of it."""
    if sets is None:
        return {}
    if not isinstance(sets, Mapping) or not all(isinstance(data, Mapping) for data in sets.values()):
        faults.append("sets: is no mapping of names to mappings; allowed: {\"validation\": "
                      "{\"inputs\": x, \"labels\": y}}")
        return {}
    keys = [key.name for key in fields(Split)]
    result = {}
    for name, given in sets.items():
        where = f"sets[{str(name)!r}]"
        unknown = [str(key) for key in given if key not in keys]
        if unknown:
            faults.append(f"{where}: has the unknown key {unknown[0]!r}; allowed: {', '.join(keys)}")
        split = Split(mask=_mask_array(f"{where}['mask']", given.get("mask"), faults),
                      ids=_text_list(f"{where}['ids']", given.get("ids"), faults),
                      attention=_number_arrays(f"{where}['attention']", given.get("attention"),
                                               dtype, faults))
        for key in ("inputs", "labels", "path_features"):
            setattr(split, key, _number_array(f"{where}[{key!r}]", given.get(key), dtype, faults))
        result[str(name)] = split
    return result


def _network(network: Any, dtype: np.dtype | None, faults: list[str]) -> Network | None:
    """The argument `network`, checked as far as it takes to make arrays of it."""
    if network is None:
        return None
    keys = [key.name for key in fields(Network)]
    if not isinstance(network, Mapping) or set(network) != set(keys):
        given = list(network) if isinstance(network, Mapping) else type(network).__name__
        faults.append(f"network: is {given}; allowed: a mapping with the keys {', '.join(keys)}")
        return None
    return Network(_number_array("network['input']", network["input"], dtype, faults),
                   _number_arrays("network['values']", network["values"], dtype, faults),
                   _number_array("network['readout']", network["readout"], dtype, faults))


def _argument_name(name: str) -> str:
    """"attention/weights/layer_1" -> "attention_weights[0]", "train/inputs" -> "train_inputs",
    "sets/a/inputs" -> "sets['a']['inputs']"."""
    further = re.fullmatch(r"sets/([^/]+)/([^/]+)(?:/layer_(\d+))?", name)
    if further:
        place = f"sets[{further[1]!r}][{further[2]!r}]"
        return place + (f"[{int(further[3]) - 1}]" if further[3] else "")
    trained = re.fullmatch(r"network/([^/]+)(?:/layer_(\d+))?", name)
    if trained:
        return f"network[{trained[1]!r}]" + (f"[{int(trained[2]) - 1}]" if trained[2] else "")
    layer = re.fullmatch(r"(.+)/layer_(\d+)", name)
    if layer:
        return f"{_LIST_ARGUMENTS[layer[1]]}[{int(layer[2]) - 1}]"
    return _LIST_ARGUMENTS.get(name, name.replace("/", "_"))


def _warn_about_labels(labels: np.ndarray) -> None:
    if labels.ndim == 1 and not np.isin(labels, (-1.0, 1.0)).all():
        values = np.unique(labels)
        if len(values) <= 20 and (values == np.round(values)).all():
            advice = ("+1 and -1 for two classes" if len(values) <= 2
                      else "one-hot rows [P, C] for several classes")
            warnings.warn(f"train_labels: holds whole numbers such as {values[:4].tolist()}; they are "
                          f"taken as real targets. For classes give {advice}", stacklevel=3)


# ---- writing


def _write(path: Path, parts: Parts, note: str | None, overwrite: bool) -> Path:
    with new_file(path, overwrite) as file:
        _fill(file, parts, note)
    return path


def _fill(file: h5py.File, parts: Parts, note: str | None) -> None:
    write_header(file, note, parts.readout)
    for kind, arrays in (("weights", parts.weights), ("query", parts.query), ("key", parts.key)):
        for layer, array in enumerate(arrays or (), 1):
            file[f"attention/{kind}/layer_{layer}"] = array
    if parts.network is not None:
        file["network/input"], file["network/readout"] = parts.network.input, parts.network.readout
        for layer, array in enumerate(parts.network.values, 1):
            file[f"network/values/layer_{layer}"] = array
    write_head_names(file, parts.head_names or ())
    for split, data in parts.splits():
        for name in ("inputs", "labels", "mask", "path_features"):
            if getattr(data, name) is not None:
                file[f"{split}/{name}"] = getattr(data, name)
        if data.path_features is not None:
            heads = np.asarray(parts.heads, dtype=np.int64)
            file[f"{split}/path_features"].attrs["heads"] = heads
        for layer, array in enumerate(data.attention or (), 1):
            file[f"{split}/attention/layer_{layer}"] = array
        if data.ids is not None:
            file.create_dataset(f"{split}/ids", data=data.ids, dtype=h5py.string_dtype())
