"""Questions about one candidate."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from archives.errors import ConfigError, EvolveError
from archives.reader import Reader
from archives.records import Candidate, Decision, Evaluation, Proposal
from evolve.answering.campaigns import ranked
from evolve.answers import Attempt, Best, Case, Diff, Judgement, Show
from evolve.summary import summarised

if TYPE_CHECKING:
    from archives.store import Store

_SHOWN_MATCHES = 5


def resolve(reader: Reader, word: str) -> Candidate:
    """Find a candidate by `base`, `best`, `champion`, or a prefix of its id or commit.

    Raises:
        EvolveError: None fits, or more than one does.
    """
    if word in ("base", "best", "champion"):
        return _named(reader, word)
    prefix = word.lower()
    if not re.fullmatch(r"[0-9a-f]{1,40}", prefix):
        raise ConfigError(
            f"{word!r} is no candidate: give the first digits of an id or commit, or base, best or champion"
        )
    found = {candidate.id: candidate for candidate in reader.find(prefix)}
    if not found:
        raise EvolveError(f"no candidate has an id or commit that begins with {prefix}; see `evolve lineage`")
    if len(found) > 1:
        rows = [f"{c.id[:12]} (commit {c.commit[:12]})" for c in found.values()]
        more = f" and {len(rows) - _SHOWN_MATCHES} more" if len(rows) > _SHOWN_MATCHES else ""
        shown = ", ".join(rows[:_SHOWN_MATCHES])
        raise ConfigError(f"{prefix} is ambiguous, it fits {shown}{more}; give more digits")
    return next(iter(found.values()))


def _named(reader: Reader, word: str) -> Candidate:
    champion = reader.champion()
    id = reader.setting("base") if word == "base" else champion and champion.candidate
    candidate = reader.candidate(id) if id else None
    if candidate is None:
        raise EvolveError(
            f"the campaign has no {word} yet; `evolve run` starts it, `evolve status` says where it is"
        )
    return candidate


def best(reader: Reader, running: bool = False) -> Best:
    """The champion, and all that is known of it.

    Args:
        reader: The journal.
        running: Whether an orchestrator lives.

    Raises:
        EvolveError: There is none yet.
    """
    with reader.snapshot():
        return Best(**vars(_show(reader, resolve(reader, "champion"), running)))


def show(reader: Reader, candidate: Candidate, running: bool = False) -> Show:
    """All that is known of one candidate.

    Args:
        reader: The journal.
        candidate: The candidate.
        running: Whether an orchestrator lives.
    """
    with reader.snapshot():
        return _show(reader, candidate, running)


def _show(reader: Reader, candidate: Candidate, running: bool) -> Show:
    summary, champion = summarised(reader, running), reader.champion()
    rows = list(reader.evaluations(candidate.id))
    search = [row for row in rows if row.split == "search"]
    judged = [row for row in search if row.verdict == "judged"]
    last = next(reversed(judged or search), None)
    attempts = list(reader.proposals(candidate=candidate.id))
    cell = summary.elites.get(candidate.id)
    base = reader.setting("base")
    return Show(
        candidate=candidate.id,
        commit=candidate.commit,
        parents=list(candidate.parents),
        inspirations=list(dict.fromkeys(i for p in attempts for i in p.inspirations if i != candidate.id)),
        rebased_from=candidate.rebased_from,
        operator=candidate.operator,
        score=reader.score(candidate.id),
        metrics=dict(last.metrics) if last else {},
        cases=_cases(judged),
        feedback=last.feedback if last else "",
        verdict=reader.verdict(candidate.id),
        measures=reader.measures(candidate.id),
        cell=cell,
        evidence=[judgement(d) for d in reader.decisions() if d.challenger == candidate.id],
        number=candidate.number,
        summary=candidate.summary,
        reason=last.reason if last else None,
        champion=champion is not None and champion.candidate == candidate.id,
        evaluations=len(rows),
        baseline_score=reader.score(base) if base else None,
        highest=ranked(reader, summary.highest),
        changed=list(candidate.changed),
        proposals=[_attempt(proposal) for proposal in attempts],
        artifacts=dict(last.artifacts) if last else {},
    )


def judgement(decision: Decision) -> Judgement:
    """A decision as an answer shows it."""
    return Judgement(
        decision=decision.id,
        challenger=decision.challenger,
        champion=decision.champion,
        proposal=decision.proposal,
        promoted=decision.promoted,
        rule=decision.rule,
        reason=decision.reason,
        numbers=dict(decision.evidence),
    )


def _cases(judged: Iterable[Evaluation]) -> dict[str, Case]:
    scores: dict[str, list[float]] = {}
    words: dict[str, str | None] = {}
    for row in judged:
        for case in row.cases:
            scores.setdefault(case.name, []).append(case.score)
            words[case.name] = case.feedback
    return {n: Case(score=sum(s) / len(s), feedback=words[n]) for n, s in scores.items()}


def _attempt(proposal: Proposal) -> Attempt:
    return Attempt(
        proposal=proposal.number,
        operator=proposal.operator,
        parent=proposal.parent,
        partner=proposal.partner,
        policy=proposal.policy,
        outcome=proposal.outcome,
        gain=proposal.gain,
        model=proposal.model,
        summary=proposal.summary,
        rationale=proposal.rationale,
        prompt=proposal.payload.get("prompt"),
        stale=proposal.stale,
    )


def diff(store: Store, old: Candidate, new: Candidate) -> Diff:
    """What differs between two candidates.

    What is no UTF-8 in names and contents is shown with replacement characters.
    """
    return Diff(
        old=old.id,
        new=new.id,
        changed=[_text(path) for path in store.changed_paths(old.id, new.id)],
        diff=_text(store.diff(old.id, new.id)),
    )


def _text(value: str) -> str:
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
