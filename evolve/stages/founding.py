"""Founding: a draft becomes a tree, a tree becomes a candidate, once, with a commit of its own.

What is here runs in worker threads.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from archives.errors import StoreError
from archives.measures import builtin
from archives.records import PROGRAM, Candidate, Proposal
from evolve.blocks import kept
from evolve.operators.base import Draft
from evolve.run import Run, failed

_claim = threading.Lock()


@dataclass(frozen=True, slots=True)
class Rebase:
    """How a tree came to stand on another parent than the one its change was made for.

    Attributes:
        onto: The new parent.
        origin: Candidate from which the change was carried over.
        tree: The tree that held the change.
        how: Whether a merge or a model did it.
    """

    onto: str
    origin: str
    tree: str
    how: Literal["update", "repair"]


def written(run: Run, proposal: Proposal, draft: Draft) -> tuple[Proposal, str | None]:
    """Write the tree of a draft; None where it cannot become a candidate, and the proposal says why."""
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
    stray = next((path for path in changed if not _within_marks(run, parent, tree, path)), None)
    if stray is not None:
        reason = f"{stray} may change between its EVOLVE-BLOCK marks only, and was changed elsewhere"
        return replace(proposal, outcome="rejected", reason=reason), None
    if tree == parent:
        return replace(proposal, outcome="unchanged", candidate=tree, reason="it changes nothing"), None
    if tree in run.population.candidates:
        return _duplicate(proposal, tree), None
    return proposal, tree


def _within_marks(run: Run, parent: str, tree: str, path: str) -> bool:
    old = run.store.read(parent, path)
    return old is None or kept(old, run.store.read(tree, path))


def founded(
    run: Run, proposal: Proposal, tree: str, rebase: Rebase | None = None
) -> tuple[Proposal, Candidate | None]:
    """Make a tree the proposal's candidate; None where it is a known one."""
    if rebase is not None and tree == rebase.onto:
        reason = f"candidate {tree[:10]} holds the change already"
        return replace(proposal, outcome="unchanged", candidate=tree, reason=reason), None
    alike = _likeness(run, proposal, tree) if rebase is None else None
    with _claim:
        if tree in run.population.candidates:
            return _duplicate(proposal, tree), None
        if alike is not None:
            if (known := run.likenesses.first(alike)) is not None:
                return _written_differently(proposal, known), None
            run.likenesses.add(alike, tree)
            proposal = replace(proposal, payload={**proposal.payload, PROGRAM: alike})
        candidate = _new_candidate(run, proposal, tree, rebase)
        run.population.add(candidate)
    return replace(proposal, state="made", outcome="candidate", candidate=tree), candidate


def _likeness(run: Run, proposal: Proposal, tree: str) -> str | None:
    """The fingerprint of a tree by a model; what the model was shown is known from now on."""
    operator = run.operators.get(proposal.operator)
    if operator is None or not operator.is_async or run.config.search.near_duplicates == "judge":
        return None
    shown = (run.base.id, proposal.parent, *(proposal.inspirations), *filter(None, [proposal.partner]))
    run.likenesses.see(shown)
    return run.likenesses.of(tree)


def _written_differently(proposal: Proposal, known: str) -> Proposal:
    reason = f"the same program as candidate {known[:10]}, only written differently"
    return replace(proposal, outcome="duplicate", candidate=known, reason=reason)


def _duplicate(proposal: Proposal, tree: str) -> Proposal:
    reason = f"the same tree as candidate {tree[:10]}"
    return replace(proposal, outcome="duplicate", candidate=tree, reason=reason)


def _new_candidate(run: Run, proposal: Proposal, tree: str, rebase: Rebase | None) -> Candidate:
    known = run.population.candidates
    first = proposal.parent if rebase is None else rebase.onto
    parents = (first, *(c for c in (proposal.partner,) if c is not None and (rebase is None or c != first)))
    commits = [known[c].commit for c in parents]
    text = message(proposal, tree, [known[c].commit for c in proposal.inspirations], _origin(run, rebase))
    return Candidate(
        id=tree,
        commit=run.store.commit(tree, commits, text, run.base_time + proposal.number),
        number=run.number("candidate"),
        parents=parents,
        proposal=proposal.number,
        operator="repair" if rebase is not None and rebase.how == "repair" else proposal.operator,
        summary=proposal.summary,
        measures=builtin(run.store, run.base.id, first, tree, run.source.editable),
        changed=run.store.changed_paths(first, tree),
        rebased_from=None if rebase is None else rebase.origin,
    )


def _origin(run: Run, rebase: Rebase | None) -> list[str]:
    if rebase is None:
        return []
    return [
        f"Evolve-Rebased-From: {run.population.candidates[rebase.origin].commit}",
        f"Evolve-Rebased-Tree: {rebase.tree}",
        f"Evolve-Rebased-By: {rebase.how}",
    ]


def message(proposal: Proposal, tree: str, inspirations: Sequence[str], origin: Sequence[str] = ()) -> str:
    """The commit message of a candidate: what, why, and where it comes from as trailers."""
    subject = " ".join(proposal.summary.split()) or f"{proposal.operator} proposal {proposal.number}"
    trailers = [
        f"Evolve-Candidate: {tree}",
        f"Evolve-Proposal: {proposal.number}",
        f"Evolve-Operator: {proposal.operator}",
        *([f"Evolve-Model: {proposal.model}"] if proposal.model else []),
        *(f"Evolve-Inspired-By: {commit}" for commit in inspirations),
        *origin,
    ]
    body = f"\n{proposal.rationale.strip()}\n" if proposal.rationale.strip() else ""
    return f"{subject}\n{body}\n" + "\n".join(trailers) + "\n"
