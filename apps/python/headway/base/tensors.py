"""Tensors as numpy takes them. Nothing here needs PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from headway.base.dataset_texts import masked_fault
from headway.errors import BadDataError


def without_torch(value: Any) -> Any:
    """A tensor without its gradient, in main memory, and bf16 as float32, which numpy has; likewise each in a list. All else
    stays."""
    if isinstance(value, (list, tuple)):  # numpy does not take every list of tensors of PyTorch 1.13
        return [np.asarray(without_torch(item)) if hasattr(item, "detach") else item for item in value]
    for step in ("detach", "cpu"):
        if hasattr(value, step):
            value = getattr(value, step)()
    return value.float() if "bfloat16" in str(getattr(value, "dtype", "")) and hasattr(value, "float") else value


def plain_array(value: Any) -> np.ndarray:
    """Any array, tensor or list as a numpy array. Numbers of a type that numpy itself does not have, such as the bfloat16 of
    ml_dtypes and so of JAX, become float32."""
    array = np.asarray(without_torch(value))
    return array.astype(np.float32) if array.dtype.isbuiltin == 2 else array


def as_numpy(name: str, value: Any, begin: int = 0) -> np.ndarray:
    """Any array or tensor, on any device and in any precision, as a numpy array.

    BadDataError where entries are masked. It names the array, and the example if `begin` is the number of the first.
    """
    value = without_torch(value)
    if np.ma.is_masked(value):
        raise BadDataError(masked_fault(name, value, begin))
    return plain_array(value)
