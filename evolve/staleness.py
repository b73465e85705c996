"""Stale work: what to do with a change whose parent was overtaken while the change was made or judged.

*The problem.* With W proposals in flight, most of them end in a world that has moved on. A change made for an
old parent is compared with a better champion and loses, though the change itself is good: the faster the
campaign improves, the more of its work goes to waste. FlashEvolve counts how often its frontier has moved
since a sample left, and tests that once, before validation.

*When is it stale.* Not whenever the champion has moved: a proposal from another cell of the archive competes
there, and what it was made from may still be the best of its cell. So a basis is stale when two things
hold: the champion is more than `stale_after` versions past it, and its parent has a *successor*: the
champion, if the parent was the champion then, else the elite that now leads the parent's cell. Proposals that
by their policy start from the base, whatever has been found since, are never stale. With one worker nothing
changes between selection and admission, so nothing ever is.

*What can be done.* `accept` judges it as it is. `discard` saves the evaluation and loses the idea. `update`
takes the difference to the parent and merges it onto the successor, three ways, by Git and then by words; no
model is asked. Where both sides changed the same place, the change is judged as it was made: that costs one
evaluation and keeps what is different. `repair` asks a model in these cases, and where the merged change
does not help. In simulation (`benchmarks/staleness.py`) `update` wins at equal proposals and at equal
evaluations, so it is the default. `docs/staleness.md` has the figures.

*Twice.* It is checked when a proposal leaves its operator, where rebasing costs nothing, and again when its
candidate has been judged: if the change helped its parent, which has a successor by then, the same change on
the successor is a candidate of its own. The better of the two goes on to the challenge. Both are in the
archive, both were judged, and the gate is the same for all.
"""

from __future__ import annotations

from archives.records import Basis, Candidate, Proposal
from evolve.population import Population

REBASES = 2
"""How often one proposal is put onto a newer parent after it was judged."""
ROOTED = frozenset({"independent"})
"""Policies whose proposals start where they start on purpose."""


def successor(
    population: Population, basis: Basis, policy: str, parent: str, stale_after: int = 0
) -> str | None:
    """What has taken a parent's place; None where work from this basis is not stale.

    Args:
        population: What is known now.
        basis: Versions that held when the work began.
        policy: Policy that chose the parent.
        parent: Candidate the work was made from.
        stale_after: Versions of the champion that a basis may be behind.
    """
    if population.champion.version - basis.champion <= stale_after or policy in ROOTED:
        return None
    led = population.champions[basis.champion].candidate == parent
    now = population.champion.candidate if led else population.leader(parent)
    return None if now == parent else now


def versions(population: Population, candidate: Candidate) -> list[Candidate]:
    """A candidate and those it was rebased from that the same proposal made, the newest first."""
    found = [candidate]
    while (before := found[-1].rebased_from) is not None:
        earlier = population.candidates[before]
        if earlier.proposal != candidate.proposal:
            break
        found.append(earlier)
    return found


def helps(population: Population, candidate: Candidate) -> bool:
    """Whether a candidate was judged better than its first parent, by more than the noise."""
    mine = population.merit(candidate.id)
    theirs = population.merit(candidate.parents[0]) if candidate.parents else None
    return mine is not None and theirs is not None and mine - theirs > population.grid.noise


def outdated(population: Population, proposal: Proposal, stale_after: int = 0) -> str | None:
    """Onto what the judged candidate of a proposal should be put; None where there is nothing to win."""
    if proposal.outcome != "candidate" or proposal.candidate is None:
        return None
    candidate = population.candidates[proposal.candidate]
    known = versions(population, candidate)
    if len(known) > REBASES or not helps(population, candidate):
        return None
    onto = successor(population, proposal.basis, proposal.policy, candidate.parents[0], stale_after)
    return None if any(one.id == onto for one in known) else onto


def best_version(population: Population, candidate: Candidate) -> Candidate:
    """The best judged of a candidate and those it was rebased from; the newest where none was judged."""
    known = versions(population, candidate)
    judged = [one for one in known if population.merit(one.id) is not None]
    return max(judged, key=lambda one: population.merit(one.id) or 0.0, default=candidate)
