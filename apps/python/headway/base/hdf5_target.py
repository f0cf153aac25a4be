"""What HDF5 writes to: a file on a disk that may be full.

HDF5 cannot give up a file that it could not write: it tries again when the interpreter ends, and crashes. So it is
always told that all went well. The first error is kept, and raised when the file is closed.
"""

from __future__ import annotations

import io
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import h5py


class Target(io.FileIO):
    """A file for h5py whose methods never fail: `error` is the first failure, or None.

    HDF5 asks for whole blocks; its bytes beyond the end are zero.
    """

    def __init__(self, name: str):
        self.error: BaseException | None = None
        super().__init__(name, "r+")

    def write(self, data) -> int:
        try:
            rest = memoryview(data).cast("B")
            while rest:  # the system may take less than it is given
                rest = rest[super().write(rest):]
        except BaseException as error:
            self.error = self.error or error
        return len(data)

    def readinto(self, buffer) -> int:
        try:
            rest = memoryview(buffer).cast("B")
            while rest and (count := super().readinto(rest)):
                rest = rest[count:]
            rest[:] = bytes(len(rest))
        except BaseException as error:
            self.error = self.error or error
        return len(buffer)

    def truncate(self, size: int | None = None) -> int:
        try:
            super().truncate(size)
        except BaseException as error:
            self.error = self.error or error
        return size or 0

    def flush(self) -> None:
        """Nothing is held back."""

    @contextmanager
    def interrupts_kept(self) -> Iterator[None]:
        """In this block Ctrl-C raises nothing inside a method of this class, since HDF5 could not bear that.
        It is kept as `error`. In all other code Ctrl-C does what it did before."""
        before = signal.getsignal(signal.SIGINT)
        if not callable(before) or threading.current_thread() is not threading.main_thread():
            yield
            return

        def keep_or_raise(number: int, frame: FrameType | None) -> None:
            if _is_called_by_hdf5(frame):
                self.error = self.error or KeyboardInterrupt()
            else:
                before(number, frame)

        signal.signal(signal.SIGINT, keep_or_raise)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


_CALLED_BY_HDF5 = {method.__code__ for method in (Target.write, Target.readinto, Target.truncate, Target.flush)}


def _is_called_by_hdf5(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code not in _CALLED_BY_HDF5:
        frame = frame.f_back
    return frame is not None


class NewFile(h5py.File):
    """A new HDF5 file that is written to a Target."""

    def __init__(self, target: Target):
        self._target = target
        super().__init__(target, "w")

    def flush(self) -> None:
        """Also raises the first error of writing so far, since what is read back after it could be anything."""
        super().flush()
        if self._target.error is not None:
            raise self._target.error


@contextmanager
def written_file(name: str) -> Iterator[NewFile]:
    """The file `name`, which exists, open for new contents; closed after the block.

    A write that failed, in the block or at its end, is raised as the OSError of the system. It replaces any error of the
    block, which may have read back what was never written.
    """
    with Target(name) as target, target.interrupts_kept():
        try:
            with NewFile(target) as file:
                yield file
        except Exception:
            if target.error is None:
                raise
        if target.error is not None:
            raise target.error
