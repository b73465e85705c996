"""Evaluate: the first look at a new candidate."""

from __future__ import annotations

from archives.records import Proposal
from evolve.run import Run
from evolve.stages.screen import decisive, screened


async def evaluate(run: Run, proposal: Proposal) -> Proposal:
    """Let the proposal's candidate pass the cheaper stages, then judge it as often as `repeats` says.

    A run that was killed may have judged some of the repeats already; those are not done again.
    """
    if proposal.outcome != "candidate" or proposal.candidate is None:
        return proposal
    candidate = run.population.candidates[proposal.candidate]
    done = {}
    if proposal.number in run.resumed:
        known = run.reader.evaluations(candidate=candidate.id, split="search", purpose="search")
        done = {e.seed: e for e in known}
    if not done and not await screened(run, proposal, candidate):
        return proposal
    for seed in range(run.config.evaluator.repeats):
        evaluation = done.get(seed)
        if evaluation is None:
            bar = decisive(run, candidate, seed)
            evaluation = await run.judge(candidate, proposal.number, "search", seed, bar=bar)
        if evaluation.verdict != "judged":
            break
    return proposal
