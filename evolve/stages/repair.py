"""Repair: a change whose parent was overtaken is carried over to what overtook it (see `evolve.staleness`).

A step is merge, commit, journal, judge. What it has made is in the journal before it is judged, and what is
still to do follows from the candidates there, so a killed run takes up the chain where it broke off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from archives.crashpoints import reach
from archives.errors import ModelError
from archives.records import Candidate, Proposal, Treatment
from evolve.cascade import look
from evolve.models.errors import BudgetSpent
from evolve.operators.base import Draft, Overtaken, Refused
from evolve.operators.joining import join
from evolve.orders import order_for
from evolve.run import Run
from evolve.stages.evaluate import evaluate
from evolve.stages.founding import Rebase, founded, written
from evolve.staleness import best_version, helps, outdated, versions


async def refreshed(
    run: Run, proposal: Proposal, draft: Draft, onto: str
) -> tuple[Proposal, Candidate | None]:
    """Make a candidate of a draft whose parent was overtaken before anything was judged."""
    treatment = run.config.search.staleness
    if treatment == "discard":
        behind = run.population.champion.version - proposal.basis.champion
        reason = f"its parent was overtaken by {onto[:10]} and it is {behind} champions behind"
        return replace(proposal, outcome="dropped", stale="dropped", reason=reason), None
    proposal, tree = await run.storing.run(written, run, proposal, draft)
    if tree is None:
        return proposal, None
    if treatment == "accept":
        return await _founded(run, replace(proposal, stale="accepted"), tree)
    change = Overtaken(proposal.parent, tree, proposal.summary)
    carried = await _carried(run, proposal, change, onto, proposal.parent)
    if carried.rebase is None:
        return await _founded(run, replace(proposal, stale=carried.how), tree)
    return await _moved(run, proposal, carried)


def due(run: Run, proposal: Proposal) -> bool:
    """Whether there is something to win by putting a judged candidate onto a newer parent."""
    search = run.config.search
    if search.staleness not in ("update", "repair"):
        return False
    return outdated(run.population, proposal, search.stale_after) is not None or _lost(run, proposal)


async def repair(run: Run, proposal: Proposal) -> Proposal:
    """Put a judged candidate onto what overtook its parent, judge that, and go on with the better one."""
    while due(run, proposal) and run.hold(proposal.number, look(run.config)):
        following = await _step(run, proposal)
        if following is None or following.candidate == proposal.candidate:
            proposal = following or proposal
            break
        proposal = await evaluate(run, following)
    if proposal.candidate is None:
        return proposal
    best = best_version(run.population, run.population.candidates[proposal.candidate])
    return replace(proposal, candidate=best.id, stale=_treatment(proposal, best))


def noted(run: Run, proposal: Proposal) -> Proposal:
    """The proposal, marked where its parent was overtaken while its candidate was judged."""
    if proposal.outcome != "candidate" or proposal.stale is not None or run.successor(proposal) is None:
        return proposal
    return replace(proposal, stale="accepted")


@dataclass(frozen=True, slots=True)
class _Carried:
    """What came of carrying a change over; `words` are those of a model that did it."""

    how: Treatment
    tree: str = ""
    rebase: Rebase | None = None
    words: Proposal | None = None


async def _step(run: Run, proposal: Proposal) -> Proposal | None:
    """One more candidate from a judged one; the same proposal where there is none to make."""
    candidate = run.population.candidates[proposal.candidate or ""]
    onto = outdated(run.population, proposal, run.config.search.stale_after)
    if onto is None:
        return await _mend_lost(run, proposal, candidate)
    gain = run.gain(candidate.id, candidate.parents[0])
    change = Overtaken(candidate.parents[0], candidate.id, proposal.summary, gain=gain)
    return await _recorded(run, proposal, await _carried(run, proposal, change, onto, candidate.id))


async def _mend_lost(run: Run, proposal: Proposal, candidate: Candidate) -> Proposal:
    """Ask a model about a merged change that does not help where it is now."""
    origin = run.population.candidates[candidate.rebased_from or ""]
    own = origin.proposal == proposal.number
    change = Overtaken(
        candidate.parents[0],
        candidate.id,
        proposal.summary,
        gain=run.gain(origin.id, origin.parents[0]) if own else None,
        result=_result(run, candidate),
        older=origin.parents[0] if own else origin.id,
    )
    carried = await _mended(run, proposal, change, candidate.parents[0], candidate.id)
    return await _recorded(run, proposal, carried or _Carried("updated"))


def _result(run: Run, candidate: Candidate) -> str:
    """What came of a merged change: both scores and the feedback, or why there is none."""
    found = list(run.reader.evaluations(candidate=candidate.id, split="search"))
    mine, theirs = run.population.standing(candidate.id), run.population.standing(candidate.parents[0])
    if mine is None or theirs is None:
        return (found[-1].reason if found else None) or "it was not judged"
    words = f"scored {mine.score:.10g}, where the files without it score {theirs.score:.10g}"
    feedback = found[-1].feedback if found else ""
    return f"{words}\n{feedback}" if feedback else words


async def _recorded(run: Run, proposal: Proposal, carried: _Carried) -> Proposal:
    if carried.rebase is None:
        return replace(proposal, stale=carried.how)
    following, candidate = await _moved(run, proposal, carried)
    if candidate is None:
        return proposal
    reach("repair.committed")
    await run.record(candidate, following)
    reach("repair.recorded")
    return following


async def _carried(run: Run, proposal: Proposal, change: Overtaken, onto: str, origin: str) -> _Carried:
    """Merge a change onto a newer parent; ask a model where both sides changed the same place."""
    joined = await run.storing.run(join, run.store, change.origin, onto, change.tree)
    if joined.tree is not None:
        return _Carried("updated", joined.tree, Rebase(onto, origin, change.tree, "update"))
    change = replace(change, conflicts=joined.conflicts)
    return await _mended(run, proposal, change, onto, origin) or _Carried("conflicting")


async def _mended(run: Run, proposal: Proposal, change: Overtaken, onto: str, origin: str) -> _Carried | None:
    """Have a model carry a change over; None where there is no model or it found no way."""
    if run.repairer is None or run.config.search.staleness != "repair":
        return None
    order = order_for(run, proposal, onto)
    try:
        draft = await run.repairer.repair(order, change, run.source)
    except Refused:
        return None
    except BudgetSpent as reason:
        run.stop(str(reason))
        return None
    except ModelError as error:
        run.repairer = None
        await run.tell("models", f"repair is given up: {error}")
        return None
    words, tree = await run.storing.run(written, run, replace(proposal, parent=onto), draft)
    if tree is None:
        return None
    return _Carried("repaired", tree, Rebase(onto, origin, change.tree, "repair"), words)


async def _moved(run: Run, proposal: Proposal, carried: _Carried) -> tuple[Proposal, Candidate | None]:
    """Make a carried change a candidate; from then on the proposal's basis is the newer one."""
    anchored = replace(proposal, stale=carried.how, basis=run.basis())
    made, candidate = await _founded(run, carried.words or anchored, carried.tree, carried.rebase)
    anchored = replace(
        anchored, state=made.state, outcome=made.outcome, candidate=made.candidate, reason=made.reason
    )
    return anchored, candidate


async def _founded(
    run: Run, proposal: Proposal, tree: str, rebase: Rebase | None = None
) -> tuple[Proposal, Candidate | None]:
    return await run.storing.run(founded, run, proposal, tree, rebase)


def _lost(run: Run, proposal: Proposal) -> bool:
    """Whether a merged change does not help where it is now, and a model has not looked at it yet."""
    if run.repairer is None or run.config.search.staleness != "repair" or proposal.candidate is None:
        return False
    if proposal.outcome != "candidate" or proposal.stale != "updated":
        return False
    candidate = run.population.candidates[proposal.candidate]
    known = versions(run.population, candidate)
    asked = any(one.operator == "repair" for one in known)
    return candidate.rebased_from is not None and not asked and not helps(run.population, candidate)


def _treatment(proposal: Proposal, best: Candidate) -> Treatment | None:
    """What was done to the version that goes on."""
    if best.rebased_from is None:
        return "conflicting" if proposal.stale == "conflicting" else "accepted"
    return "repaired" if best.operator == "repair" else "updated"
