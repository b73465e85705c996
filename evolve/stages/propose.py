"""Propose: an operator makes a change, the store makes a commit of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import trio

from archives.crashpoints import reach
from archives.errors import StoreError
from archives.measures import builtin
from archives.records import Call, Candidate, Proposal
from evolve.operators.base import Draft, Exhausted, Operator, Order, Refused, Waiting
from evolve.run import Run, failed

_one_offline = trio.CapacityLimiter(1)
_claim = threading.Lock()


async def propose(run: Run, proposal: Proposal) -> Proposal | None:
    """Make the proposal's candidate.

    Returns:
        The proposal with its outcome, state "made" where there is a new candidate to judge; None where the
        operator is used up and the proposal never was one.
    """
    operator = run.operators.get(proposal.operator)
    if operator is None:
        return None
    try:
        draft = await _draft(run, operator, proposal)
    except Exhausted as reason:
        run.operators.pop(proposal.operator, None)
        await run.tell("exhausted", f"{proposal.operator}: {reason}")
        return None
    except Refused as refusal:
        calls = numbered(run, proposal, refusal.calls)
        proposal = failed(proposal, str(refusal), payload=dict(refusal.payload))
        await run.record(proposal, *calls)
        return proposal
    proposal, candidate = await trio.to_thread.run_sync(_commit, run, proposal, draft)
    calls = numbered(run, proposal, draft.calls)
    reach("propose.committed")
    await run.record(*([candidate] if candidate else []), proposal, *calls)
    reach("propose.recorded")
    return proposal


async def _draft(run: Run, operator: Operator, proposal: Proposal) -> Draft:
    order = _order(run, proposal)
    while True:
        try:
            if operator.is_async:
                return await operator.propose_async(order, run.source)  # type: ignore[attr-defined, no-any-return]
            return await trio.to_thread.run_sync(operator.propose, order, run.source, limiter=_one_offline)
        except Waiting as reason:
            if run.in_flight <= 1:
                raise Refused(f"{reason}, and nothing is in flight that could bring it") from None
            await run.changed.wait()


def _order(run: Run, proposal: Proposal) -> Order:
    candidates = run.population.candidates
    ancestor = proposal.partner and run.population.common_ancestor(proposal.parent, proposal.partner)
    standing = run.population.standing(proposal.parent)
    return Order(
        number=proposal.number,
        seed=run.seed,
        parent=candidates[proposal.parent],
        base=run.base,
        partner=candidates[proposal.partner] if proposal.partner else None,
        ancestor=ancestor or None,
        inspirations=tuple(candidates[c] for c in proposal.inspirations),
        parent_score=standing.score if standing else None,
        feedback=_feedback(run, proposal) if run.operators[proposal.operator].is_async else "",
        goal=run.config.campaign.goal,
    )


def _feedback(run: Run, proposal: Proposal) -> str:
    found = list(run.reader.evaluations(candidate=proposal.parent, split="search"))
    return found[-1].feedback if found else ""


def numbered(run: Run, proposal: Proposal, calls: Sequence[Call]) -> list[Call]:
    """Model calls with their numbers, charged to the budget."""
    result = []
    for call in calls:
        run.budget.spend(tokens=call.prompt_tokens + call.completion_tokens, usd=call.usd or 0.0)
        result.append(replace(call, id=run.number("call"), proposal=proposal.number))
    return result


def _commit(run: Run, proposal: Proposal, draft: Draft) -> tuple[Proposal, Candidate | None]:
    """Turn a draft into a candidate, or say why it is none. Runs in a worker thread."""
    parent = draft.parent or proposal.parent
    about: dict[str, Any] = {
        "parent": parent,
        "summary": draft.summary,
        "rationale": draft.rationale,
        "payload": dict(draft.payload),
        "model": draft.model,
    }
    proposal = replace(proposal, **about)
    try:
        tree = draft.tree or run.store.write_tree(parent, draft.changes)
        changed = run.store.changed_paths(parent, tree)
    except StoreError as error:
        return failed(proposal, str(error)), None
    refused = [path for path in changed if not run.source.editable(path)]
    if refused:
        reason = f"{refused[0]} is protected: only files that artifact.include names may change"
        return replace(proposal, outcome="rejected", reason=reason), None
    if tree == parent:
        return replace(proposal, outcome="unchanged", candidate=tree, reason="it changes nothing"), None
    with _claim:
        known = run.population.candidates.get(tree)
        if known is not None:
            reason = f"the same tree as candidate {known.id[:10]}"
            return replace(proposal, outcome="duplicate", candidate=tree, reason=reason), None
        candidate = _new_candidate(run, proposal, tree, changed)
        run.population.add(candidate)
    return replace(proposal, state="made", outcome="candidate", candidate=tree), candidate


def _new_candidate(run: Run, proposal: Proposal, tree: str, changed: tuple[str, ...]) -> Candidate:
    known = run.population.candidates
    parents = tuple(c for c in (proposal.parent, proposal.partner) if c is not None)
    commit = run.store.commit(
        tree,
        [known[c].commit for c in parents],
        message(proposal, tree, [known[c].commit for c in proposal.inspirations]),
        run.base_time + proposal.number,
    )
    return Candidate(
        id=tree,
        commit=commit,
        number=run.number("candidate"),
        parents=parents,
        proposal=proposal.number,
        operator=proposal.operator,
        summary=proposal.summary,
        measures=builtin(run.store, run.base.id, proposal.parent, tree, run.source.editable),
        changed=changed,
    )


def message(proposal: Proposal, tree: str, inspirations: Sequence[str]) -> str:
    """The commit message of a candidate: what, why, and where it comes from as trailers."""
    subject = " ".join(proposal.summary.split()) or f"{proposal.operator} proposal {proposal.number}"
    trailers = [
        f"Evolve-Candidate: {tree}",
        f"Evolve-Proposal: {proposal.number}",
        f"Evolve-Operator: {proposal.operator}",
        *([f"Evolve-Model: {proposal.model}"] if proposal.model else []),
        *(f"Evolve-Inspired-By: {commit}" for commit in inspirations),
    ]
    body = f"\n{proposal.rationale.strip()}\n" if proposal.rationale.strip() else ""
    return f"{subject}\n{body}\n" + "\n".join(trailers) + "\n"
