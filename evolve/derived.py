"""What the journal implies but does not store: the archive, the standing of candidates, their verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from archives.grid import Axis
from archives.reader import Reader
from archives.records import Candidate, Evaluation, Verdict
from evolve.population import Population


def axes_of(reader: Reader) -> list[Axis]:
    """The archive's axes as the campaign uses them."""
    return [_axis(table) for table in reader.setting("axes", [])]


def _axis(table: dict[str, Any]) -> Axis:
    values = table.get("values")
    return Axis(
        table["name"],
        table.get("bins"),
        table.get("low"),
        table.get("high"),
        None if values is None else tuple(values),
    )


@dataclass(frozen=True, slots=True)
class View:
    """One look at a campaign, taken in one pass over its evaluations.

    Attributes:
        population: Candidates, standing, archive, champions.
        verdicts: Verdict by candidate: judged if any search evaluation was, else the last one; one that was
            never evaluated is missing.
    """

    population: Population
    verdicts: dict[str, Verdict]

    @property
    def champion(self) -> Candidate | None:
        """The champion; None before there is one."""
        champions = self.population.champions
        return self.population.candidates.get(champions[-1].candidate) if champions else None

    def score(self, candidate: str) -> float | None:
        """Mean score with the sign of the objective; None unless judged."""
        standing = self.population.standing(candidate)
        return None if standing is None else standing.score

    def measures(self, candidate: Candidate) -> dict[str, float | str]:
        """Measures, built in and reported."""
        standing = self.population.standing(candidate.id)
        return dict(candidate.measures if standing is None else standing.measures)

    def gain(self, parent: str, child: str) -> float | None:
        """Difference of their scores; positive is better, whatever the direction."""
        before, after = self.population.merit(parent), self.population.merit(child)
        return None if before is None or after is None else after - before

    def highest(self) -> Candidate | None:
        """The candidate with the best mean score, the earliest of equals; None if none was judged."""
        ranked = (
            (-merit, candidate.number, candidate)
            for candidate in self.population.candidates.values()
            if (merit := self.population.merit(candidate.id)) is not None
        )
        return min(ranked, default=(0, 0, None), key=lambda row: row[:2])[2]

    def cells(self) -> dict[str, tuple[int | str, ...]]:
        """Cell of each candidate that the archive holds."""
        held = self.population.grid.cells()
        return {entry.candidate: cell for cell, entries in held.items() for entry in entries}


def look(reader: Reader) -> View:
    """Take one look at a campaign."""
    population = Population(
        reader.setting("direction", "maximize"),
        axes_of(reader),
        reader.setting("depth", 1),
        reader.setting("noise", 0.0) or 0.0,
    )
    verdicts: dict[str, Verdict] = {}
    with reader.snapshot():
        evaluations = _noting(reader.evaluations(split="search"), verdicts)
        population.load(reader.candidates(), evaluations, reader.champions())
    return View(population, verdicts)


def _noting(evaluations: Iterable[Evaluation], verdicts: dict[str, Verdict]) -> Iterable[Evaluation]:
    for evaluation in evaluations:
        if verdicts.get(evaluation.candidate) != "judged":
            verdicts[evaluation.candidate] = evaluation.verdict
        yield evaluation
