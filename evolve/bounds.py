"""When an evaluation in parts is decided before its last case.

With scores between known ends, the mean of all cases lies between what it would be if every case that is
left scored the worst and if it scored the best. Once even the best is below the bar, the rest cannot change
the decision: that is certain, whatever order the parts end in.

It comes soonest if the cases come first in which the candidate to beat left most room: who gains nothing
where something is to be gained cannot make up for it elsewhere. Where all cases pass or fail, most candidates
that are no better are given up after the few cases that the champion fails.

Where that comes late, chance helps. If the cases are judged in random order, those seen are draws without
replacement, and an e-process against "the mean reaches the bar" may be looked at after each of them
(`statistics.DrawProcess`). It is fed in the order that was drawn, not in the order in which runs end: quick
cases are not random ones. A candidate that would reach the bar is given up with probability 1 - confidence at
most. Nothing is promoted by it: whoever becomes champion has been judged in full.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evolve.promotion import ROUNDING
from evolve.rulings import shown
from evolve.statistics import DrawProcess


@dataclass(frozen=True, slots=True)
class Bar:
    """What the mean score must reach for the rest of the cases to matter.

    Attributes:
        merit: The score, turned so that higher is better.
        words: Whose it is, such as "what its cell holds".
        beat: Whether a tie is not enough.
        holder: Candidate whose score it is, where it is one.
    """

    merit: float
    words: str
    beat: bool = False
    holder: str | None = None


class Outlook:
    """What can still become of one evaluation.

    Args:
        known: Scores by case that are known before the first run.
        order: The other cases in the order in which they are handed out.
        span: Least and greatest score of a case.
        bar: What the mean must reach.
        sign: 1 where higher scores are better, -1 where lower ones are.
        confidence: How sure it takes to give up; None: certainty.
    """

    def __init__(
        self,
        known: Mapping[str, float],
        order: Sequence[str],
        span: tuple[float, float],
        bar: Bar,
        sign: int = 1,
        confidence: float | None = None,
    ) -> None:
        self._bar, self._sign = bar, sign
        self._low, self._high = sorted((sign * span[0], sign * span[1]))
        self._scores = {case: sign * score for case, score in known.items()}
        self._order = list(order)
        self._drawn = 0
        self._size = len(known) + len(self._order)
        self._needed = None if confidence is None else -math.log1p(-confidence)
        rest = self._size * bar.merit - math.fsum(self._scores.values())
        mean = (rest / max(1, len(self._order)) - self._low) / (self._high - self._low)
        self._draws = DrawProcess(len(self._order), mean)

    def hear(self, scores: Mapping[str, float]) -> None:
        """Take in the scores of a part."""
        self._scores.update({case: self._sign * score for case, score in scores.items()})
        while self._drawn < len(self._order) and self._order[self._drawn] in self._scores:
            share = (self._scores[self._order[self._drawn]] - self._low) / (self._high - self._low)
            self._draws.add(min(1.0, max(0.0, share)))
            self._drawn += 1

    @property
    def best(self) -> float:
        """The mean, turned so that higher is better, if every case that is left scored the best."""
        left = self._size - len(self._scores)
        return (math.fsum(self._scores.values()) + left * self._high) / self._size

    @property
    def missed(self) -> str | None:
        """Why the bar will not be reached, in one line; None while it may be."""
        rounding = ROUNDING * (self._high - self._low)
        seen = f"{len(self._scores)} of {self._size} cases"
        bar = f"{shown(self._sign * self._bar.merit)}, {self._bar.words}"
        if self.best < self._bar.merit + (rounding if self._bar.beat else -rounding):
            more = (
                "more than " if self._bar.beat and self._sign > 0 else "less than " if self._bar.beat else ""
            )
            return f"at best {shown(self._sign * self.best)} after {seen}; needed {more}{bar}"
        if self._needed is not None and self._draws.log_e >= self._needed:
            mean = self._sign * math.fsum(self._scores.values()) / len(self._scores)
            return f"{shown(mean)} on {seen}, so it will hardly reach {bar}"
        return None
