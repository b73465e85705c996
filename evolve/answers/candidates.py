"""Answers about one candidate."""

from __future__ import annotations

from typing import Any

from archives.records import Outcome, Treatment, Verdict
from evolve.answers.base import Answer, Measure, Part, Ranked


class Case(Part):
    """Score of one case."""

    score: float
    """Mean over the candidate's evaluations."""
    feedback: str | None
    """What the evaluator said about it last."""


class Judgement(Part):
    """What was decided about a challenger."""

    decision: int
    """Number of the decision."""
    challenger: str
    """Candidate that asked."""
    champion: str
    """Champion it was compared with."""
    proposal: int
    """Proposal that made the challenger."""
    promoted: bool
    """Whether it became champion."""
    rule: str
    """Rule that decided."""
    reason: str
    """The decision in one line."""
    numbers: dict[str, Any]
    """The numbers behind it."""


class Attempt(Part):
    """A proposal that led to a candidate."""

    proposal: int
    """Number of the proposal."""
    operator: str
    """Operator that made it."""
    parent: str
    """Candidate it started from."""
    partner: str | None
    """Second parent of a crossover."""
    policy: str
    """Policy that chose the parent."""
    outcome: Outcome | None
    """What came of it."""
    gain: float | None
    """Change of the objective against the parent; positive is better, whatever the direction."""
    model: str | None
    """Model that wrote it."""
    summary: str
    """What was changed, in one line."""
    rationale: str
    """Why, in more words."""
    prompt: str | None
    """Version of the prompts it was made with; see `evolve prompts`."""
    stale: Treatment | None
    """What was done because its basis had moved; None if it had not."""


class Show(Answer):
    """`evolve show`: one candidate."""

    candidate: str
    """Id of the candidate (hash of its tree)."""
    commit: str
    """Its commit in the campaign's store."""
    parents: list[str]
    """Candidates it was made from; none for the base, two for a crossover."""
    inspirations: list[str]
    """Candidates whose ideas were shown to its makers."""
    rebased_from: str | None
    """Where its change was carried over from; None if it stands on its own parent."""
    operator: str
    """Operator that made it first; "base" for the base."""
    score: float | None
    """Mean score over its search evaluations; None unless judged."""
    metrics: dict[str, float]
    """Further numbers of its last judged evaluation."""
    cases: dict[str, Case]
    """Scores by case; cases of the holdout are never shown."""
    feedback: str
    """Feedback of its last evaluation."""
    verdict: Verdict | None
    """What came of judging it; None while it waits."""
    measures: dict[str, Measure]
    """Measures, built in and reported."""
    cell: list[int | str] | None
    """Its cell of the archive; None if it is not held there."""
    evidence: list[Judgement]
    """Every decision on whether it becomes champion, the last one last."""
    number: int
    """Order of creation; the base is 0."""
    summary: str
    """What was changed, in one line."""
    reason: str | None
    """Why it was not judged, in one line."""
    champion: bool
    """Whether it is the champion now."""
    evaluations: int
    """How often it was evaluated."""
    baseline_score: float | None
    """Score of the base."""
    highest: Ranked | None
    """The candidate with the best raw score of the campaign."""
    changed: list[str]
    """Paths that differ from the first parent."""
    proposals: list[Attempt]
    """Every proposal that led to it."""
    artifacts: dict[str, str]
    """Evidence the evaluator handed over with its last evaluation, by name."""


class Best(Show):
    """`evolve best`: the champion."""


class Diff(Answer):
    """`evolve diff`: what differs between two candidates."""

    old: str
    """Candidate on the left."""
    new: str
    """Candidate on the right."""
    changed: list[str]
    """Paths that differ."""
    diff: str
    """Unified diff in Git's format."""
