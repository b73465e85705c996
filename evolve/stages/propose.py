"""Propose: an operator makes a change, the store makes a commit of it."""

from __future__ import annotations

from dataclasses import replace

import trio

from archives.crashpoints import reach
from archives.records import Candidate, Proposal
from evolve.operators.base import Draft, Exhausted, Operator, Refused, Waiting
from evolve.orders import order_for
from evolve.run import Run, failed
from evolve.stages.founding import founded, written
from evolve.stages.repair import refreshed

one_offline = trio.CapacityLimiter(1)
"""Operators that need no model work one at a time: what they know is theirs alone."""


async def propose(run: Run, proposal: Proposal) -> Proposal | None:
    """Make the proposal's candidate.

    Returns:
        The proposal with its outcome, state "made" where there is a new candidate to judge; None where the
        operator is used up and the proposal never was one.
    """
    operator = run.operator(proposal.operator)
    if operator is None:
        return None
    try:
        draft = await _draft(run, operator, proposal)
    except Exhausted as reason:
        run.operators.pop(proposal.operator, None)
        await run.tell("exhausted", f"{proposal.operator}: {reason}")
        return None
    except Refused as refusal:
        proposal = failed(proposal, str(refusal), payload=dict(refusal.payload))
        proposal = replace(proposal, outcome=refusal.outcome, model=refusal.model or proposal.model)
        await run.record(proposal)
        return proposal
    proposal, candidate = await _candidate(run, proposal, draft, ready=operator.needs == "nothing")
    reach("propose.committed")
    await run.record(*([candidate] if candidate else []), proposal)
    reach("propose.recorded")
    return proposal


async def _candidate(
    run: Run, proposal: Proposal, draft: Draft, ready: bool
) -> tuple[Proposal, Candidate | None]:
    """Make a draft a candidate: on its own parent, unless that was overtaken meanwhile.

    A ready-made change is judged as it stands.
    """
    onto = None if ready else run.successor(proposal)
    if onto is not None:
        return await refreshed(run, proposal, draft, onto)
    return await run.storing.run(_commit, run, proposal, draft)


def _commit(run: Run, proposal: Proposal, draft: Draft) -> tuple[Proposal, Candidate | None]:
    proposal, tree = written(run, proposal, draft)
    return (proposal, None) if tree is None else founded(run, proposal, tree)


async def _draft(run: Run, operator: Operator, proposal: Proposal) -> Draft:
    order = order_for(run, proposal, words=operator.is_async)
    while True:
        try:
            if operator.is_async:
                return await operator.propose_async(order, run.source)  # type: ignore[attr-defined, no-any-return]
            async with one_offline:
                return await run.searching[operator.name].run(operator.propose, order, run.source)
        except Waiting as reason:
            if run.in_flight <= 1:
                raise Refused(f"{reason}, and nothing is in flight that could bring it") from None
            await run.changed.wait()
