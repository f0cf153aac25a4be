"""The extension module, where there is one. Results are read, tabulated and drawn without it."""

from __future__ import annotations

import atexit
import importlib
import os
import re
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from headway.errors import UnavailableError
from headway.version import __version__

# What the extension module is linked with, in Debian 12; a wheel does not bring them along.
RUNTIME_PACKAGES = ("libcholmod3", "libcxsparse3", "libfmt9", "libgomp1", "libgoogle-glog0v6",
                    "libhdf5-103-1", "libopenblas0-pthread", "libpng16-16", "libzip4", "zlib1g")
_loaded: ModuleType | None = None


def module() -> ModuleType:
    """headway._native. UnavailableError, which says what is missing and how to get it, where there is none."""
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
        raise UnavailableError(_missing(Path(__file__).parent)) from None
    except ImportError as error:
        raise UnavailableError(
            f"the extension module cannot be loaded: {error}. It needs libraries that Debian 12 has in the packages "
            f"{' '.join(RUNTIME_PACKAGES)}. If they are installed, build it again: {_how_to_build()}") from None
    finally:
        if passive:
            del os.environ["OMP_WAIT_POLICY"]
    if found.version != __version__:
        raise UnavailableError(f"the extension module is of version {found.version}, the package of "
                               f"{__version__}. Build it again: {_how_to_build()}")
    atexit.register(_leave_ranks, found)
    return found


def _leave_ranks(found: ModuleType) -> None:
    """When Python ends: takes leave of the other ranks of mpirun. After an exception that nobody caught, ends them."""
    found.leave_ranks(hasattr(sys, "last_value"))


def _missing(folder: Path) -> str:
    """Why there is no extension module in the folder of the package for this Python, and how to get one."""
    own = {f"_native{suffix}" for suffix in EXTENSION_SUFFIXES}
    others = [_python_of(file.name) for file in sorted(folder.glob("_native.*.so")) if file.name not in own]
    why = "the extension module headway._native is missing"
    if others:
        why = (f"the extension module headway._native was built for {' and '.join(dict.fromkeys(others))}, and this is "
               f"{_this_python()}. Use that Python, or build it for this one")
    return (f"{why}: headway.solve and its like need it, and so do data sets. {_how_to_build()}. Reading results, tables and "
            "figures work without it")


def _how_to_build() -> str:
    return (f"In the source tree, `make build PYTHON={sys.executable or 'python3'}` makes it where pybind11 and the headers of "
            "this Python are installed (Debian: pybind11-dev, python3-dev); `pip install ./apps/python` builds and installs it")


def _this_python() -> str:
    return f"Python {sys.version_info.major}.{sys.version_info.minor} ({sys.executable})"


def _python_of(name: str) -> str:
    """"_native.cpython-311-x86_64-linux-gnu.so": "Python 3.11"."""
    found = re.match(r"_native\.cpython-(\d)(\d+)", name)
    return f"Python {found[1]}.{found[2]}" if found else f"another Python ({name})"
