"""Lessons: what is kept of them in memory, which ones a prompt carries, and whether they help.

*The problem.* A model that reads results and draws conclusions is often wrong, and a wrong conclusion in
every later prompt does more harm than none. Counting how often a lesson is followed by success proves
nothing, for success depends on how hard progress has become, and on the company the lesson keeps.

*What is done.* Which lessons a prompt carries is drawn by lot, each by itself and never with certainty, so
that at any time some proposals are made with a lesson and some without it. The difference between the two
shares of success is then caused by the lesson: a randomised experiment that never ends. Both shares are
discounted alike, so that old successes do not count against today's difficulty. A lesson is carried as often
as it is likely to help (Thompson, 1933), so a true one rises, a false one fades, and one that has faded is
tried again when what was known of it has been forgotten. `benchmarks/lessons.py` shows how long that takes.

Everything here is a function of the lessons and of the proposals in the order of their admission; it is
rebuilt from the journal.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from archives.records import Admission, Lesson, Proposal

FORGET = 0.995
"""What an outcome is worth when the next one has come in: half after 138."""
PRIOR = 4.0
"""Outcomes that the common rate counts for in the estimate of a share."""
MARGIN = 0.02
"""How much more often proposals must succeed with a lesson for it to be worth its place."""
CARRIED = 5
"""Lessons that one prompt carries at most, pinned ones aside."""
LEFT_OUT = 0.15
"""Chance that a lesson is left out although it would be carried: the proposals it is compared with."""
SURE = 0.9
SETTLED = 8
"""Uses below which a lesson counts as new."""
SAME = 0.75
"""Share of common words above which two claims of one scope are one."""

Word = Literal["new", "supported", "open", "fading"]


@dataclass(slots=True)
class Tally:
    """Discounted outcomes of proposals made with a lesson, and of those made without it meanwhile."""

    uses: int = 0
    wins: int = 0
    with_won: float = 0.0
    with_all: float = 0.0
    without_won: float = 0.0
    without_all: float = 0.0

    def learn(self, carried: bool, won: bool) -> None:
        """Take in one outcome."""
        self.with_won *= FORGET
        self.with_all *= FORGET
        self.without_won *= FORGET
        self.without_all *= FORGET
        if carried:
            self.uses += 1
            self.wins += won
            self.with_won += won
            self.with_all += 1
        else:
            self.without_won += won
            self.without_all += 1

    def effect(self) -> tuple[float, float]:
        """How much more often proposals succeed with the lesson: mean and standard deviation.

        Each share has a Beta posterior around the rate of all; their difference is taken as normal.
        """
        rate = (self.with_won + self.without_won + 1) / (self.with_all + self.without_all + 4)
        one, its = _beta(self.with_won, self.with_all, rate)
        other, its_own = _beta(self.without_won, self.without_all, rate)
        return one - other, math.sqrt(its + its_own)


def _beta(won: float, of: float, rate: float) -> tuple[float, float]:
    """Mean and variance of a share that `won` of `of` outcomes tell about."""
    a, b = won + PRIOR * rate, of - won + PRIOR * (1 - rate)
    mean = a / (a + b)
    return mean, mean * (1 - mean) / (a + b + 1)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a lesson.

    Attributes:
        uses: Proposals whose prompt carried it.
        wins: Those of them that were better than their parent.
        effect: How much more often proposals succeed with it than without it, in [-1, 1].
        helps: Probability that it is worth its place, in [0, 1].
        word: "new" with few uses, "supported" or "fading" where that is likely by `SURE`, else "open".
    """

    uses: int
    wins: int
    effect: float
    helps: float
    word: Word


class Memory:
    """The lessons of one campaign."""

    def __init__(self, lessons: Iterable[Lesson] = (), version: int = 0) -> None:
        self.lessons: dict[int, Lesson] = {}
        self.version = version
        self._tallies: dict[int, Tally] = {}
        for lesson in lessons:
            self.keep(lesson)

    def keep(self, lesson: Lesson) -> None:
        """Know of a new lesson, or of a new state of a known one."""
        self.lessons[lesson.id] = lesson
        self._tallies.setdefault(lesson.id, Tally())
        self.version += 1

    def living(self) -> list[Lesson]:
        """The lessons that are not forgotten, by id."""
        return [lesson for lesson in self.lessons.values() if lesson.state != "forgotten"]

    def learn(self, carried: Collection[int], won: bool, admitted: int) -> None:
        """Take in what came of a proposal.

        Args:
            carried: Lessons that its prompt carried.
            won: Whether its candidate was better than its parent.
            admitted: Its place in the order of admission; a lesson hears only of what came after it.
        """
        for id, tally in self._tallies.items():
            if self.lessons[id].made < admitted:
                tally.learn(id in carried, won)

    def hear(self, proposal: Proposal | Admission) -> None:
        """Take in what came of an admitted proposal, if its prompt could have carried lessons."""
        if proposal.lessons is not None:
            won = proposal.outcome == "candidate" and proposal.gain is not None and proposal.gain > 0
            self.learn(proposal.lessons, won, proposal.admitted or 0)

    def standing(self, id: int) -> Standing:
        """What is known of a lesson."""
        tally = self._tallies[id]
        mean, deviation = tally.effect()
        helps = 0.5 * math.erfc((MARGIN - mean) / (deviation * math.sqrt(2)))
        word: Word = "open"
        if tally.uses < SETTLED:
            word = "new"
        elif helps >= SURE:
            word = "supported"
        elif helps <= 1 - SURE:
            word = "fading"
        return Standing(tally.uses, tally.wins, mean, helps, word)

    def draw(self, random: random.Random) -> tuple[int, ...]:
        """Lessons for one prompt: the pinned ones, then those that a draw says help most."""
        pinned = [lesson.id for lesson in self.living() if lesson.state == "pinned"]
        drawn = []
        for lesson in self.living():
            mean, deviation = self._tallies[lesson.id].effect()
            value, out = random.gauss(mean, deviation), random.random() < LEFT_OUT
            if lesson.state == "active" and value > MARGIN and not out:
                drawn.append((value, lesson.id))
        best = [id for _, id in sorted(drawn, key=lambda pair: (-pair[0], pair[1]))]
        return (*pinned, *best[:CARRIED])

    def text(self, id: int) -> str:
        """A lesson as a prompt states it."""
        lesson, standing = self.lessons[id], self.standing(id)
        record = f"{standing.wins} of {standing.uses} proposals made with it were better than their parent"
        return f"lesson {id}, {standing.word} ({record}), about {lesson.scope}: {lesson.claim}"

    def same(self, claim: str, scope: str) -> Lesson | None:
        """The lesson that says the same already, a forgotten one included."""
        words = _words(f"{scope} {claim}")
        for lesson in self.lessons.values():
            others = _words(f"{lesson.scope} {lesson.claim}")
            if len(words & others) >= SAME * len(words | others):
                return lesson
        return None


def merged(
    lesson: Lesson, supports: Iterable[int], contradicts: Iterable[int], sources: Iterable[int]
) -> Lesson:
    """A lesson with more evidence."""
    return replace(
        lesson,
        supports=_union(lesson.supports, supports),
        contradicts=_union(lesson.contradicts, contradicts),
        sources=_union(lesson.sources, sources),
    )


def _union(one: Iterable[int], other: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({*one, *other}))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))
