"""Select: which operator works on which parent next."""

from __future__ import annotations

from archives.records import Proposal
from evolve.operators.distill import BATCH
from evolve.orders import last_search
from evolve.randomness import rng
from evolve.run import Run

PARTNER_TRIES = 12
INSPIRATIONS = 2
BROKEN = 8
"""How far back a candidate to correct is looked for, among those that failed."""


def select(run: Run) -> Proposal | None:
    """The next proposal, None if no operator can work on anything now.

    All draws are keyed by the number of the proposal, so with the same knowledge the choice is the same.
    """
    number = run.next_ids.get("proposal", 1)
    if run.config.search.staleness in ("update", "repair") and len(run.overtaken) >= BATCH:
        return _distilled(run)
    population = run.population
    policy = run.policy_choice.draw(rng(run.seed, number, "policy")) or "champion"
    parent = run.policies[policy].parent(population, rng(run.seed, number, "parent"))
    partner = _partner(run, parent, number)
    broken = _broken(run, number)
    at_hand = {"parent": True, "nothing": True, "partner": partner is not None, "failed": broken is not None}
    usable = {name: at_hand[operator.needs] for name, operator in run.operators.items()}
    arm = run.arms.draw(rng(run.seed, number, "operator"), usable)
    if arm is None:
        return None
    needs = run.operators[arm.operator].needs
    if needs == "failed" and broken is not None:
        run.broken.remove(broken)
        parent, policy = broken, "failed"
    return Proposal(
        number=run.number("proposal"),
        operator=arm.operator,
        model=arm.model,
        parent=parent,
        partner=partner if needs == "partner" else None,
        inspirations=_inspirations(run, parent, number),
        lessons=_lessons(run, arm.operator, number),
        basis=run.basis(),
        policy=policy,
    )


def _distilled(run: Run) -> Proposal:
    """All that helped and came too late, put together onto the champion."""
    batch, run.overtaken = run.overtaken, []
    return Proposal(
        number=run.number("proposal"),
        operator=run.distill.name,
        parent=run.population.champion.candidate,
        inspirations=tuple(batch),
        basis=run.basis(),
        policy="champion",
    )


def _partner(run: Run, parent: str, number: int) -> str | None:
    """An elite of another lineage: neither an ancestor of the parent nor descended from it."""
    if not any(op.needs == "partner" for op in run.operators.values()):
        return None
    elites = run.population.elites()
    random = rng(run.seed, number, "partner")
    mine = run.population.ancestors(parent)
    for _ in range(PARTNER_TRIES):
        other = elites[random.randrange(len(elites))].candidate
        if other not in mine and parent not in run.population.ancestors(other):
            return other
    return None


def _broken(run: Run, number: int) -> str | None:
    """A candidate that failed by its own fault and was not corrected yet, one of the last few."""
    if not run.broken or not any(op.needs == "failed" for op in run.operators.values()):
        return None
    chosen = rng(run.seed, number, "broken").choice(run.broken[-BROKEN:])
    last = last_search(run, chosen)
    if last is None or last.verdict not in ("failed", "invalid"):
        run.broken.remove(chosen)
        return None
    return chosen


def _inspirations(run: Run, parent: str, number: int) -> tuple[str, ...]:
    others = [e.candidate for e in run.population.elites() if e.candidate != parent]
    random = rng(run.seed, number, "inspirations")
    return tuple(random.sample(others, min(INSPIRATIONS, len(others))))


def _lessons(run: Run, operator: str, number: int) -> tuple[int, ...] | None:
    """Lessons for an operator that asks a model; None for the others."""
    return run.memory.draw(rng(run.seed, number, "lessons")) if run.operators[operator].is_async else None
