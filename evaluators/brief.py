"""Blocking work on the event loop's own thread while it is brief, in a worker thread once it is not.

Problem: a way to a worker thread and back costs more processor time than most of what is done there, nearly
all of it in the fight of the threads for the interpreter. But the same work on a large repository, or on a
slow disk, takes long, and then nothing else may wait for it.

Choice: what it took so far decides. The mean is that of the last few times, in either place, so work that has
become slow moves away and comes back; the first time, when nothing is known, is not the loop's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import trio

T = TypeVar("T")

BRIEF = 0.005
"""Seconds that the event loop may be held up by one piece of work."""
_SMOOTHING = 0.2


class Brief:
    """One kind of blocking work.

    Attributes:
        seconds: Mean time it takes, in seconds, the last times weighing most; endless while nothing is known.
    """

    def __init__(self) -> None:
        self.seconds = float("inf")
        self._elsewhere = 0

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Keep the work off the event loop's thread for as long as the block lasts, which may hold it up."""
        self._elsewhere += 1
        try:
            yield
        finally:
            self._elsewhere -= 1

    async def run(self, work: Callable[..., T], *args: object) -> T:
        """Do the work, and return or raise what it does. A checkpoint in either case."""
        if self.seconds > BRIEF or self._elsewhere:
            return await trio.to_thread.run_sync(self._timed, work, args)
        await trio.lowlevel.checkpoint()
        return self._timed(work, args)

    def _timed(self, work: Callable[..., T], args: tuple[object, ...]) -> T:
        began = time.perf_counter()
        try:
            return work(*args)
        finally:
            taken = time.perf_counter() - began
            mean = taken if self.seconds == float("inf") else self.seconds
            self.seconds = mean + _SMOOTHING * (taken - mean)
