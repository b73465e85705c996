"""Orders: all that is known of a proposal's parent, gathered for the operator that works on it.

What only models and agents read is left out for the others, since it costs questions to the journal.
"""

from __future__ import annotations

from typing import Protocol

from archives.reader import Reader
from archives.records import Candidate, Evaluation, Proposal
from evolve.config import Config
from evolve.memory import Memory
from evolve.operators.base import Order, Tried
from evolve.population import Population
from evolve.quoting import one_line

LINEAGE = 8
"""Ancestors that an order names."""
ATTEMPTS = 12
"""Earlier attempts from the same parent that an order tells of."""


class Known(Protocol):
    """What orders are made of; a `Run` knows it, and so does who only looks at a campaign."""

    @property
    def config(self) -> Config:
        """The configuration."""
        ...

    @property
    def reader(self) -> Reader:
        """The journal."""
        ...

    @property
    def population(self) -> Population:
        """The candidates and how they stand."""
        ...

    @property
    def base(self) -> Candidate:
        """What the campaign started from."""
        ...

    @property
    def memory(self) -> Memory:
        """What has been learned."""
        ...

    @property
    def seed(self) -> int:
        """Seed of the campaign."""
        ...


def order_for(run: Known, proposal: Proposal, parent: str | None = None, words: bool = True) -> Order:
    """The order of a proposal.

    Args:
        run: What is known.
        proposal: The proposal.
        parent: Candidate to start from, where it is not the proposal's own parent.
        words: Whether whoever works on it can read.
    """
    population = run.population
    start = parent or proposal.parent
    partner = proposal.partner if parent is None else None
    ancestor = population.common_ancestor(start, partner) if partner else None
    last = last_search(run, start) if words else None
    return Order(
        number=proposal.number,
        seed=run.seed,
        parent=population.candidates[start],
        base=run.base,
        partner=population.candidates[partner] if partner else None,
        ancestor=ancestor,
        inspirations=tuple(population.candidates[c] for c in proposal.inspirations),
        parent_score=_score(run, start),
        partner_score=_score(run, partner) if partner else None,
        feedback=_feedback(last) if last else "",
        goal=run.config.campaign.goal,
        cases=last.cases if last else (),
        lineage=_lineage(run, start) if words else (),
        tried=_tried(run, start) if words else (),
        lessons=tuple(run.memory.text(id) for id in proposal.lessons or ()) if words else (),
        model=proposal.model,
    )


def last_search(run: Known, candidate: str) -> Evaluation | None:
    """The last evaluation of a candidate for the search; nothing of the holdout is ever read here."""
    found = list(run.reader.evaluations(candidate=candidate, split="search"))
    return found[-1] if found else None


def _feedback(evaluation: Evaluation) -> str:
    return "\n".join(filter(None, [evaluation.reason, evaluation.feedback]))


def _score(run: Known, candidate: str) -> float | None:
    standing = run.population.standing(candidate)
    return standing.score if standing else None


def _lineage(run: Known, candidate: str) -> tuple[Candidate, ...]:
    found: list[Candidate] = []
    parents = run.population.candidates[candidate].parents
    while parents and len(found) < LINEAGE:
        found.append(run.population.candidates[parents[0]])
        parents = found[-1].parents
    return tuple(found)


def _tried(run: Known, parent: str) -> tuple[Tried, ...]:
    """Attempts from a parent that won nothing, the latest first."""
    found = []
    for earlier in run.reader.attempts(parent, 2 * ATTEMPTS):
        if earlier.gain is None or earlier.gain <= 0:
            summary = earlier.summary or f"by {earlier.operator}"
            found.append(Tried(summary, _came(run, earlier)))
    return tuple(found[:ATTEMPTS])


def _came(run: Known, proposal: Proposal) -> str:
    """What came of a proposal, in one line."""
    if proposal.gain is not None:
        score = _score(run, proposal.candidate or "")
        words = f"{-proposal.gain:.6g} worse" if proposal.gain < 0 else "no better"
        return words if score is None else f"scored {score:.10g}, {words}"
    if proposal.outcome == "candidate" and proposal.candidate:
        last = last_search(run, proposal.candidate)
        return f"failed: {one_line(last.reason or last.verdict)}" if last else "not judged"
    return f"{proposal.outcome}: {one_line(proposal.reason or '')}"
