"""The nouns of a campaign, as frozen data.

A *candidate* is one tree of the repository; its identity is the hash of that tree, so equal trees are one
candidate whoever proposes them. A *proposal* is one attempt to make a candidate and is numbered from 1 (0
is the base). A record is written to the journal whole; writing it again under the same key replaces it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Verdict = Literal["judged", "failed", "invalid", "tampered", "could_not_judge", "cancelled"]
Split = Literal["search", "holdout"]
Direction = Literal["maximize", "minimize"]
ProposalState = Literal["open", "made", "done"]
"""open: selected, nothing made yet. made: its candidate is in the store. done: its outcome is known."""
Outcome = Literal["candidate", "duplicate", "unchanged", "failed", "rejected", "dropped"]
"""candidate: it led to a new one. duplicate: to a known one. unchanged: to its own parent. failed: the
operator could not make anything. rejected: it touched what it must not touch. dropped: its basis was too
old."""
FULL = "full"
"""Stage at which a candidate gets its score; every other stage is a cheaper one in front of it."""
PROGRAM = "program"
"""Where the payload of a proposal by a model keeps the fingerprint of the program it led to."""
Treatment = Literal["accepted", "dropped", "updated", "conflicting", "repaired"]
"""What became of a proposal whose basis had moved. accepted: evaluated as it was. dropped: not evaluated.
updated: merged onto what had taken its parent's place. conflicting: could not be, so evaluated as it was.
repaired: a model carried it over."""
Purpose = Literal["search", "baseline", "confirm", "gate"]
"""search: the first look at a candidate. baseline: repeats that measure the noise. confirm: another look at a
would-be champion. gate: paired runs that decide a promotion."""

CallState = Literal["started", "answered", "failed", "lost", "repeated"]
"""started: in flight; its amounts are the most it may cost. answered, failed: its end was seen; its amounts
are what was billed. lost: nobody saw its end (a time-out, a broken connection, a killed program), so that it
may have been billed; its amounts are the most that it can be. repeated: the reply of a recording, given
again; nothing was billed, its amounts are those of the recording."""


LessonState = Literal["active", "pinned", "forgotten"]


@dataclass(frozen=True, slots=True)
class Basis:
    """What a proposal was made from; versions count from 0."""

    champion: int
    archive: int
    lessons: int = 0
    evaluator: int = 1


@dataclass(frozen=True, slots=True)
class Proposal:
    """One attempt to make a candidate.

    Attributes:
        number: Position in the campaign, from 1. Random choices are keyed by it.
        operator: Name of the operator that makes it.
        parent: Candidate it starts from.
        partner: Second parent of a crossover.
        inspirations: Candidates whose ideas may be borrowed.
        policy: Policy that chose the parent.
        basis: Versions that held when it was selected, or last put onto a newer parent.
        state: How far it has come.
        outcome: What came of it, once it is done or made.
        candidate: The candidate it led to.
        reason: Why it led nowhere, in one line.
        summary: One line of what was changed, the commit's subject.
        rationale: Longer text of why, the commit's body.
        payload: The operator's own data (JSON), from which it rebuilds its state.
        model: Model that wrote it, if any.
        gain: Change of the objective against the parent (of its candidate, where it was put onto a newer
            one), positive is better; None if not judged.
        reward: What the operator choice learned from it, in [0, 1]; None while not done.
        admitted: Place in the order of admission, from 1; None while not done. What is learned live is
            rebuilt from the journal in this order.
        stale: What was done because its basis had moved; None where it had not.
        lessons: Lessons that its prompt carried; None where its operator asks no model.
    """

    number: int
    operator: str
    parent: str
    basis: Basis
    policy: str = "qd"
    partner: str | None = None
    inspirations: tuple[str, ...] = ()
    state: ProposalState = "open"
    outcome: Outcome | None = None
    candidate: str | None = None
    reason: str | None = None
    summary: str = ""
    rationale: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    gain: float | None = None
    reward: float | None = None
    admitted: int | None = None
    stale: Treatment | None = None
    lessons: tuple[int, ...] | None = None

    @property
    def program(self) -> str | None:
        """Fingerprint of what a model made, where there is one."""
        return self.payload.get(PROGRAM)


class Admission(NamedTuple):
    """What a closed proposal was worth: what the choices among operators and policies learn from."""

    admitted: int
    number: int
    operator: str
    policy: str
    parent: str
    outcome: Outcome | None
    candidate: str | None
    reward: float | None
    gain: float | None
    model: str | None
    program: str | None
    lessons: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tree of the repository, kept as a commit.

    Attributes:
        id: Hash of the tree (40 hexadecimal digits).
        commit: Hash of its commit in the store.
        number: Order of creation; the base is 0.
        parents: Candidate ids of its Git parents; none for the base, two for a crossover.
        proposal: Number of the proposal that made it first; 0 for the base.
        operator: Operator that made it; "base" for the base.
        summary: One line of what was changed.
        measures: Built-in measures, by name.
        changed: Paths that differ from the first parent.
        rebased_from: Candidate whose change was carried over to the first parent: the one that was judged
            on an older parent, or that older parent itself where the change had no candidate yet.
    """

    id: str
    commit: str
    number: int
    parents: tuple[str, ...]
    proposal: int
    operator: str
    summary: str
    measures: Mapping[str, float | str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    rebased_from: str | None = None


class Stub(NamedTuple):
    """What all of a campaign's candidates are known by; `measures` are the built-in ones."""

    id: str
    parents: tuple[str, ...]
    measures: Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class CaseScore:
    """Score of one case, with the feedback the evaluator gave for it."""

    name: str
    score: float
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One run of the evaluator on one candidate, or what several runs of parts of its cases make together.

    Attributes:
        id: Number of the evaluation, from 1, in the order in which they finished.
        candidate: Candidate that was judged.
        proposal: Proposal that asked for it (0 for the base).
        stage: Stage of the evaluator.
        part: Which part of a stage this run was, from 1; None for a stage as a whole.
        split: Which cases were judged.
        purpose: Why it was run.
        seed: Seed the evaluator was given.
        evaluator: Version of the evaluator.
        verdict: What came of it.
        score: Value of the objective with its own sign; None unless judged.
        metrics: Further finite numbers.
        cases: Scores by case.
        measures: Measures the evaluator reported.
        feedback: Text for the next proposer.
        reason: Why it was not judged, in one line.
        artifacts: Name to text of evidence, already cut to size.
        seconds: Wall time.
        cpu_seconds: Processor time of the whole process tree.
        attempts: How often the evaluator was started: more than 1 only after exit 75; 0 where the record is
            put together from others, whose times it sums up, or an earlier stage made it unnecessary.
        counted: Whether it counts against the budget in evaluations.
    """

    id: int
    candidate: str
    proposal: int
    verdict: Verdict
    stage: str = "full"
    split: Split = "search"
    purpose: Purpose = "search"
    seed: int = 0
    evaluator: int = 1
    score: float | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    cases: tuple[CaseScore, ...] = ()
    measures: Mapping[str, float | str] = field(default_factory=dict)
    feedback: str = ""
    reason: str | None = None
    artifacts: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    attempts: int = 1
    counted: bool = True
    part: int | None = None

    @property
    def whole(self) -> bool:
        """Whether it is the word on a candidate: of the full stage, and of all its cases."""
        return self.stage == FULL and self.part is None


class Look(NamedTuple):
    """What an evaluation in full, for the search, says of its candidate: all that its standing is made of."""

    candidate: str
    verdict: Verdict
    purpose: Purpose
    evaluator: int
    score: float | None
    measures: Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a gate decided about one challenger, with all the evidence it had.

    Attributes:
        id: Number of the decision, from 1.
        challenger: Candidate that asked.
        champion: Champion it was compared with.
        proposal: Proposal that made the challenger.
        promoted: Whether it became champion.
        rule: Rule that decided: "strict", "evalue", or "renewal" where a champion was not borne out.
        reason: The decision in one line.
        evidence: Numbers behind it (JSON).
    """

    id: int
    challenger: str
    champion: str
    proposal: int
    promoted: bool
    rule: str
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Champion:
    """A champion of the campaign; version 0 is the base."""

    version: int
    candidate: str
    decision: int | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model.

    It is written before the request with what it may cost at most, and again after it with what it did; so
    the sum over all calls is never below what was spent, whenever the program dies.

    Attributes:
        id: Number of the call, from 1, in the order in which they began.
        proposal: Proposal it was made for.
        model: Model that was asked.
        operator: Operator that asked.
        prompt_tokens: Tokens of the prompt.
        completion_tokens: Tokens of the reply.
        usd: US dollars; None where the price is not known.
        seconds: From request to reply.
        error: Why there was no usable reply, in one line.
        prompt: Id of the prompt.
        reply: What the model said.
        state: How far it has come, and what its amounts are worth.
        attempt: Which question of the proposal it asked, from 0; the second one says what was wrong with
            the reply to the first.
        stage: Stage of the campaign that asked.
        template: Template the prompt was made from, with its version.
        finish_reason: Why the reply ended, in the provider's words.
        cached_tokens: Tokens of the prompt that the provider had in its cache.
    """

    id: int
    proposal: int
    model: str
    operator: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    error: str | None = None
    prompt: str = ""
    reply: str = ""
    state: CallState = "answered"
    attempt: int = 0
    stage: str = "propose"
    template: str = ""
    finish_reason: str = ""
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model was asked, kept once.

    Attributes:
        id: Hash of the messages ("sha256:…").
        messages: Messages of the conversation, each with its role and its content.
    """

    id: str
    messages: tuple[Mapping[str, str], ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something a reflection concluded, for later prompts.

    Attributes:
        id: Number of the lesson, from 1.
        claim: What it says, in one line.
        scope: What it is about: a file, a function, a kind of change, in one line.
        state: "active" may be carried by a prompt, "pinned" always is, "forgotten" never again.
        model: Model that wrote it.
        made: How many proposals had been admitted when it was written.
        supports: Evaluations that were named for it.
        contradicts: Evaluations that were named against it.
        sources: Proposals whose changes and results the model read when it wrote it.
    """

    id: int
    claim: str
    scope: str
    state: LessonState = "active"
    model: str = ""
    made: int = 0
    supports: tuple[int, ...] = ()
    contradicts: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something a person may want to know of later.

    `id` 0 lets the journal number it, `time` 0 (seconds since 1970) lets it look at the clock.
    """

    kind: str
    text: str
    id: int = 0
    time: float = 0.0
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """A named fact about the campaign (JSON value), such as its state, base commit or configuration."""

    name: str
    value: Any


Record = Proposal | Candidate | Evaluation | Decision | Champion | Call | Prompt | Lesson | Event | Setting
