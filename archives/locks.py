"""Locks that die with their last holder.

A lock by the mere existence of a file, as git has it, stays behind when its holder is killed. An
``flock`` goes with the last process that has the descriptor open, and a child that inherits it keeps it.
So while a killed owner's git still works on the store, the next owner waits for it instead of removing
its files under its hands.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from archives.errors import StoreError


@contextmanager
def locked(path: Path, shared: bool = False, patience: float | None = None) -> Iterator[int]:
    """Holds a lock, and hands out its descriptor for children that shall hold it too.

    Args:
        path: A folder, or the lock's file, which is made where missing and stays.
        shared: Whether others may share it.
        patience: Seconds to wait; None waits without end.

    Raises:
        StoreError: Somebody else still holds it.
    """
    kind = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, kind | os.O_CLOEXEC, 0o600)
    try:
        _take(descriptor, path, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, patience)
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path, kind: int, patience: float | None) -> None:
    if patience is None:
        fcntl.flock(descriptor, kind)
        return
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > end:
                message = f"a git process still works on {path}; wait for it or end it, then try again"
                raise StoreError(message) from None
            time.sleep(0.05)
