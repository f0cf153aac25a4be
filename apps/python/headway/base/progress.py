"""How a computation tells what it does: a bar where tqdm is installed, or a function of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from headway.errors import UnavailableError, UsageError

Progress = Callable[[str, float, float], Any]
SECONDS_BEFORE_A_BAR = 1.0


def listener_of(progress: bool | Progress | None) -> Progress | None:
    """What is called with (stage, done, total). None: bars of what takes longer than a second, in a
    terminal or a notebook with tqdm; True: such bars in any case; False: nothing."""
    if progress is False or callable(progress):
        return progress or None
    if progress not in (None, True):
        raise UsageError(f"progress: is {progress!r}; allowed: True, False, None, or a function of "
                         "(stage, done, total)")
    if progress is None and not (sys.stderr is not None and sys.stderr.isatty()
                                 or "ipykernel" in sys.modules):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if progress:
            raise UnavailableError("progress=True: needs the package tqdm (pip install tqdm); allowed "
                             "without it: a function of (stage, done, total)") from None
        return None
    return Bars(tqdm, 0.0 if progress else SECONDS_BEFORE_A_BAR)


class Bars:
    """One bar of tqdm for each stage. Its speed does not count what was done before the bar began."""

    def __init__(self, make: Callable[..., Any], delay: float):
        self._make, self._delay = make, delay
        self._stage, self._bar, self._done = None, None, 0.0

    def __call__(self, stage: str, done: float, total: float) -> None:
        if stage != self._stage or done < self._done:
            self.close()
            operations = {"unit": "flop", "unit_scale": True} if stage == "train" else {}
            self._stage, self._bar = stage, self._make(total=total, desc=stage, delay=self._delay,
                                                       initial=done, leave=False, **operations)
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        self._done = done

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._stage = self._bar = None
        self._done = 0.0
