"""Questions about a campaign as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from archives.reader import Reader
from archives.records import Candidate, Evaluation
from archives.tallies import Counts
from evolve.answering.stages import fates_of_stages, saved
from evolve.answers import (
    Campaign,
    Evaluations,
    Fate,
    Limit,
    Ranked,
    Run,
    Stage,
    Staleness,
    State,
    Status,
)
from evolve.summary import summarised


def state(reader: Reader, pid: int | None) -> State:
    """State of a campaign, given the process of its living orchestrator if there is one."""
    said: State = reader.setting("state", "stopped")
    if said == "running" and pid is None:
        return "dead"
    return "paused" if said == "running" and reader.setting("paused") else said


def spent_so_far(reader: Reader, counts: Counts) -> dict[str, float]:
    """What is spent, by the names of the limits."""
    spent = {name: float(amount) for name, amount in (reader.setting("spent") or {}).items()}
    tokens, usd = reader.spent_on_models()
    if counts.last_call:
        spent |= {"tokens": float(tokens), "usd": usd}
    spent["proposals"] = float(counts.proposals)
    spent["evaluations"] = float(counts.counted)
    return spent


def limits(reader: Reader, spent: dict[str, float]) -> dict[str, Limit]:
    """The limits in force, with what is spent of each."""
    known: dict[str, Any] = reader.setting("budget") or {}
    return {
        name: Limit(limit=float(limit), spent=spent.get(name, 0.0))
        for name, limit in known.items()
        if limit is not None
    }


def stages(gauges: Mapping[str, Any], pid: int | None) -> dict[str, Stage]:
    """The stages of a run as its orchestrator last saw them; empty where none lives."""
    shown = gauges.get("stages", {}) if pid is not None else {}
    return {name: Stage(**stage) for name, stage in shown.items()}


def _reason(reader: Reader, now: State) -> str | None:
    if now == "dead":
        return "its orchestrator died; `evolve run` goes on where it was"
    return reader.setting("reason") or None


def ranked(reader: Reader, candidate: str | None) -> Ranked | None:
    """A candidate with its score; None if it has none."""
    score = None if candidate is None else reader.score(candidate)
    return None if candidate is None or score is None else Ranked(candidate=candidate, score=score)


def status(reader: Reader, home: Path, pid: int | None) -> Status:
    """Where the campaign stands.

    Args:
        reader: Its journal.
        home: Its folder.
        pid: Process of the living orchestrator, if there is one.
    """
    with reader.snapshot():
        return _status(reader, home, pid)


def _status(reader: Reader, home: Path, pid: int | None) -> Status:
    counts, summary = reader.counts(), summarised(reader, running=pid is not None)
    spent = spent_so_far(reader, counts)
    base, champion = reader.setting("base"), reader.champion()
    fates = fates_of_stages(reader)
    waiting = [*reader.proposals("open"), *reader.proposals("made")]
    version = champion.version if champion else 0
    now = state(reader, pid)
    return Status(
        campaign=reader.setting("campaign", home.name),
        state=now,
        reason=_reason(reader, now),
        proposals=counts.proposals,
        candidates=counts.candidates,
        evaluations=counts.counted,
        failed=summary.verdicts.get("failed", 0),
        duplicates=counts.outcomes.get("duplicate", 0),
        stale=sum(proposal.basis.champion < version for proposal in waiting),
        staleness=_staleness(reader),
        elites=len(summary.elites),
        coverage=summary.coverage,
        champion=champion.candidate if champion else None,
        best_score=reader.score(champion.candidate) if champion else None,
        baseline_score=reader.score(base) if base else None,
        budget=limits(reader, spent),
        in_flight=len(waiting),
        stages=stages(reader.setting("gauges") or {}, pid),
        objective=reader.setting("objective", "score"),
        direction=reader.setting("direction", "maximize"),
        base=base,
        highest=ranked(reader, summary.highest),
        promotions=version,
        verdicts=dict(summary.verdicts),
        outcomes=dict(sorted(counts.outcomes.items())),
        spent=spent,
        runs=reader.runs() if fates else counts.evaluations,
        evaluator_stages=fates,
        saved=saved(reader, fates),
        noise=reader.setting("noise"),
        rule=reader.setting("rule"),
        evaluator=reader.setting("evaluator_version", 1),
        waiting=len(reader.setting("claims", [])),
        pid=pid,
        home=str(home),
    )


def _staleness(reader: Reader) -> Staleness:
    found = reader.stale()
    counts: dict[str, int] = {treatment: fate.proposals for treatment, fate in found.items()}
    return Staleness(
        policy=reader.setting("staleness", "accept"),
        stale=sum(counts.values()),
        rebased=len(reader.rebased()),
        repaired=counts.get("repaired", 0),
        updated=counts.get("updated", 0),
        conflicting=counts.get("conflicting", 0),
        dropped=counts.get("dropped", 0),
        fates={treatment: Fate(**asdict(fate)) for treatment, fate in found.items()},
    )


def campaign(reader: Reader, home: Path, pid: int | None) -> Campaign:
    """One line of the list of campaigns; reads only the evaluations of the base and the champion."""
    counts, champion, now = reader.counts(), reader.champion(), state(reader, pid)
    base = reader.setting("base")
    return Campaign(
        campaign=reader.setting("campaign", home.name),
        state=now,
        reason=_reason(reader, now),
        proposals=counts.proposals,
        evaluations=counts.counted,
        best_score=reader.score(champion.candidate) if champion else None,
        baseline_score=reader.score(base) if base else None,
        home=str(home),
    )


def evaluations(reader: Reader, candidate: Candidate | None = None, limit: int | None = None) -> Evaluations:
    """The runs of the evaluator.

    Args:
        reader: The journal.
        candidate: Only this candidate's.
        limit: Only so many, the last ones.
    """
    rows = reader.last_evaluations(limit, candidate.id if candidate else None)
    total = reader.evaluations_of(candidate.id) if candidate else reader.counts().evaluations
    rebased = reader.rebased()
    runs = [_run(row, rebased.get(row.candidate)) for row in rows]
    return Evaluations(evaluations=runs, total=total, staleness=_staleness(reader))


_RUN = tuple(field.name for field in fields(Run) if field.name != "rebased_from")


def _run(row: Evaluation, rebased_from: str | None) -> Run:
    facts = {name: getattr(row, name) for name in _RUN}
    return Run(**facts, rebased_from=rebased_from)
