"""What the extension module computes on while Python holds it: arrays that must not change meanwhile."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from headway.errors import BadDataError


class HeldArrays:
    """Arrays, and lists of texts, by name. They are not copied."""

    _beside = ""  # what else belongs to the content

    def __init__(self, arrays: Mapping[str, Any]):
        self._arrays = arrays
        self._sum = self._check_sum()

    @property
    def bytes(self) -> int:
        """The size of all arrays."""
        return sum(np.asarray(value).nbytes for value in self._arrays.values())

    def _check_sum(self) -> int:
        total = 0
        for value in self._arrays.values():
            if not isinstance(value, list):
                total = zlib.adler32(np.ascontiguousarray(value).reshape(-1).view(np.uint8), total)
        return total

    def require_unchanged(self) -> None:
        """BadDataError if an array was changed in place. Takes about 0.3 ms a megabyte."""
        if self._check_sum() != self._sum:
            raise BadDataError(["the arrays were changed in place since this result was computed from them; allowed: the "
                                "same numbers, or a new result"])

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 (hex) of everything that is given. Takes about 5 ms a megabyte. BadDataError if it was changed in place."""
        self.require_unchanged()
        digest = hashlib.sha256(self._beside.encode())
        for path, value in sorted(self._arrays.items()):
            array = np.asarray(value)
            digest.update(f"\0{path} {array.dtype} {array.shape}\0".encode())
            digest.update(repr(value).encode() if isinstance(value, list) else
                          np.ascontiguousarray(array).data)
        return digest.hexdigest()
