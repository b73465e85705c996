"""Edits by a language model.

The model sees the goal, the editable files, and what the evaluator said about the parent; it answers
with blocks, a diff or whole files. An answer that cannot be applied goes back once, with the reason and
the text that failed; after that the proposal fails, and nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

import trio

from evolve.models.errors import CallFailed
from evolve.operators.base import Draft, Order, Refused, Source, Stateless
from evolve.operators.replies import ReplyError, apply, parse
from evolve.prompts import quoted, render
from evolve.prompts.context import (
    editable_files,
    files_section,
    inspirations_section,
    left_out_section,
    verdict_section,
)
from evolve.quoting import one_line, plain, shorten

if TYPE_CHECKING:
    from evolve.models.gateway import Reply

Message = Mapping[str, str]
TITLE = 72
LONGEST_QUOTE = 4_000
LONGEST_REPLY = 40_000


class Models(Protocol):
    """Where the operator asks; `evolve.models.Gateway` is one."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        number: int,
        attempt: int,
        operator: str = "",
        stage: str = "propose",
        template: str = "",
    ) -> Reply:
        """Ask a model once."""
        ...


class Edit(Stateless):
    """Asks a model for a change of the parent.

    Args:
        models: Where to ask.
        objective: Name of the objective, for the prompt.
        direction: Which way is better.
        size: Characters that files, feedback and inspirations may take in the prompt together.
    """

    name = "edit"
    stage = "propose"
    is_async = True
    needs: Literal["parent", "partner", "nothing"] = "parent"

    def __init__(
        self, models: Models, *, objective: str = "score", direction: str = "maximize", size: int = 120_000
    ) -> None:
        self._models = models
        self._objective = objective
        self._direction = direction
        self._size = size

    def handles(self, paths: Sequence[str]) -> bool:
        """It can work on any file."""
        return bool(paths)

    def propose(self, order: Order, source: Source) -> Draft:
        """Not for this operator, which waits for a model."""
        raise NotImplementedError("edit is asynchronous: await propose_async")

    async def propose_async(self, order: Order, source: Source) -> Draft:
        """Make one change.

        Raises:
            Refused: The call failed, or its answer could not be applied, twice.
            NoModelAnswers: There is no use in asking again.
            BudgetSpent: No further call fits into the budget.
        """
        return await self._converse(await trio.to_thread.run_sync(self._prompt, order, source), order, source)

    async def _converse(self, messages: Sequence[Message], order: Order, source: Source) -> Draft:
        """Ask, and once more with what was wrong about the answer."""
        for attempt in (0, 1):
            reply = await self._ask(messages, order.number, attempt)
            try:
                return await trio.to_thread.run_sync(_draft, reply, order, source)
            except ReplyError as error:
                reason = str(error)
                messages = [*messages, *_sent_back(reply, error)]
        raise Refused(f"{reply.model} gave no usable edit: {reason}")

    async def _ask(self, messages: Sequence[Message], number: int, attempt: int) -> Reply:
        try:
            return await self._models.complete(
                messages, number=number, attempt=attempt, operator=self.name, stage=self.stage
            )
        except CallFailed as error:
            raise Refused(str(error)) from error

    def _prompt(self, order: Order, source: Source) -> list[Message]:
        task = self._task(order, source, self._size * 2 // 3)
        inspirations = inspirations_section(order.inspirations, order, source, self._size // 6)
        return conversation(render("edit.user", inspirations=inspirations, **task))

    def _task(self, order: Order, source: Source, size: int) -> dict[str, str]:
        """What a prompt says of the task; `size` is the most characters that files take."""
        files = editable_files(order, source, size)
        if not files.shown:
            raise Refused("no editable file is a text that fits into a prompt")
        return {
            "goal": order.goal.strip() or f'improve the objective "{self._objective}"',
            "files": files_section(files),
            "left_out": left_out_section(files),
            "verdict": verdict_section(order, self._objective, self._direction, self._size // 6),
            "direction": self._direction,
            "objective": self._objective,
        }


def conversation(user: str) -> list[Message]:
    """The opening of a conversation in which a model is asked for a change."""
    return [{"role": "system", "content": render("edit.system")}, {"role": "user", "content": user}]


def _draft(reply: Reply, order: Order, source: Source) -> Draft:
    known = {entry.path for entry in source.store.files(order.parent.id)}
    parsed = parse(reply.text, finish_reason=reply.finish_reason, known=known)
    changes = apply(parsed.edits, source, order.parent.id)
    return Draft(
        changes=changes,
        summary=_title(parsed.prose) or one_line(f"edit {', '.join(changes)}", TITLE),
        rationale=shorten(plain(parsed.prose).strip(), LONGEST_QUOTE),
        model=reply.model,
    )


def _title(prose: str) -> str:
    """The first sentence of what the model said, as one line."""
    paragraph = next((part for part in plain(prose).split("\n\n") if part.strip()), "")
    sentence = re.split(r"(?<=[.!?])\s", " ".join(paragraph.split()), maxsplit=1)[0]
    return one_line(sentence.lstrip("#*- ").rstrip("."), TITLE)


def _sent_back(reply: Reply, error: ReplyError) -> list[Message]:
    problems = []
    for problem in error.problems[:10]:
        text = "\n".join(filter(None, [str(problem), shorten(problem.text, LONGEST_QUOTE)]))
        problems.append(quoted(text, "what could not be applied"))
    again = render("edit.again", problems="\n\n".join(problems))
    said = shorten(reply.text, LONGEST_REPLY).strip() or "(an empty answer)"
    return [{"role": "assistant", "content": said}, {"role": "user", "content": again}]
