"""What can go wrong with a model.

    ModelError
    ├── CallFailed          one call came to nothing; the campaign goes on
    │   └── ContextOverflow     the prompt is too long for the model
    ├── BudgetSpent         no further call fits into the budget
    └── NoModelAnswers      there is no use in going on
        ├── MissingKey          a key is not in the environment
        └── NotRecorded         a recording lacks the reply

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


class ContextOverflow(CallFailed):
    """The prompt is too long for the model; ask again with a shorter one.

    `size` is the number of tokens that prompt and reply may have together, where the model said it.
    """

    def __init__(self, reason: str, calls: tuple[Call, ...] = (), size: int | None = None) -> None:
        super().__init__(reason, calls)
        self.size = size


class BudgetSpent(ModelError):
    """The most that one more call may cost does not fit into the budget; it was not made."""


class NoModelAnswers(ModelError):
    """No model of the pool answers any more: the campaign should end with this reason."""

    def __init__(self, reason: str, calls: tuple[Call, ...] = ()) -> None:
        super().__init__(reason)
        self.calls = calls


class MissingKey(NoModelAnswers):
    """A model needs a key that is not in the environment."""


class NotRecorded(NoModelAnswers):
    """A campaign that runs from a recording asked something that the recording has no reply to."""


FaultKind = Literal["answer", "overflow", "rate", "server", "timeout", "connection"]


@dataclass(eq=False)
class Fault(Exception):
    """One failed attempt.

    Attributes:
        reason: What happened, in one line.
        kind: "answer" for a final no or an unusable answer, which is not asked for again; "overflow" for a
            prompt that is too long; "rate" for too many
            requests; "server" for its trouble; "timeout"; "connection" if it could not be made or broke.
        wait: Seconds that the server asked us to wait.
        prompt_tokens: Tokens that were billed all the same.
        completion_tokens: Likewise.
        usd: Likewise.
        reply: Text that came with it, if any.
        lost: Whether it may have been billed although nobody says so: its end was not seen.
        size: Context size that the model named.
    """

    reason: str
    kind: FaultKind = "answer"
    wait: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    reply: str = ""
    lost: bool = False
    size: int | None = None

    def __str__(self) -> str:
        return self.reason
