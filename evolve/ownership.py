"""One orchestrator a campaign, ever.

The lock is the kernel's (`flock`), so it is gone the moment its owner is, however it died, and a recycled
process number cannot fool anybody. The number in the file is only for messages.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from archives.errors import CampaignBusy

# An onlooker holds the lock shared for microseconds; an owner that meets one tries again.
_PATIENCE = 0.5


@contextmanager
def own(lock: Path) -> Iterator[None]:
    """Be the orchestrator of a campaign until the block ends.

    Raises:
        CampaignBusy: Another process is.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise CampaignBusy(_busy(lock)) from None
                time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def owner(lock: Path) -> int | None:
    """Process number of the living orchestrator (0 where it is not known), None if there is none."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(ValueError):
            return int(os.pread(descriptor, 32, 0))
        return 0
    finally:
        os.close(descriptor)
    return None


def _busy(lock: Path) -> str:
    return (
        f"campaign {lock.parent.name} is already running (process {owner(lock)}); "
        "look at it with `evolve status`, end it with `evolve stop`"
    )
