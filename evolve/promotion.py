"""When a challenger replaces the champion.

A search that promotes whatever scored highest drifts: under noise the highest score of many is luck, and
each lucky champion raises the bar that only luck can pass. In simulated campaigns of 50 challengers none of
which was better, keeping the higher single score ended with a false champion every time, and so did a
t-test looked at after each pair.

Three rules, all pure functions of scores; whoever calls them runs the evaluator and keeps the evidence.

- `strict`, for evaluators that give the same score to the same candidate: strictly better on the same
  cases. A tie keeps the champion. Which evaluators these are is measured, not believed: see `looks_noisy`.
- `evalue`, for all others: a `Gate` of fresh paired runs with an error level from `Levels`, which makes the
  chance of a false champion small for the campaign as a whole, not for one gate.
- `holdout_allows`, in both: not worse on cases that no operator has seen. It can only forbid, so it needs
  no level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from archives.records import Direction
from evolve.gate import Decision, Gate, Pair
from evolve.rulings import Ruling, compared, shown
from evolve.statistics import lond_level, standard_error

__all__ = [
    "BASELINE_REPEATS",
    "Decision",
    "Gate",
    "Guard",
    "Levels",
    "Pair",
    "Ruling",
    "Scores",
    "guarded",
    "guards",
    "holdout_allows",
    "looks_noisy",
    "orientation",
    "strict",
]

Scores = float | Mapping[str, float]
"""One score, or the scores by case, with the sign the evaluator gave them."""

BASELINE_REPEATS = 5
"""Evaluations of the baseline, under different seeds, for `looks_noisy`: two equal runs prove nothing."""

ROUNDING = 1e-12
"""Relative difference below which two floating-point scores are the same score."""


def orientation(direction: Direction) -> int:
    """The sign that turns an objective so that higher is better."""
    return 1 if direction == "maximize" else -1


@dataclass(frozen=True, slots=True)
class Levels:
    """Error levels for the gates of a campaign by e-LOND; see `statistics.lond_level`.

    Attributes:
        alpha: Level of the whole campaign.
    """

    alpha: float = 0.05

    def level(self, gate: int, promotions: int) -> float:
        """Level of gate number `gate` (from 1), with this many promotions decided when it opens."""
        return lond_level(gate, promotions, self.alpha)


@dataclass(frozen=True, slots=True)
class Guard:
    """A metric that must not get worse.

    Attributes:
        name: Its name.
        challenger: Its value for the challenger, None where it was not reported.
        champion: Its value for the champion, None where it was not reported.
        sign: 1 where higher is better, -1 where lower is better.
    """

    name: str
    challenger: float | None
    champion: float | None
    sign: int = 1

    @property
    def objection(self) -> str | None:
        """Why this metric forbids the promotion; None where it does not."""
        if self.champion is None:
            return None
        if self.challenger is None:
            return f"the guarded metric {self.name} is missing"
        if self.sign * (self.challenger - self.champion) >= -_rounding(self.challenger, self.champion):
            return None
        return f"the guarded metric {self.name} got worse: {compared(self.challenger, self.champion)}"


def guards(
    names: Iterable[str], challenger: Mapping[str, float], champion: Mapping[str, float], sign: int = 1
) -> tuple[Guard, ...]:
    """Guards from the configuration's names.

    Args:
        names: Metrics, read in the direction of the objective; "-name": lower is better, "+name": higher is.
        challenger: Metrics of the challenger.
        champion: Metrics of the champion.
        sign: Direction of the objective.
    """
    prefixes = {"-": -1, "+": 1}
    made = []
    for name in names:
        plain = name[1:] if name[:1] in prefixes else name
        side = prefixes.get(name[:1], sign)
        made.append(Guard(plain, challenger.get(plain), champion.get(plain), side))
    return tuple(made)


def guarded(ruling: Ruling, against: Iterable[Guard]) -> Ruling:
    """The ruling, turned into a refusal where a guarded metric got worse; guards never promote."""
    against = tuple(against)
    values = {guard.name: [guard.challenger, guard.champion] for guard in against}
    evidence = {**ruling.evidence, "guards": values} if values else ruling.evidence
    objections = [guard.objection for guard in against if guard.objection]
    if not (ruling.promoted and objections):
        return replace(ruling, evidence=evidence)
    return replace(
        ruling, promoted=False, reason=f"{ruling.reason}, but {'; '.join(objections)}", evidence=evidence
    )


def strict(
    challenger: Scores, champion: Scores, sign: int = 1, min_gain: float = 0.0, against: Iterable[Guard] = ()
) -> Ruling:
    """Strictly better on the same fixed cases, and no guarded metric worse.

    Args:
        challenger: Its score, or scores by case.
        champion: The same of the champion.
        sign: 1 where higher is better, -1 where lower is better.
        min_gain: How much better it must be at least, in units of the objective.
        against: Metrics that must not get worse.

    Raises:
        ValueError: A score is not finite.
    """
    apart = _different_cases(challenger, champion)
    if apart:
        return Ruling(False, "strict", apart)
    mine, theirs = _mean(challenger), _mean(champion)
    gain, rounding = sign * (mine - theirs), _rounding(mine, theirs)
    evidence = {
        "challenger": mine,
        "champion": theirs,
        "gain": gain,
        "minimum_gain": min_gain,
        "cases": len(challenger) if isinstance(challenger, Mapping) else None,
    }
    words = compared(mine, theirs, other_is="the champion's ")
    if abs(gain) <= rounding:
        tie = f"{shown(mine)} equals the champion's score, and a tie keeps the champion"
        return Ruling(False, "strict", tie, evidence)
    if gain > 0 and gain < min_gain - rounding:
        small = f"{words}, but by less than the minimum gain of {shown(min_gain)}"
        return Ruling(False, "strict", small, evidence)
    return guarded(Ruling(gain > 0, "strict", words, evidence), against)


def looks_noisy(scores: Sequence[float]) -> bool:
    """Whether repeated evaluations of one candidate, under different seeds, differ by more than rounding.

    False after fewer than `BASELINE_REPEATS` means "not known to be"; look again at each would-be champion.
    """
    return bool(scores) and max(scores) - min(scores) > _rounding(max(scores), min(scores))


def holdout_allows(
    challenger: Scores, champion: Scores, sign: int = 1, noisy: bool = False
) -> tuple[bool, str]:
    """Whether the sealed holdout lets a promotion pass, and why.

    A deterministic score must not be worse. Under noise half of all equally good challengers would fail that,
    so with scores by case the mean may be worse by up to one standard error of paired differences. A score
    without cases says nothing of its noise and is held to the plain rule.

    Args:
        challenger: Its holdout score, or scores by case.
        champion: The same of the champion.
        sign: 1 where higher is better, -1 where lower is better.
        noisy: Whether the evaluator is noisy.
    """
    apart = _different_cases(challenger, champion)
    if apart:
        return False, f"holdout: {apart}"
    mine, theirs = _mean(challenger), _mean(champion)
    words = compared(mine, theirs, "holdout: ", "the champion's ")
    if sign * (mine - theirs) >= -_rounding(mine, theirs):
        return True, words
    if noisy and isinstance(challenger, Mapping) and isinstance(champion, Mapping) and len(challenger) > 1:
        error = standard_error([challenger[case] - champion[case] for case in sorted(challenger)])
        if abs(mine - theirs) <= error:
            return True, f"{words}, within the noise of {shown(error, 3)}"
        return False, f"{words}, by more than the noise of {shown(error, 3)}"
    return False, f"{words}, which is worse"


def _mean(scores: Scores) -> float:
    values = list(scores.values()) if isinstance(scores, Mapping) else [scores]
    for value in values:
        if not math.isfinite(value):
            raise ValueError(f"score {value}; only finite scores are compared")
    return math.fsum(values) / len(values)


def _rounding(one: float, other: float) -> float:
    return ROUNDING * max(abs(one), abs(other))


def _different_cases(challenger: Scores, champion: Scores) -> str | None:
    mine = set(challenger) if isinstance(challenger, Mapping) else None
    theirs = set(champion) if isinstance(champion, Mapping) else None
    if mine == theirs:
        return "no case was judged" if mine is not None and not mine else None
    if mine is None or theirs is None:
        return "one of the two was judged by case and the other was not; judge both the same way"
    first = min(mine ^ theirs)
    where = "challenger" if first in mine else "champion"
    return f"judged on different cases: {len(mine ^ theirs)} differ, {first!r} only for the {where}"
