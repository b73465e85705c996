"""What can go wrong with a model.

    ModelError
    ├── CallFailed          one call came to nothing; the campaign goes on
    └── NoModelAnswers      there is no use in going on
        └── MissingKey      a key is not in the environment

`Fault` is what a client reports of one attempt; it never leaves this package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from archives.errors import ModelError
from archives.records import Call


class CallFailed(ModelError):
    """One call came to nothing, after all the attempts it was worth; `calls` holds each of them."""

    def __init__(self, reason: str, calls: tuple[Call, ...] = ()) -> None:
        super().__init__(reason)
        self.calls = calls


class NoModelAnswers(ModelError):
    """No model of the pool answers any more: the campaign should end with this reason."""

    def __init__(self, reason: str, calls: tuple[Call, ...] = ()) -> None:
        super().__init__(reason)
        self.calls = calls


class MissingKey(NoModelAnswers):
    """A model needs a key that is not in the environment."""


FaultKind = Literal["answer", "rate", "server", "timeout", "connection"]


@dataclass(eq=False)
class Fault(Exception):
    """One failed attempt.

    Attributes:
        reason: What happened, in one line.
        kind: "answer" for a final no or an unusable answer, which is not asked for again; "rate" for too many
            requests; "server" for its trouble; "timeout"; "connection" if it could not be made or broke.
        wait: Seconds that the server asked us to wait.
        prompt_tokens: Tokens that were billed all the same.
        completion_tokens: Likewise.
        usd: Likewise.
        reply: Text that came with it, if any.
    """

    reason: str
    kind: FaultKind = "answer"
    wait: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    reply: str = ""

    def __str__(self) -> str:
        return self.reason
