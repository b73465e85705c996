"""Evaluate: the first look at a new candidate."""

from __future__ import annotations

from archives.records import Proposal
from evolve.run import Run


async def evaluate(run: Run, proposal: Proposal) -> Proposal:
    """Judge the proposal's candidate as often as `repeats` says, if it has one that was not judged.

    A run that was killed may have judged some of the repeats already; those are not done again.
    """
    if proposal.outcome != "candidate" or proposal.candidate is None:
        return proposal
    candidate = run.population.candidates[proposal.candidate]
    done = {}
    if proposal.number in run.resumed:
        known = run.reader.evaluations(candidate=candidate.id, split="search", purpose="search")
        done = {e.seed: e for e in known}
    for seed in range(run.config.evaluator.repeats):
        evaluation = done.get(seed)
        if evaluation is None:
            evaluation = await run.judge(candidate, proposal.number, "search", seed)
        if evaluation.verdict != "judged":
            break
    return proposal
