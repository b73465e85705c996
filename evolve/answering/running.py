"""Questions about a campaign that goes on: what was spent, what has happened, how it looks now."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from archives.reader import Reader
from archives.records import Evaluation, Event
from evolve.answering.campaigns import limits, spent_so_far, stages, state
from evolve.answers import Happening, Limit, Logs, Spending, Stage, State

FAILURES = 5
"""Failed evaluations that a glance shows."""
_LOOK_BACK = 500


def spending(reader: Reader, home: Path, pid: int | None, said: str = "") -> Spending:
    """The limits and what is spent.

    Args:
        reader: The journal.
        home: Folder of the campaign.
        pid: Process of the living orchestrator, if there is one.
        said: What was just done, in one line.
    """
    with reader.snapshot():
        return Spending(
            campaign=reader.setting("campaign", home.name),
            budget=limits(reader, spent_so_far(reader, reader.counts())),
            added=reader.setting("budget_added", {}),
            state=state(reader, pid),
            text=said,
        )


def logs(reader: Reader, limit: int | None = None) -> Logs:
    """What has happened; only the last `limit` things, if given."""
    after = 0 if limit is None else max(0, reader.counts().last_event - limit)
    return Logs(events=[happening(event) for event in reader.events(after)])


def happening(event: Event) -> Happening:
    """An event as an answer shows it."""
    return Happening(id=event.id, time=event.time, kind=event.kind, text=event.text, data=dict(event.data))


@dataclass(frozen=True, slots=True)
class Glance:
    """A running campaign at one moment.

    Attributes:
        stages: What waits, is busy and could be busy, by stage.
        curve: Score of the champion, from the base on, by the proposal that made it.
        failures: The last evaluations that were not judged, the newest last.
    """

    campaign: str
    state: State
    reason: str
    pid: int | None
    proposals: int
    evaluations: int
    in_flight: int
    budget: Mapping[str, Limit]
    stages: Mapping[str, Stage]
    curve: tuple[tuple[int, float], ...]
    failures: tuple[Evaluation, ...]

    @property
    def baseline(self) -> float | None:
        """Score of the base."""
        return self.curve[0][1] if self.curve else None

    @property
    def best(self) -> float | None:
        """Score of the champion."""
        return self.curve[-1][1] if self.curve else None


class Watching:
    """Looks at a campaign again and again; each look costs only what is new since the last."""

    def __init__(self, reader: Reader, home: Path) -> None:
        self._reader = reader
        self._home = home
        self._seen = max(0, reader.counts().last_evaluation - _LOOK_BACK)
        self._failures: deque[Evaluation] = deque(maxlen=FAILURES)
        self._curve: dict[str, tuple[int, float]] = {}

    def look(self, pid: int | None) -> Glance:
        """Look once.

        Args:
            pid: Process of the living orchestrator, asked for before this call.
        """
        reader = self._reader
        with reader.snapshot():
            counts, gauges = reader.counts(), reader.setting("gauges") or {}
            self._take_failures()
            spent = spent_so_far(reader, counts)
            spent["wall"] = max(spent.get("wall", 0.0), gauges.get("wall", 0.0))
            return Glance(
                campaign=reader.setting("campaign", self._home.name),
                state=state(reader, pid),
                reason=reader.setting("reason") or "",
                pid=pid,
                proposals=counts.proposals,
                evaluations=counts.counted,
                in_flight=gauges.get("in_flight", 0) if pid is not None else 0,
                budget=limits(reader, spent),
                stages=stages(gauges, pid),
                curve=self._take_curve(),
                failures=tuple(self._failures),
            )

    def _take_failures(self) -> None:
        for evaluation in self._reader.evaluations_after(self._seen):
            self._seen = evaluation.id
            if evaluation.whole and evaluation.verdict not in ("judged", "cancelled"):
                self._failures.append(evaluation)

    def _take_curve(self) -> tuple[tuple[int, float], ...]:
        champions = [champion.candidate for champion in self._reader.champions()]
        for place, id in enumerate(champions):
            if id not in self._curve or place == len(champions) - 1:
                rows = self._reader.evaluations(id, split="search")
                scores = [row.score for row in rows if row.score is not None]
                candidate = self._reader.candidate(id)
                if scores and candidate is not None:
                    self._curve[id] = candidate.proposal, sum(scores) / len(scores)
        return tuple(self._curve[id] for id in champions if id in self._curve)
