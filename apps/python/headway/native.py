"""The extension module, where there is one: everything else of the package works without."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from headway.errors import UnavailableError
from headway.version import __version__

_MISSING = ("the extension module headway._native is missing: headway.solve and its like need it; "
            "`make build` in the source tree makes it where pybind11-dev and python3-dev are installed "
            "(then PYTHONPATH=apps/python), `pip install ./apps/python` builds and installs it. Reading "
            "results, tables, figures and data sets work without it")
# What the extension module is linked with, in Debian 12; a wheel does not bring them along.
RUNTIME_PACKAGES = ("libcholmod3", "libcxsparse3", "libfmt9", "libgomp1", "libgoogle-glog0v6",
                    "libhdf5-103-1", "libopenblas0-pthread", "libpng16-16", "libzip4", "zlib1g")
_loaded: ModuleType | None = None


def module() -> ModuleType:
    """headway._native. UnavailableError saying what is missing and how to get it."""
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded


def _load() -> ModuleType:
    # libgomp reads this when it is loaded. Its default, spinning while it waits, is many times slower
    # where another process shares the cores.
    passive = "OMP_WAIT_POLICY" not in os.environ
    if passive:
        os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        found = importlib.import_module("headway._native")
    except ModuleNotFoundError as error:
        if error.name != "headway._native":
            raise
        raise UnavailableError(_MISSING) from None
    except ImportError as error:
        raise UnavailableError(
            f"the extension module cannot be loaded: {error}; it needs what Debian 12 has in the packages "
            f"{' '.join(RUNTIME_PACKAGES)}; where they are there, build it again") from None
    finally:
        if passive:
            del os.environ["OMP_WAIT_POLICY"]
    if found.version != __version__:
        raise UnavailableError(f"the extension module is of version {found.version}, the package of "
                               f"{__version__}: build it again")
    return found
