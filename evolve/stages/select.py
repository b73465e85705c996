"""Select: which operator works on which parent next."""

from __future__ import annotations

from archives.records import Proposal
from evolve.randomness import rng
from evolve.run import Run

PARTNER_TRIES = 12
INSPIRATIONS = 2


def select(run: Run) -> Proposal | None:
    """The next proposal, None if no operator can work on anything now.

    All draws are keyed by the number of the proposal, so with the same knowledge the choice is the same.
    """
    number = run.next_ids.get("proposal", 1)
    population = run.population
    policy = run.policy_choice.draw(rng(run.seed, number, "policy")) or "champion"
    parent = run.policies[policy].parent(population, rng(run.seed, number, "parent"))
    partner = _partner(run, parent, number)
    usable = {name: partner is not None or op.needs != "partner" for name, op in run.operators.items()}
    operator = run.operator_choice.draw(rng(run.seed, number, "operator"), usable)
    if operator is None:
        return None
    return Proposal(
        number=run.number("proposal"),
        operator=operator,
        parent=parent,
        partner=partner if run.operators[operator].needs == "partner" else None,
        inspirations=_inspirations(run, parent, number),
        basis=run.basis(),
        policy=policy,
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


def _inspirations(run: Run, parent: str, number: int) -> tuple[str, ...]:
    others = [e.candidate for e in run.population.elites() if e.candidate != parent]
    random = rng(run.seed, number, "inspirations")
    return tuple(random.sample(others, min(INSPIRATIONS, len(others))))
