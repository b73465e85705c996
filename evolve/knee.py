"""How many requests a server works on at a time, found out from how long its answers take.

*The problem.* A server that works on C requests at a time answers as fast as ever while no more than C are
under way; beyond that they queue, and each takes longer by as much as there are more of them. Nobody tells
us C. Answers scatter by a factor of two and more for reasons of their own, so that two of them say nothing.

*The choice.* By Little's law (1961) a request that makes n under way takes s while n <= C and s * n / C
beyond. In logarithms that is a level line with a knee, after which it rises with slope one, and the scatter
of a log-normal service time is the same everywhere. The knee is fitted by least squares to all answers that
are remembered, each beside how many were under way when it was asked for, and believed only if the line
with a knee explains them better than the level one by a likelihood ratio that chance seldom gives. TCP Vegas
(Brakmo and Peterson, 1995) compares with the shortest time ever seen instead, which is not to be had where
service times scatter.

Of each number under way only sums are kept, which forget: the last 64 answers count, and none that
is more than 1,000 answers old. So memory is bounded, and a server that changes is found out again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

KEPT = 64
FORGET = 1000
EVIDENCE = 7.0
"""Twice the logarithm of the likelihood ratio from which on a knee is believed."""
FEWEST = 8
EXACT = 16
STEPS = 8
"""Above `EXACT` under way, numbers are told apart in so many steps to the next power of two."""
SHORTEST = 1e-3


@dataclass(slots=True)
class _Answers:
    """Sums over the logarithms of the times of answers to requests with the same number under way."""

    count: float = 0.0
    total: float = 0.0
    squares: float = 0.0
    last: int = 0

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def scatter(self) -> float:
        return max(0.0, self.squares - self.total * self.mean)


class Knee:
    """Remembers answers and finds the capacity of who gave them."""

    def __init__(self) -> None:
        self._answers: dict[int, _Answers] = {}
        self._heard = 0

    def hear(self, under_way: int, seconds: float) -> None:
        """Take in an answer.

        Args:
            under_way: Requests under way when this one was sent, itself included.
            seconds: How long it took.
        """
        self._heard += 1
        if under_way > EXACT:
            under_way = round(2 ** (round(STEPS * math.log2(under_way)) / STEPS))
        time = math.log(max(seconds, SHORTEST))
        sums = self._answers.setdefault(under_way, _Answers())
        kept = (KEPT - 1) / KEPT if sums.count >= KEPT else 1.0
        sums.count = sums.count * kept + 1.0
        sums.total = sums.total * kept + time
        sums.squares = sums.squares * kept + time * time
        sums.last = self._heard

    def look(self) -> tuple[int, float]:
        """The number under way from which on answers take longer, and how much speaks for it.

        Returns:
            The capacity that fits best, and twice the logarithm of how much likelier the answers are with it
            than without any limit: a knee that chance made seldom reaches `EVIDENCE`.
        """
        known = {n: sums for n, sums in self._answers.items() if self._heard - sums.last < FORGET}
        count = sum(sums.count for sums in known.values())
        if count < FEWEST or len(known) < 2:
            return 0, 0.0
        level = _unexplained(known, math.inf)
        unexplained, knee = min((_unexplained(known, n), n) for n in sorted(known)[:-1])
        return knee, count * math.log(max(level, 1e-12) / max(unexplained, 1e-12))

    @property
    def capacity(self) -> int | None:
        """Requests that are worked on at a time; None where nothing speaks for a limit."""
        knee, evidence = self.look()
        return knee if evidence >= EVIDENCE else None


def _unexplained(known: dict[int, _Answers], knee: float) -> float:
    """Sum of the squared residuals of a line with this knee."""
    parts = [(sums.count, sums.mean - math.log(max(1.0, n / knee))) for n, sums in known.items()]
    level = sum(count * rest for count, rest in parts) / sum(count for count, _ in parts)
    between = sum(count * (rest - level) ** 2 for count, rest in parts)
    return between + sum(sums.scatter for sums in known.values())
