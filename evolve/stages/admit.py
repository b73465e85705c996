"""Admit: close a proposal, and let operators, policies and the choice among them learn from it."""

from __future__ import annotations

from dataclasses import replace

from archives.crashpoints import reach
from archives.records import Admission, Proposal
from evolve.arms import COST_WITHOUT_EVALUATION, PROMOTED
from evolve.operators.base import Operator
from evolve.run import Run

MOST_BROKEN = 64
PLAINER = 0.4
"""What a simplification is worth that loses nothing, besides its place in the archive."""
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
    _note_overtaken(run, proposal)
    run.listener("proposal", proposal)
    return proposal


def learn(run: Run, proposal: Proposal) -> None:
    """Teach operators and choices one closed proposal; see `evolve.relearning` for a resumed run."""
    for operator in run.operators.values():
        observed(run, operator, proposal)
    weighed(run, proposal)


def observed(run: Run, operator: Operator, proposal: Proposal) -> None:
    """Let one operator learn from a closed proposal."""
    candidate = run.population.candidates.get(proposal.candidate) if proposal.candidate else None
    operator.observe(proposal, candidate, _merit(run, proposal))


def weighed(run: Run, closed: Proposal | Admission) -> None:
    """Let the choices among operators, models and policies learn what a closed proposal was worth."""
    _note_broken(run, closed)
    if closed.outcome == "candidate" and closed.candidate and closed.program:
        run.likenesses.add(closed.program, closed.candidate)
    run.memory.hear(closed)
    cost = 1.0 if closed.outcome == "candidate" else COST_WITHOUT_EVALUATION
    run.arms.learn(closed, run.reader.usd_of(closed.number) if closed.model else None)
    run.policy_choice.learn(closed.policy, closed.reward or 0.0, cost)


def _note_overtaken(run: Run, proposal: Proposal) -> None:
    """Keep in mind what helped its parent and came too late, to be distilled while this run lasts."""
    if proposal.stale is None or proposal.outcome != "candidate" or proposal.candidate is None:
        return
    champions = {champion.candidate for champion in run.population.champions}
    helped = proposal.gain is not None and proposal.gain > run.population.grid.noise
    if helped and proposal.candidate not in champions:
        run.overtaken.append(proposal.candidate)


def _merit(run: Run, closed: Proposal | Admission) -> float | None:
    """What operators may learn of the candidate; nothing where another evaluator judged it."""
    believed = (closed.admitted or 0) > run.learned_before
    return run.population.first_merit(closed.candidate) if closed.candidate and believed else None


def _note_broken(run: Run, proposal: Proposal | Admission) -> None:
    """Keep in mind what a model made and nobody could judge, unless correcting it has failed before."""
    if proposal.parent in run.broken:
        run.broken.remove(proposal.parent)
    maker = run.operators.get(proposal.operator)
    if maker is None or not maker.is_async or maker.needs == "failed":
        return
    if proposal.outcome != "candidate" or proposal.candidate is None:
        return
    if _merit(run, proposal) is None:
        run.broken.append(proposal.candidate)
        del run.broken[:-MOST_BROKEN]


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
        return PROMOTED
    standing = run.population.standing(proposal.candidate)
    if standing is None:
        return 0.0
    gain = _gain(run, proposal)
    better = 0.2 if gain is not None and gain > 0 else 0.0
    if proposal.operator == "simplify" and _plainer(run, proposal, gain):
        better = max(better, PLAINER)
    return _BY_PLACEMENT[standing.placement] + better


def _plainer(run: Run, proposal: Proposal, gain: float | None) -> bool:
    """Whether a candidate is no worse than its parent and has fewer lines."""
    known = run.population.candidates
    mine, before = (known[c].measures.get("lines") for c in (proposal.candidate or "", proposal.parent))
    if gain is None or gain < 0 or not isinstance(mine, float) or not isinstance(before, float):
        return False
    return mine < before
