"""Sums that the journal is asked for: how much there is, how stale work fared, what calls cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from archives.records import CallState


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a campaign holds.

    Attributes:
        proposals: Proposals of every state.
        candidates: Candidates, the base included.
        evaluations: Evaluations of every kind.
        counted: Evaluations that count against the budget.
        verdicts: Evaluations by verdict.
        outcomes: Proposals by outcome, those without one left out.
        states: Proposals by state.
        last_proposal: Highest number of a proposal; 0 without one.
        last_candidate: Highest number of a candidate; -1 without one, for the base is 0.
        last_evaluation: Highest id of an evaluation; 0 without one.
        last_decision: Highest id of a decision; 0 without one.
        last_champion: Highest version of the champion; -1 without one, for the base is 0.
        last_call: Highest id of a call; 0 without one.
        last_lesson: Highest id of a lesson; 0 without one.
        last_event: Highest id of an event; 0 without one.
    """

    proposals: int
    candidates: int
    evaluations: int
    counted: int
    verdicts: Mapping[str, int]
    outcomes: Mapping[str, int]
    states: Mapping[str, int]
    last_proposal: int
    last_candidate: int
    last_evaluation: int
    last_decision: int
    last_champion: int
    last_call: int
    last_lesson: int
    last_event: int


@dataclass(frozen=True, slots=True)
class Stale:
    """How proposals fared that were treated alike because their basis had moved.

    Attributes:
        proposals: How many there were.
        improved: Those of them that were better than the parent of their candidate.
        promoted: Those of them whose candidate became champion.
        gain: Sum of what those that improved won on the parent of their candidate; 0 without one.
    """

    proposals: int
    improved: int
    promoted: int
    gain: float


@dataclass(frozen=True, slots=True)
class Replies:
    """What became of the replies that models gave to proposals which have ended.

    Attributes:
        replies: How many replies there were.
        proposals: Proposals they were given for.
        usable: Of these, those whose reply changed the parent.
        new: Of these, those that led to a new candidate.
    """

    replies: int
    proposals: int
    usable: int
    new: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What calls of one kind took together.

    Attributes:
        model: Model that was asked.
        operator: Operator that asked.
        stage: Stage it asked in.
        state: What became of the calls.
        calls: How many there were.
        prompt_tokens: Tokens of their prompts.
        completion_tokens: Tokens of their replies.
        cached_tokens: Prompt tokens that providers had in their cache.
        usd: US dollars of those whose price is known.
        unpriced: How many have no known price.
        seconds: Time they took, one after the other.
        slowest: Time the slowest took.
    """

    model: str
    operator: str
    stage: str
    state: CallState
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    usd: float
    unpriced: int
    seconds: float
    slowest: float
