"""When to stop asking a model that does not answer.

Ten failures in a row mean that a model is gone, but with a hundred calls in flight one hiccup of its
server breaks a hundred at once. So failures are counted by rounds: one counts only if its attempt began
after the last one that counted. With one call at a time that is every failure; with many it is one a
round, and a server that restarts within a few seconds ends nothing. Being told to slow down is a sign of
life and counts only where a whole call was given up for it.
"""

from __future__ import annotations

from dataclasses import dataclass

LIMIT = 10
COOL_DOWN = 60.0


@dataclass
class Breaker:
    """The record of one model: failures in a row, and the reason of the last one."""

    failures: int = 0
    reason: str = ""
    _round: int = 0
    _opened: float = 0.0

    def begin(self) -> int:
        """The round an attempt belongs to; hand it back to `failed`."""
        return self._round

    def answered(self) -> None:
        """An attempt was answered."""
        self.failures = 0

    def failed(self, began: int, reason: str, now: float) -> None:
        """An attempt failed."""
        self.reason = reason
        if began == self._round:
            self._round += 1
            self.failures += 1
            self._opened = now

    @property
    def open(self) -> bool:
        """Whether the model counts as gone."""
        return self.failures >= LIMIT

    def closed_at(self, now: float) -> bool:
        """Whether it may be asked: it is not gone, or long enough so to be tried once more."""
        return not self.open or now - self._opened >= COOL_DOWN
