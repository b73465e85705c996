"""What an executor promises: seats, each of which judges one candidate at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from evaluators.contract import Outcome, Request
from evaluators.spec import EvaluatorSpec


class NoRoom(Exception):
    """A seat lost its place and there is no other one now; the message says why. Nothing was judged."""


class Seat(Protocol):
    """Judges candidates one after the other, and keeps what makes the next one quick."""

    async def judge(
        self,
        tree: str,
        request: Request,
        timeout: float | None = None,
        begun: Callable[[], None] | None = None,
    ) -> Outcome:
        """Judge a tree in a clean checkout, in which the holdout is only where the request is for it.

        Cancelling ends all that the evaluation has started before the cancellation goes on.

        Args:
            tree: Tree or commit of the campaign's store.
            request: What the evaluator is asked.
            timeout: Time limit in seconds, where it is not the evaluator's own.
            begun: Called when the evaluator is about to start.

        Raises:
            EvaluatorError: The evaluator cannot be started.
            NoRoom: There is no place to judge at.
        """

    async def aclose(self) -> None:
        """End all that it started, and leave nothing behind."""


class Executor(Protocol):
    """Gives out seats.

    Attributes:
        told: Where evaluations run, in a few words.
        processors: How many there are to judge with.
    """

    told: str
    processors: int

    def seat(self, number: int, spec: EvaluatorSpec) -> Seat:
        """A seat of its own for the number; it starts what it needs when it is first asked to judge."""

    async def room(self) -> bool:
        """Whether there is room for another seat just now."""
