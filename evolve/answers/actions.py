"""Answers of the commands that do something."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from archives.records import Verdict
from evolve.answers.base import Answer, Part, State
from evolve.answers.campaigns import Limit


class Export(Answer):
    """`evolve export`: what was written."""

    candidate: str
    """Candidate that was exported."""
    commit: str
    """Its commit."""
    branch: str | None
    """Branch that was written."""
    patch: str | None
    """File that was written."""


class Removed(Answer):
    """`evolve remove`: what was deleted."""

    campaign: str
    """Name of the campaign."""
    home: str
    """Folder that is gone."""


class Steered(Answer):
    """`evolve stop`, `pause`: what became of the request."""

    campaign: str
    """Name of the campaign."""
    done: bool
    """Whether it was done."""
    text: str
    """What was done, or why not, in one line."""
    state: State
    """State of the campaign afterwards."""
    pid: int | None
    """Process of the living orchestrator (0: not known)."""


class Proposed(Steered):
    """`evolve propose`: what became of something handed in."""

    proposal: int | None
    """Number of the proposal; null where it was not taken."""
    outcome: str | None
    """What came of it, once it is done (see `--wait`): candidate, duplicate, unchanged, failed, rejected."""
    reason: str | None
    """Why it led nowhere, in one line."""
    candidate: str | None
    """Candidate it led to."""
    score: float | None
    """Its objective, if it was judged."""


class Spending(Answer):
    """`evolve budget`: the limits and what is spent."""

    campaign: str
    """Name of the campaign."""
    budget: dict[str, Limit]
    """Limits by name, additions included: proposals, evaluations, wall (seconds), tokens, usd."""
    added: dict[str, float]
    """What was added to the limits of evolve.toml so far."""
    state: State
    """State of the campaign."""
    text: str
    """What was done, in one line; empty where nothing was asked for."""


class Waited(Answer):
    """`evolve wait`: where the campaign stands after the wait."""

    campaign: str
    """Name of the campaign."""
    state: State
    """Its state; running or paused where the time was up first."""
    reason: str
    """Why it is in that state."""
    failed: bool
    """Whether it ended because something is wrong, or died."""
    over: bool
    """Whether no orchestrator lives."""


class Happening(Part):
    """One thing that happened."""

    id: int
    """Its number, growing."""
    time: float
    """When, in seconds since 1970."""
    kind: str
    """What kind of thing."""
    text: str
    """What happened, in one line."""
    data: dict[str, Any]
    """More of it."""


class Logs(Answer):
    """`evolve logs`: what has happened, in order."""

    events: list[Happening]
    """The events."""


class Started(Answer):
    """`evolve init`: what was written."""

    path: str
    """The configuration."""
    evaluator: str | None
    """Evaluator skeleton that was written beside it."""
    chosen: dict[str, str]
    """What was chosen, by key."""
    notes: list[str]
    """What to look at before the first run."""


class SandboxFacts(Part):
    """The walls around an evaluation."""

    tier: str
    """Kind of isolation."""
    walls: list[str]
    """What holds."""
    missing: list[str]
    """What does not hold here."""
    isolated: bool
    """Whether the evaluator runs the candidate's code behind a second wall, and none in its own process."""
    inside: list[str]
    """Files that a candidate may change and that ran in the evaluator's own process."""


class Remark(Part):
    """Something found out about the repository or the machine."""

    kind: str
    """What it is about."""
    text: str
    """What is so, and what to do."""


class ModelAnswer(Part):
    """What a model said to one tiny request."""

    model: str
    """Its name."""
    where: str
    """Where requests to it go."""
    ok: bool
    """Whether it answered."""
    reason: str | None = None
    """Why not, in one line."""
    seconds: float | None = None
    """From request to answer."""
    tokens: int | None = None
    """Tokens that the request took."""
    usd: float | None = None
    """Dollars that it took; None where the price is not known."""
    price_in: float | None = None
    """Dollars per million prompt tokens; None where not known."""
    price_out: float | None = None
    """Dollars per million reply tokens; None where not known."""
    context: int | None = None
    """Tokens that prompt and reply may have together; None where not known."""


class Check(Answer):
    """`evolve check`: what the evaluator says of the base, and what a run will do."""

    verdict: Verdict
    """What came of judging the base."""
    score: float | None
    """Mean score of the base."""
    runs: int
    """How often it was judged."""
    noise: float | None
    """Standard deviation from run to run; None with fewer than two judged runs."""
    seconds: float
    """Mean wall time of a run."""
    executor: str
    """Where evaluations run, in words; with a Ray cluster, how many nodes and processors it has."""
    sandbox: SandboxFacts
    """The walls in force."""
    operators: list[str]
    """Operators that will run."""
    reason: str | None = None
    """Why the base was not judged."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Operators that will not run, and why."""
    findings: list[Remark] = field(default_factory=list)
    """What may break in this repository."""
    sends: list[str] = field(default_factory=list)
    """What would be sent to a model provider, and to which; empty: nothing."""
    secrets: list[str] = field(default_factory=list)
    """What looks like a secret in it, and what to do about it; a run refuses to begin with one."""
    models: list[ModelAnswer] = field(default_factory=list)
    """With `--models`, what each model said to one tiny request."""
    estimate: dict[str, float] = field(default_factory=dict)
    """What the campaign will cost: evaluations, seconds; calls of models, their tokens and usd."""


class Doctor(Answer):
    """`evolve doctor`: what on this machine or in this repository is in the way."""

    ok: bool
    """Whether nothing is."""
    findings: list[Remark]
    """What was found."""
    executor: str
    """Where evaluations run, in words."""
