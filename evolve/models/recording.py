"""Answers that a journal holds already: those of a killed run, and those of a recorded campaign.

A killed run may have been answered, and have paid, before its proposal was recorded. When the proposal is
made again, its question may not be quite the same: what was tried from its parent has grown meanwhile. The
answer still is one to that parent, so an `edit` takes it; anything else, such as a repair onto whatever
leads now, only if the question is the same to the letter. A recorded campaign that runs again takes nothing
but the same questions, for anything else would be another campaign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from archives.reader import Reader
from archives.records import Call


@dataclass(frozen=True, slots=True)
class Recording:
    """What one journal holds.

    Attributes:
        reader: The journal.
        last: Last proposal it may hold something of.
        whole: Whether it is a recorded campaign, in which each question must be found; failures are then
            answers too.
    """

    reader: Reader
    last: int
    whole: bool = False

    def find(self, number: int, attempt: int, operator: str, stage: str, prompt: str) -> tuple[Call, ...]:
        """The calls that settle a question, the decisive one last; empty if it is not settled.

        Args:
            number: Number of the proposal.
            attempt: Which question of the proposal.
            operator: Who asks.
            stage: Stage it asks in.
            prompt: Id of the prompt.
        """
        if number > self.last:
            return ()
        calls = [
            call
            for call in self.reader.calls(proposal=number)
            if (call.attempt, call.operator, call.stage) == (attempt, operator, stage)
        ]
        same = [call for call in calls if call.prompt == prompt]
        if self.whole:
            return tuple(call for call in same if call.state != "started")
        return _usable(same) or (_usable(calls) if stage == "propose" else ())


def _usable(calls: Sequence[Call]) -> tuple[Call, ...]:
    answered = [call for call in calls if call.state in ("answered", "repeated") and not call.error]
    return tuple(answered[-1:])
