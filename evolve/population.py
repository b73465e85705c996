"""What is known of the candidates, in memory: a view of the journal that every admission keeps up to date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from archives.grid import Axis, Entry, Grid
from archives.records import Candidate, Champion, Direction, Evaluation, Look, Stub, Verdict
from evolve.candidates import Candidates


@dataclass(slots=True)
class Standing:
    """What the search evaluations of one candidate say.

    Attributes:
        count: Judged evaluations.
        total: Sum of their objectives, with their own sign.
        first_count: Those of them that belong to the first look, before any confirmation or gate.
        first_total: Sum of their objectives.
        placement: Where the archive put it at its first judged evaluation.
    """

    count: int = 0
    total: float = 0.0
    first_count: int = 0
    first_total: float = 0.0
    placement: str = "rejected"

    @property
    def score(self) -> float:
        """Mean objective with its own sign."""
        return self.total / self.count


class Population:
    """Candidates, their standing, the archive and the champions of one campaign.

    Args:
        direction: Which way the objective is better.
        axes: The archive's axes.
        depth: Candidates kept in a cell.
        noise: Standard deviation of one evaluation.
        fetch: Reads a candidate from the journal; None where it is not there.

    Attributes:
        heard: How many evaluations were taken in one by one.
        last: Highest id of an evaluation that is taken in.
    """

    def __init__(
        self,
        direction: Direction,
        axes: Sequence[Axis],
        depth: int = 1,
        noise: float = 0.0,
        fetch: Callable[[str], Candidate | None] = lambda _: None,
    ) -> None:
        self.sign = 1.0 if direction == "maximize" else -1.0
        self.candidates = Candidates(fetch)
        self._axes = tuple(axes)
        self._measured = tuple(axis.name for axis in axes)
        self.grid = Grid(axes, depth, noise=noise)
        self.champions: list[Champion] = []
        self._standings: dict[str, Standing] = {}
        self._unjudged: dict[str, Verdict] = {}
        self.heard = 0
        self.last = 0
        self._highest: str | None = None
        self._highest_fell = False
        self._elites: tuple[int, list[Entry]] = (-1, [])
        self._reported: set[str] = set()

    def add(self, candidate: Candidate) -> None:
        """Know of a candidate; its tree is not evaluated again from now on."""
        self.candidates.add(candidate)

    def hear(self, evaluation: Evaluation) -> None:
        """Take in an evaluation; only what was judged in full, for the search, changes anything."""
        self.heard += 1
        self.last = max(self.last, evaluation.id)
        if not evaluation.whole or evaluation.split != "search":
            return
        candidate = self.candidates[evaluation.candidate]
        self.candidates.wrote(candidate.id)
        if evaluation.verdict != "judged" or evaluation.score is None:
            if candidate.id not in self._standings:
                self._unjudged[candidate.id] = evaluation.verdict
            return
        first = evaluation.purpose in ("search", "baseline")
        self._take(candidate.id, evaluation.score, first, candidate.measures, evaluation.measures)

    def _take(
        self,
        candidate: str,
        score: float,
        first: bool,
        builtin: Mapping[str, float | str],
        reported: Mapping[str, float | str],
    ) -> None:
        standing = self._standings.get(candidate)
        measures = builtin if standing is None else self.grid.entry(candidate).measures
        if standing is None:
            standing = self._standings[candidate] = Standing()
            self._unjudged.pop(candidate, None)
        standing.count += 1
        standing.total += score
        if first:
            standing.first_count += 1
            standing.first_total += score
        known = {**measures, **reported} if reported else measures
        self._reported.update(reported)
        placing = {name: known[name] for name in self._measured if name in known}
        placed = self.grid.add(Entry(candidate, self.sign * standing.score, placing, standing.count))
        if standing.count == 1:
            standing.placement = placed.status
        self._note_highest(candidate)

    def _note_highest(self, candidate: str) -> None:
        if self._highest is None or candidate == self._highest:
            self._highest_fell = self._highest is not None
            self._highest = candidate
        elif not self._highest_fell and self._above(candidate, self._highest):
            self._highest = candidate

    def _above(self, one: str, other: str) -> bool:
        mine, theirs = self.sign * self._standings[one].score, self.sign * self._standings[other].score
        return mine > theirs or (
            mine == theirs and self.candidates[one].number < self.candidates[other].number
        )

    def highest(self) -> str | None:
        """The candidate with the best mean objective, the earliest of equals; None if none was judged."""
        if self._highest_fell and self._highest is not None:
            self._highest_fell = False
            for candidate in self._standings:
                if candidate != self._highest and self._above(candidate, self._highest):
                    self._highest = candidate
        return self._highest

    def verdict(self, candidate: str) -> Verdict | None:
        """What came of judging a candidate: judged if it ever was, else the last word; None so far."""
        return "judged" if candidate in self._standings else self._unjudged.get(candidate)

    def verdicts(self) -> dict[str, int]:
        """Candidates by verdict."""
        counted: Counter[str] = Counter(self._unjudged.values())
        counted["judged"] = len(self._standings)
        return {verdict: count for verdict, count in sorted(counted.items()) if count}

    def relay(self, depth: int, noise: float) -> None:
        """Lay the archive out anew: other depth, other noise, the same candidates in the same order."""
        entries = [self.grid.entry(candidate) for candidate in self._standings]
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
        return self.grid.estimate(self.grid.entry(candidate))

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
        if candidate not in self._standings:
            return None
        held = self.grid.cells().get(self.grid.cell_of(self.grid.entry(candidate).measures))
        return held[0].candidate if held else None

    def bar(self, candidate: Candidate, count: int) -> tuple[float, str] | None:
        """The merit a candidate must exceed to be held in its cell, and whose it is; None if there is none.

        That is so while its cell has room, and where the evaluator reports an axis of the archive: then the
        cell is known only once the candidate has been judged.

        Args:
            candidate: Not judged yet.
            count: Evaluations it will have.
        """
        if self._reported.intersection(self._measured):
            return None
        held = self.grid.cells().get(self.grid.cell_of(candidate.measures), ())
        if len(held) < self.grid.depth:
            return None
        return self.grid.merit_for(self.grid.estimate(held[-1]), count), held[-1].candidate

    def ancestors(self, candidate: str) -> Mapping[str, int]:
        """Ancestors of a candidate, itself included, with their distance in steps."""
        distance = {candidate: 0}
        frontier = [candidate]
        while frontier:
            following = []
            for one in frontier:
                for parent in self.candidates.parents(one):
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

    def load(self, stubs: Iterable[Stub], looks: Iterable[Look], champions: Iterable[Champion]) -> None:
        """Rebuild from the journal: candidates by number, evaluations by id, champions by version."""
        ids: dict[str, str] = {}
        measures: dict[str, Mapping[str, float | str]] = {}
        for stub in stubs:
            ids[stub.id] = stub.id
            measures[stub.id] = stub.measures
            self.candidates.know(stub.id, tuple([ids.get(parent, parent) for parent in stub.parents]))
        for look in looks:
            id = ids[look.candidate]
            if look.verdict == "judged" and look.score is not None:
                first = look.purpose in ("search", "baseline")
                self._take(id, look.score, first, measures.pop(id, {}), look.measures)
            elif id not in self._standings:
                self._unjudged[id] = look.verdict
        self.champions.extend(champions)
