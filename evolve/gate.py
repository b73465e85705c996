"""A gate: paired runs, one after the other, until it is proven or hopeless that the challenger is better.

*Proof.* The e-value of the pairs so far reaches 1/level (see `statistics`): by betting where the range of
the objective is declared, by signs where it is not. The sign test asks who wins more often, not by how
much, so a promotion also needs a mean gain above the minimum. Both may be looked at after every pair. For
this to hold, pairs must be fresh (not the evaluations that made the challenger stand out) and added in the
order in which they were asked for, whoever finishes first.

*Giving up.* Most challengers are no better, and a gate that always runs to `n_max` spends nearly everything
on them. To stop early without promotion can only turn promotions into rejections, so any such rule leaves
the bound on false champions intact; it costs power, nothing else. The rule here: stop when even at the
upper end of its 95 % interval the gain would not bring the missing evidence within the pairs that are left,
at the growth of the best bet. Measured with noise .2, at the level of a campaign's first gate and at most
300 pairs: a challenger that is no better is dropped after 73 pairs, not 300; gains of .10 pass as before,
gains of .05 in 83 % of the gates instead of 86 % (`benchmarks/promotion.py`). A mirrored e-process against
"the gain is at least δ₁" bounds that loss by theory, but needs δ₁ from the user, and in a gate of 60 pairs
it hardly ever ends before the last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evolve.rulings import Ruling, shown
from evolve.statistics import BettingProcess, log_sign_e_value

Decision = Literal["promote", "reject", "undecided"]

_LOOK = 8
_REACH = 1.96


@dataclass(frozen=True, slots=True)
class Pair:
    """Challenger and champion on the same case and seed, turned so that higher is better.

    Attributes:
        name: Case and seed; a name counts once.
        challenger: Score of the challenger.
        champion: Score of the champion.
    """

    name: str
    challenger: float
    champion: float


class Gate:
    """The `evalue` rule for one challenger.

    Args:
        level: Error level of this gate; it promotes at an e-value of 1 / level.
        n_max: Most pairs; undecided after them means rejected.
        span: Least and greatest value the objective can take; None decides by signs.
        min_gain: What the mean gain must exceed, in units of the objective.
        sign: 1 where higher values of the objective are better, -1 where lower ones are; for words only.
    """

    def __init__(
        self,
        level: float,
        n_max: int = 60,
        span: tuple[float, float] | None = None,
        min_gain: float = 0.0,
        sign: int = 1,
    ) -> None:
        if not 0 < level <= 1:
            raise ValueError(f"level = {level}; it must lie in (0, 1]")
        if n_max < 1 or not (math.isfinite(min_gain) and min_gain >= 0):
            raise ValueError(f"n_max = {n_max}, min_gain = {min_gain}; give at least 1 and at least 0")
        width = None if span is None else span[1] - span[0]
        if width is not None and not (math.isfinite(width) and width > min_gain):
            raise ValueError(f"range {span}; its ends must be further apart than the minimum gain {min_gain}")
        self.level, self.n_max, self.span, self.min_gain, self.sign = level, n_max, span, min_gain, sign
        self.decision: Decision = "undecided"
        self.reason = "no pair yet"
        self._width = width
        self._betting = None if width is None else BettingProcess(min_gain / width)
        self._names: dict[str, None] = {}
        self._wins = self._losses = 0
        self._mean = self._squares = 0.0  # of the gains, by Welford's method
        self._drift = self._energy = self._largest = 0.0  # sum, sum of squares, largest size of the stakes

    def add(self, pair: Pair) -> Decision:
        """Take in a pair; one that is known, or comes after the decision, changes nothing."""
        gain = pair.challenger - pair.champion
        if not math.isfinite(gain):
            raise ValueError(
                f"pair {pair.name}: {pair.challenger} against {pair.champion}; scores must be finite"
            )
        if self.decision != "undecided" or pair.name in self._names:
            return self.decision
        self._names[pair.name] = None
        step = gain - self._mean
        self._mean += step / len(self._names)
        self._squares += step * (gain - self._mean)
        self._wins += gain > self.min_gain
        self._losses += gain < self.min_gain
        if self._bet(gain):
            self._decide()
        else:
            self.decision = "reject"
            allowed = f"promotion.range = {list(self.span or ())}"
            self.reason = (
                f"pair {pair.name} differs by {shown(abs(gain))}, more than {allowed} allows; widen it"
            )
        return self.decision

    @property
    def log_e(self) -> float:
        """Logarithm of the e-value as it stands."""
        if self._betting is None:
            return log_sign_e_value(self._wins, self._losses)
        return self._betting.log_e

    @property
    def pairs(self) -> int:
        """Pairs that counted."""
        return len(self._names)

    def evidence(self) -> dict[str, Any]:
        """The numbers behind the decision, as JSON."""
        n = self.pairs
        return {
            "method": "signs" if self._betting is None else "betting",
            "e_value": math.exp(min(self.log_e, 700.0)),
            "needed": 1 / self.level,
            "level": self.level,
            "pairs": n,
            "n_max": self.n_max,
            "wins": self._wins,
            "losses": self._losses,
            "ties": n - self._wins - self._losses,
            "mean_gain": self._mean,
            "standard_error": math.sqrt(max(0.0, self._squares) / (n * (n - 1))) if n > 1 else None,
            "minimum_gain": self.min_gain,
            "range": None if self.span is None else list(self.span),
        }

    def ruling(self) -> Ruling:
        """The decision as it stands; an undecided gate keeps the champion."""
        return Ruling(self.decision == "promote", "evalue", self.reason, self.evidence())

    def state(self) -> dict[str, Any]:
        """All there is to know, as JSON, from which `resume` goes on."""
        return {
            "version": 1,
            "level": self.level,
            "n_max": self.n_max,
            "range": None if self.span is None else list(self.span),
            "min_gain": self.min_gain,
            "sign": self.sign,
            "decision": self.decision,
            "reason": self.reason,
            "names": list(self._names),
            "record": [self._wins, self._losses],
            "gains": [self._mean, self._squares],
            "stakes": [self._drift, self._energy, self._largest],
            "log_sums": None if self._betting is None else list(self._betting.log_sums),
        }

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> Gate:
        """The gate that gave this state."""
        if state.get("version") != 1:
            raise ValueError(f"gate state of version {state.get('version')}; this program reads version 1")
        span = state["range"]
        span = None if span is None else (span[0], span[1])
        gate = cls(state["level"], state["n_max"], span, state["min_gain"], state["sign"])
        gate.decision, gate.reason = state["decision"], state["reason"]
        gate._names = dict.fromkeys(state["names"])
        gate._wins, gate._losses = state["record"]
        gate._mean, gate._squares = state["gains"]
        gate._drift, gate._energy, gate._largest = state["stakes"]
        if gate._betting is not None:
            gate._betting = BettingProcess(gate._betting.null, state["log_sums"])
        return gate

    def _bet(self, gain: float) -> bool:
        """Put the gain into the e-value; False where it breaks the declared range."""
        if self._betting is None or self._width is None:
            stake = float((gain > self.min_gain) - (gain < self.min_gain))
        else:
            difference = gain / self._width
            if difference < -1 - 1e-9:
                return False
            # A gain may be cut to the range, for that only bets on less; a loss may not.
            difference = max(-1.0, min(1.0, difference))
            self._betting.add(difference)
            stake = (difference - self._betting.null) / (1 + self._betting.null)
        self._drift += stake
        self._energy += stake * stake
        self._largest = max(self._largest, abs(stake))
        return True

    def _decide(self) -> None:
        missing = -math.log(self.level) - self.log_e
        left = self.n_max - self.pairs
        counted = "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"
        average = f"average change {shown(self.sign * self._mean, signed=True)}, {self._numbers()}"
        if missing <= 0 and self._mean > self.min_gain:
            self.decision = "promote"
            word = "higher" if self.sign > 0 else "lower"
            self.reason = f"{word} by {shown(self._mean)} on average in {counted} ({self._numbers()})"
        elif left <= 0:
            self.decision = "reject"
            self.reason = f"not proven better in {counted} ({average})"
        elif self.pairs >= _LOOK and missing > left * self._prospect():
            self.decision = "reject"
            self.reason = f"not better in {counted}, and {left} more could hardly prove it ({average})"
        else:
            self.reason = f"undecided after {counted} ({average})"

    def _numbers(self) -> str:
        return f"e = {shown(math.exp(min(self.log_e, 700.0)), 3)}, needed {shown(1 / self.level, 3)}"

    def _prospect(self) -> float:
        """Growth of the log e-value per pair that can still be hoped for.

        A stake of the largest size seen is added as a win, so that pairs without any difference do not pass
        for proof that there never will be one.
        """
        win = self._largest or 1.0
        n = self.pairs + 1
        mean, energy = (self._drift + win) / n, (self._energy + win * win) / n
        hope = mean + _REACH * math.sqrt(max(0.0, energy - mean * mean) / n)
        if hope <= 0:
            return 0.0
        # Stakes of this mean and energy grow about as fast as a biased coin's, and never faster than log1p.
        edge = min(1.0, hope / math.sqrt(energy))
        coin = math.log(2) + sum(p * math.log(p) for p in ((1 + edge) / 2, (1 - edge) / 2) if p > 0)
        return min(coin, math.log1p(hope))
