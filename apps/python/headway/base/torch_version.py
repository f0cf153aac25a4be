"""PyTorch, which only what takes models apart needs."""

from __future__ import annotations

import re

from headway.errors import UnavailableError

LOWEST = (1, 13)  #: the oldest PyTorch that the tests run on


def require_torch(caller: str) -> None:
    """UnavailableError unless there is a PyTorch that is new enough; `caller` is what needs it."""
    needed = f"{caller}: needs PyTorch {'.'.join(map(str, LOWEST))} or newer"
    try:
        import torch
    except ImportError:
        raise UnavailableError(f"{needed}, which is not installed (pip install torch)") from None
    found = re.match(r"(\d+)\.(\d+)", str(torch.__version__))
    if found is not None and (int(found[1]), int(found[2])) < LOWEST:
        raise UnavailableError(f"{needed}; this is {torch.__version__} (pip install --upgrade torch)")
