"""Answers about many candidates and how they stand to each other."""

from __future__ import annotations

from typing import Literal

from archives.records import Verdict
from evolve.answers.base import Answer, Measure, Part
from evolve.answers.candidates import Judgement


class Node(Part):
    """A candidate in the ancestry."""

    candidate: str
    """Id of the candidate."""
    commit: str
    """Its commit in the campaign's store."""
    score: float | None
    """Mean score; None unless judged."""
    operator: str
    """Operator that made it first."""
    number: int
    """Order of creation."""
    summary: str
    """What was changed, in one line."""
    verdict: Verdict | None
    """What came of judging it."""
    champion: bool
    """Whether it is the champion now."""
    elite: bool
    """Whether the archive holds it."""


class Edge(Part):
    """One step of the ancestry."""

    parent: str
    """Candidate it starts from."""
    child: str
    """Candidate it leads to."""
    kind: Literal["parent", "crossover", "repaired", "inspiration", "duplicate"]
    """crossover: second parent; repaired: its change was carried over to a newer parent; duplicate:
    another proposal from another parent led to the same candidate."""
    gain: float | None
    """Difference of their scores; positive is better, whatever the direction."""
    proposal: int | None
    """Proposal that took the step; None for a duplicate."""


class Lineage(Answer):
    """`evolve lineage`: the ancestry of one candidate, or of all."""

    candidate: str | None
    """Candidate whose ancestry this is; None: all candidates."""
    nodes: list[Node]
    """Candidates by order of creation."""
    edges: list[Edge]
    """Steps between them."""


class Axis(Part):
    """One axis of the archive."""

    name: str
    """Measure."""
    bins: int | None
    """Number of bins, if it was given."""
    edges: list[float] | None
    """Inner edges of the bins in force; None if categorical or not known yet."""
    values: list[str] | None
    """Categories, if given."""


class Elite(Part):
    """One candidate held in the archive."""

    cell: list[int | str]
    """Its cell: bin or category on each axis."""
    rank: int
    """Place within the cell, from 1."""
    candidate: str
    """Id of the candidate."""
    score: float
    """Mean score."""
    measures: dict[str, Measure]
    """Its measures."""
    operator: str
    """Operator that made it first."""
    champion: bool
    """Whether it is the champion now."""


class Archive(Answer):
    """`evolve archive`: what the archive holds, cell by cell."""

    axes: list[Axis]
    """Its axes."""
    depth: int
    """How many candidates a cell may hold."""
    coverage: float
    """Share of the cells that are filled, from 0 to 1."""
    qd_score: float
    """Sum of the merits of the best of each cell above the lowest of them."""
    elites: list[Elite]
    """Candidates held, by cell, the best first."""


class ChampionEntry(Part):
    """One champion."""

    number: int
    """Version; 0 is the base."""
    candidate: str
    """Id of the candidate."""
    commit: str
    """Its commit in the campaign's store."""
    score: float | None
    """Mean score."""
    operator: str
    """Operator that made it first."""
    summary: str
    """What was changed, in one line."""
    evidence: Judgement | None
    """The decision that promoted it."""


class Champions(Answer):
    """`evolve champions`: every champion, in order."""

    champions: list[ChampionEntry]
    """The champions, the base first."""
    challenges: int
    """Decisions so far, promotions and refusals."""
    refused: list[Judgement]
    """Challengers that did not become champion, in the order of the decisions."""
