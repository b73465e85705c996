"""What the archive holds and how the candidates fared, as few numbers as an onlooker needs.

To say it, all evaluations have to be gone through, which takes seconds in a campaign of 100,000. So the
orchestrator, which knows it anyway, leaves it in the journal once a second and at its end. It is a view: one
that is missing, or does not reach to the last evaluation of a campaign that nobody runs, is made anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from archives.reader import Reader

if TYPE_CHECKING:
    from evolve.population import Population

NAME = "summary"
SMALL = 2_000
"""Evaluations that are gone through faster than a person notices."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The archive and the candidates at one moment.

    Attributes:
        evaluation: Id of the last evaluation that is in it.
        coverage: Share of the archive's cells that are filled, from 0 to 1.
        qd_score: Sum of the merits of the best of each cell above the lowest of them.
        edges: Inner edges of the bins in force, by measure.
        cells: Cells and the ids of what they hold, the best first.
        highest: Candidate with the best mean objective.
        verdicts: Candidates by verdict.
    """

    evaluation: int
    coverage: float
    qd_score: float
    edges: Mapping[str, list[float]]
    cells: list[tuple[list[int | str], list[str]]]
    highest: str | None
    verdicts: Mapping[str, int]

    @property
    def elites(self) -> dict[str, list[int | str]]:
        """Cell of each candidate that the archive holds."""
        return {candidate: cell for cell, held in self.cells for candidate in held}

    def said(self) -> dict[str, Any]:
        """As JSON for the journal."""
        return asdict(self)


def summary_of(population: Population, evaluation: int) -> Summary:
    """Sum up a population that has heard all evaluations up to this id."""
    grid = population.grid
    lowest = min((grid.estimate(entry) for entry in grid.elites()), default=0.0)
    return Summary(
        evaluation=evaluation,
        coverage=grid.coverage,
        qd_score=grid.qd_score(lowest),
        edges={axis.name: list(grid.edges(axis.name)) for axis in grid.axes},
        cells=[(list(cell), [entry.candidate for entry in held]) for cell, held in grid.cells().items()],
        highest=population.highest(),
        verdicts=population.verdicts(),
    )


def summarised(reader: Reader, running: bool) -> Summary:
    """How it stands by what the orchestrator has left, or by the journal where that is not the latest.

    Args:
        reader: The journal.
        running: Whether an orchestrator lives; its last word, a second old, is then good enough.
    """
    last = reader.last_evaluation()
    left = reader.setting(NAME)
    if left and (left["evaluation"] == last or (running and last > SMALL)):
        return Summary(**left)
    from evolve.derived import look

    return summary_of(look(reader), last)
