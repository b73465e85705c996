"""Requests and tokens a minute, shared by all calls in flight."""

from __future__ import annotations

import trio

BURST = 5.0
"""Seconds' worth of the rate that may be taken at once after a pause."""


class Bucket:
    """A token bucket on trio's clock, first come, first served.

    In any minute at most the rate and one burst (a twelfth of it, at least one) are taken. What is larger
    than the burst is let through when the bucket is full and paid off afterwards.

    Args:
        per_minute: Rate; None: no limit.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._rate = None if per_minute is None else per_minute / 60
        self._capacity = 0.0 if self._rate is None else max(1.0, self._rate * BURST)
        self._level = self._capacity
        self._filled: float | None = None
        self._turn = trio.StrictFIFOLock()

    async def take(self, amount: float) -> None:
        """Wait until `amount` may be taken, and take it."""
        if self._rate is None:
            return
        wanted = min(amount, self._capacity)
        async with self._turn:
            self._fill()
            while self._level < wanted - 1e-9:
                await trio.sleep((wanted - self._level) / self._rate)
                self._fill()
            self._level -= amount

    def correct(self, taken: float, used: float) -> None:
        """Take back or give back the difference to what turned out to be used."""
        if self._rate is not None:
            self._level = min(self._capacity, self._level + taken - used)

    def _fill(self) -> None:
        now = trio.current_time()
        if self._filled is not None and self._rate is not None:
            self._level = min(self._capacity, self._level + (now - self._filled) * self._rate)
        self._filled = now
