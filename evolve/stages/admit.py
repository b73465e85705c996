"""Admit: close a proposal, and let operators, policies and the choice among them learn from it."""

from __future__ import annotations

from dataclasses import replace

from archives.crashpoints import reach
from archives.records import Proposal
from evolve.run import Run

COST_WITHOUT_EVALUATION = 0.25
_BY_PLACEMENT = {"new": 0.3, "improved": 0.5, "kept": 0.1, "rejected": 0.0}


async def admit(run: Run, proposal: Proposal) -> Proposal:
    """Record what came of a proposal, then teach."""
    made = proposal.outcome == "candidate" and proposal.candidate is not None
    run.admitted += 1
    proposal = replace(
        proposal,
        state="done",
        admitted=run.admitted,
        gain=_gain(run, proposal) if made else None,
        reward=_reward(run, proposal),
    )
    reach("admit.closing")
    await run.record(proposal)
    reach("admit.recorded")
    run.let_go(proposal.number)
    run.fruitless = 0 if made else run.fruitless + 1
    learn(run, proposal)
    run.listener("proposal", proposal)
    return proposal


def learn(run: Run, proposal: Proposal) -> None:
    """Teach operators and choices one closed proposal; live and when a campaign is resumed."""
    candidate = run.population.candidates.get(proposal.candidate) if proposal.candidate else None
    merit = run.population.first_merit(candidate.id) if candidate else None
    for operator in run.operators.values():
        operator.observe(proposal, candidate, merit)
    cost = 1.0 if proposal.outcome == "candidate" else COST_WITHOUT_EVALUATION
    run.operator_choice.learn(proposal.operator, proposal.reward or 0.0, cost)
    run.policy_choice.learn(proposal.policy, proposal.reward or 0.0, cost)


def _gain(run: Run, proposal: Proposal) -> float | None:
    """What the change won where it was judged."""
    if proposal.candidate is None:
        return None
    candidate = run.population.candidates[proposal.candidate]
    moved = candidate.rebased_from is not None and candidate.proposal == proposal.number
    return run.gain(candidate.id, candidate.parents[0] if moved else proposal.parent)


def _reward(run: Run, proposal: Proposal) -> float:
    """What a proposal won, in [0, 1]: most for a champion, something for a better or a different elite."""
    if proposal.outcome != "candidate" or proposal.candidate is None:
        return 0.0
    if run.population.champion.candidate == proposal.candidate:
        return 1.0
    standing = run.population.standing(proposal.candidate)
    if standing is None:
        return 0.0
    gain = _gain(run, proposal)
    better = 0.2 if gain is not None and gain > 0 else 0.0
    return _BY_PLACEMENT[standing.placement] + better
