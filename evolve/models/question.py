"""What is asked, and the record of each time that it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from archives.records import Call
from evolve.models.errors import Fault
from evolve.models.member import Member
from evolve.models.tokens import of_messages


@dataclass(frozen=True, slots=True)
class Question:
    """A conversation that wants its next message.

    Attributes:
        messages: The conversation.
        number: Number of the proposal.
        attempt: Which question of the proposal it is, from 0.
        operator: Who asks.
        stage: Stage it asks in.
        template: Template of the prompt, with its version.
        schema: JSON schema that the reply should follow.
        prompt: Hash of the messages.
        estimate: About how many tokens they have.
    """

    messages: Sequence[Mapping[str, str]]
    number: int
    attempt: int
    operator: str
    stage: str
    template: str
    schema: Mapping[str, Any] | None
    prompt: str = field(init=False)
    estimate: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prompt", prompt_key(self.messages))
        object.__setattr__(self, "estimate", of_messages(self.messages))


def prompt_key(messages: Sequence[Mapping[str, str]]) -> str:
    """Content hash of a prompt."""
    text = json.dumps([dict(message) for message in messages], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def named(
    question: Question, member: Member, prompt_tokens: int, completion_tokens: int, usd: float | None
) -> Call:
    """The record of a call that asks a question."""
    return Call(
        id=0,
        proposal=question.number,
        model=member.spec.model,
        operator=question.operator,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        usd=usd,
        prompt=question.prompt,
        attempt=question.attempt,
        stage=question.stage,
        template=question.template,
    )


def failed(call: Call, member: Member, fault: Fault, seconds: float) -> Call:
    """The record of a call that came to nothing: what was billed, or the most that may have been."""
    call = replace(call, error=fault.reason, seconds=seconds, reply=fault.reply)
    if fault.lost:
        return replace(call, state="lost")
    sent, received = fault.prompt_tokens, fault.completion_tokens
    usd = fault.usd if fault.usd is not None else member.facts.cost(sent, received)
    return replace(call, state="failed", prompt_tokens=sent, completion_tokens=received, usd=usd)
