"""What is known of the candidates, in memory: a view of the journal that every admission keeps up to date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from archives.grid import Axis, Entry, Grid
from archives.records import Candidate, Champion, Direction, Evaluation


@dataclass(slots=True)
class Standing:
    """What the search evaluations of one candidate say.

    Attributes:
        count: Judged evaluations.
        total: Sum of their objectives, with their own sign.
        first_count: Those of them that belong to the first look, before any confirmation or gate.
        first_total: Sum of their objectives.
        measures: Measures of the candidate, those of the evaluator included.
        placement: Where the archive put it at its first judged evaluation.
    """

    count: int = 0
    total: float = 0.0
    first_count: int = 0
    first_total: float = 0.0
    placement: str = "rejected"
    measures: dict[str, float | str] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Mean objective with its own sign."""
        return self.total / self.count


class Population:
    """Candidates, their standing, the archive and the champions of one campaign."""

    def __init__(
        self, direction: Direction, axes: Sequence[Axis], depth: int = 1, noise: float = 0.0
    ) -> None:
        self.sign = 1.0 if direction == "maximize" else -1.0
        self.candidates: dict[str, Candidate] = {}
        self._axes = tuple(axes)
        self.grid = Grid(axes, depth, noise=noise)
        self.champions: list[Champion] = []
        self._standings: dict[str, Standing] = {}
        self._elites: tuple[int, list[Entry]] = (-1, [])

    def add(self, candidate: Candidate) -> None:
        """Know of a candidate; its tree is not evaluated again from now on."""
        self.candidates[candidate.id] = candidate

    def hear(self, evaluation: Evaluation) -> None:
        """Take in an evaluation; only what was judged in full, for the search, changes anything."""
        if not evaluation.whole or evaluation.split != "search":
            return
        if evaluation.verdict != "judged" or evaluation.score is None:
            return
        candidate = self.candidates[evaluation.candidate]
        standing = self._standings.setdefault(candidate.id, Standing(measures=dict(candidate.measures)))
        standing.count += 1
        standing.total += evaluation.score
        if evaluation.purpose in ("search", "baseline"):
            standing.first_count += 1
            standing.first_total += evaluation.score
        standing.measures.update(evaluation.measures)
        merit = self.sign * standing.score
        placed = self.grid.add(Entry(candidate.id, merit, standing.measures, standing.count))
        if standing.count == 1:
            standing.placement = placed.status

    def relay(self, depth: int, noise: float) -> None:
        """Lay the archive out anew: other depth, other noise, the same candidates in the same order."""
        entries = [
            Entry(candidate, self.sign * s.score, s.measures, s.count)
            for candidate, s in self._standings.items()
        ]
        self.grid = Grid.rebuild(self._axes, depth, entries, noise)
        self._elites = (-1, [])

    def standing(self, candidate: str) -> Standing | None:
        """What is known of a judged candidate; None where it was not judged."""
        return self._standings.get(candidate)

    def merit(self, candidate: str) -> float | None:
        """Mean objective turned so that higher is better; None where it was not judged."""
        standing = self._standings.get(candidate)
        return None if standing is None else self.sign * standing.score

    def estimate(self, candidate: str) -> float:
        """Merit of a judged candidate, shrunk towards the others' as far as noise makes it doubtful."""
        standing = self._standings[candidate]
        merit = self.sign * standing.score
        return self.grid.estimate(Entry(candidate, merit, standing.measures, standing.count))

    def first_merit(self, candidate: str) -> float | None:
        """Merit at the first look, which later confirmations do not change: what operators learn from."""
        standing = self._standings.get(candidate)
        if standing is None or not standing.first_count:
            return None
        return self.sign * standing.first_total / standing.first_count

    @property
    def champion(self) -> Champion:
        """The champion."""
        return self.champions[-1]

    def crown(self, champion: Champion) -> None:
        """Take in a new champion."""
        self.champions.append(champion)

    def elites(self) -> list[Entry]:
        """Best of each cell, best first."""
        if self._elites[0] != self.grid.version:
            ranked = sorted(
                self.grid.elites(),
                key=lambda e: (-self.grid.estimate(e), self.candidates[e.candidate].number),
            )
            self._elites = (self.grid.version, ranked)
        return self._elites[1]

    def leader(self, candidate: str) -> str | None:
        """The best of the cell that a candidate falls into; None where it was not judged."""
        standing = self._standings.get(candidate)
        if standing is None:
            return None
        held = self.grid.cells().get(self.grid.cell_of(standing.measures))
        return held[0].candidate if held else None

    def ancestors(self, candidate: str) -> Mapping[str, int]:
        """Ancestors of a candidate, itself included, with their distance in steps."""
        distance = {candidate: 0}
        frontier = [candidate]
        while frontier:
            following = []
            for one in frontier:
                for parent in self.candidates[one].parents:
                    if parent not in distance:
                        distance[parent] = distance[one] + 1
                        following.append(parent)
            frontier = following
        return distance

    def common_ancestor(self, one: str, other: str) -> str | None:
        """Nearest candidate from which both descend."""
        mine, theirs = self.ancestors(one), self.ancestors(other)
        shared = [(mine[c] + theirs[c], self.candidates[c].number, c) for c in mine if c in theirs]
        return min(shared)[2] if shared else None

    def load(
        self,
        candidates: Iterable[Candidate],
        evaluations: Iterable[Evaluation],
        champions: Iterable[Champion],
    ) -> None:
        """Rebuild from the journal."""
        for candidate in candidates:
            self.add(candidate)
        for evaluation in evaluations:
            self.hear(evaluation)
        self.champions.extend(champions)
