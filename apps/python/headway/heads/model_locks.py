"""A model belongs to one thread at a time while Headway has hooks in it, or has put it into evaluation mode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_CHANGED = threading.Condition()
_OWNERS: dict[int, tuple[int, int]] = {}  # id of a module: its thread, and how often that thread has taken it
_FAST_PATH = {"users": 0, "was enabled": False}


@contextmanager
def exclusive(model: Any) -> Iterator[None]:
    """In this block no other thread of Headway has this model, nor one that shares a module with it: it waits.

    A thread may take a model again that it has. All modules are taken at once, so that no two threads wait for each other.
    """
    modules = list(model.modules()) if hasattr(model, "modules") else [model]
    me, keys = threading.get_ident(), {id(module) for module in modules}
    with _CHANGED:
        _CHANGED.wait_for(lambda: all(_OWNERS.get(key, (me, 0))[0] == me for key in keys))
        for key in keys:
            _OWNERS[key] = me, _OWNERS.get(key, (me, 0))[1] + 1
    try:
        yield
    finally:
        with _CHANGED:
            for key in keys:
                times = _OWNERS.pop(key)[1] - 1
                if times:
                    _OWNERS[key] = me, times
            _CHANGED.notify_all()


def of_this_thread(hook: Callable[..., Any]) -> Callable[..., Any]:
    """A hook that does nothing in other threads, which may use the model meanwhile."""
    me = threading.get_ident()
    return lambda *given: hook(*given) if threading.get_ident() == me else None


@contextmanager
def without_fast_path(switch: Any) -> Iterator[None]:
    """In this block torch.nn.TransformerEncoderLayer calls its attention. switch: torch.backends.mha, of the whole process: it
    gets its own state back when the last of all threads is done."""
    with _CHANGED:
        if _FAST_PATH["users"] == 0:
            _FAST_PATH["was enabled"] = switch.get_fastpath_enabled()
            switch.set_fastpath_enabled(False)
        _FAST_PATH["users"] += 1
    try:
        yield
    finally:
        with _CHANGED:
            _FAST_PATH["users"] -= 1
            if _FAST_PATH["users"] == 0:
                switch.set_fastpath_enabled(_FAST_PATH["was enabled"])
