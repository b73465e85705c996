"""Asking a model for a change: what all operators that do so share.

A model sees a prompt and answers with blocks, a diff or whole files. An answer that cannot be applied goes
back once, with the reason and the text that failed; after that the proposal fails, and nothing is
evaluated. A prompt that a model calls too long is composed anew with less room, which takes away what
matters least, and asked again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from archives.records import Outcome
from evaluators.brief import Brief
from evolve.models.errors import CallFailed, ContextOverflow
from evolve.operators.base import Draft, Needs, Order, Refused, Source, Stateless
from evolve.operators.replies import Parsed, ReplyError, Whole, apply, parse
from evolve.operators.replies.edits import Problem
from evolve.prompts import quoted
from evolve.prompts.composing import Composer, Message, Prompt
from evolve.quoting import one_line, plain, shorten

if TYPE_CHECKING:
    from evolve.models.gateway import Reply

TITLE = 72
LONGEST_QUOTE = 4_000
LONGEST_REPLY = 40_000
USUAL_ROOM = 24_000
"""Tokens of a prompt where nobody says how many a model takes."""
LARGEST_ROOM = 64_000
"""Tokens beyond which prompts do not grow, whatever a model takes: more is read worse, and billed."""
TRIMS = 3
"""How often a prompt that is too long is made shorter."""
SHRINK = 0.6


class Models(Protocol):
    """Where an operator asks; `evolve.models.Gateway` is one."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        number: int,
        attempt: int,
        operator: str = "",
        stage: str = "propose",
        template: str = "",
        schema: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> Reply:
        """Ask a model once."""
        ...

    def prompt_room(self) -> int | None:
        """Tokens that a prompt may have; None where nobody says."""
        ...


class Asking(Stateless):
    """An operator that asks a model; what it asks for is its template and `task`.

    Args:
        models: Where to ask.
        composer: Makes the prompts.
    """

    name = "edit"
    stage = "propose"
    is_async = True
    needs: Needs = "parent"
    inspire = True

    def __init__(self, models: Models, composer: Composer) -> None:
        self._models = models
        self._composer = composer
        self._writing, self._reading = Brief(), Brief()

    def handles(self, paths: Sequence[str]) -> bool:
        """It can work on any file."""
        return bool(paths)

    def propose(self, order: Order, source: Source) -> Draft:
        """Not for this operator, which waits for a model."""
        raise NotImplementedError(f"{self.name} is asynchronous: await propose_async")

    async def propose_async(self, order: Order, source: Source) -> Draft:
        """Make one change.

        Raises:
            Refused: The call failed, or its answer could not be applied, twice.
            NoModelAnswers: There is no use in asking again.
            BudgetSpent: No further call fits into the budget.
        """
        return await self._converse(order, source)

    def task(self, order: Order, source: Source, size: int) -> Mapping[str, str]:
        """Values of the placeholders of its own template, in at most about `size` tokens."""
        return {}

    async def _converse(self, order: Order, source: Source, *more: Any) -> Draft:
        """Ask, and once more with what was wrong about the answer."""
        back: list[Message] = []
        for attempt in (0, 1):
            prompt, reply = await self._ask(order, source, attempt, back, more)
            try:
                return await self._reading.run(_draft, reply, prompt, order, source)
            except ReplyError as error:
                refusal = error
                back = self._sent_back(reply, error)
        raise Refused(
            f"{reply.model} gave no usable {self.name}: {refusal}",
            payload={"prompt": prompt.version},
            outcome=outcome_of(refusal),
            model=reply.model,
        )

    async def _ask(
        self, order: Order, source: Source, attempt: int, back: Sequence[Message], more: Sequence[Any]
    ) -> tuple[Prompt, Reply]:
        """Ask once; a prompt that is too long is made shorter."""
        size = sum(self._composer.estimate(message["content"]) for message in back)
        most = LARGEST_ROOM
        for trim in range(TRIMS + 1):
            room = max(256, min(self._models.prompt_room() or USUAL_ROOM, most))
            room = max(room - size, room // 3)
            prompt = await self._writing.run(self._prompt, order, source, room, more)
            try:
                reply = await self._models.complete(
                    [*prompt.messages, *back],
                    number=order.number,
                    attempt=attempt,
                    operator=self.name,
                    stage=self.stage,
                    template=f"{self.name}@{prompt.version}",
                    model=order.model,
                )
                return prompt, reply
            except CallFailed as error:
                if trim == TRIMS or not isinstance(error, ContextOverflow):
                    asked = error.calls[-1].model if error.calls else None
                    raise Refused(str(error), payload={"prompt": prompt.version}, model=asked) from error
                most = int(prompt.tokens * SHRINK) + size
        raise AssertionError("the last round returns or raises")

    def _prompt(self, order: Order, source: Source, room: int, more: Sequence[Any]) -> Prompt:
        return self._composer.compose(
            self.name,
            order,
            source,
            lambda size: self.task(order, source, size, *more),
            room=room,
            inspire=self.inspire,
        )

    def _sent_back(self, reply: Reply, error: ReplyError) -> list[Message]:
        problems = []
        for problem in error.problems[:10]:
            text = "\n".join(filter(None, [str(problem), shorten(problem.text, LONGEST_QUOTE)]))
            problems.append(quoted(text, "what could not be applied"))
        again = self._composer.templates.render("again", problems="\n\n".join(problems))
        said = shorten(reply.text, LONGEST_REPLY).strip() or "(an empty answer)"
        return [{"role": "assistant", "content": said}, {"role": "user", "content": again}]


def outcome_of(error: ReplyError) -> Outcome:
    """What a proposal counts as whose reply was refused."""
    kinds = {problem.kind for problem in error.problems}
    if "protected" in kinds:
        return "rejected"
    return "unchanged" if kinds == {"nothing"} else "failed"


def read(
    text: str, finish_reason: str, order: Order, source: Source, parts: frozenset[str] = frozenset()
) -> tuple[Parsed, dict[str, bytes | None]]:
    """What a reply changes in the order's parent.

    Args:
        text: The reply.
        finish_reason: Why the model stopped.
        order: The proposal.
        source: What may be changed.
        parts: Files of which the model saw a part only.

    Raises:
        ReplyError: It cannot be used, with every reason.
    """
    known = {entry.path for entry in source.store.files(order.parent.id)}
    parsed = parse(text, finish_reason=finish_reason, known=known)
    blind = [edit.path for edit in parsed.edits if isinstance(edit, Whole) and edit.path in parts]
    if blind:
        reason = "only a part of it was shown: change it by blocks"
        raise ReplyError([Problem(path, reason) for path in blind])
    return parsed, apply(parsed.edits, source, order.parent.id)


def _draft(reply: Reply, prompt: Prompt, order: Order, source: Source) -> Draft:
    parsed, changes = read(reply.text, reply.finish_reason, order, source, prompt.parts)
    return Draft(
        changes=changes,
        summary=title(parsed, changes),
        rationale=shorten(plain(parsed.prose).strip(), LONGEST_QUOTE),
        payload={"prompt": prompt.version},
        model=reply.model,
    )


def title(parsed: Parsed, changes: Mapping[str, bytes | None]) -> str:
    """The first sentence of what the model said, as one line; else the names of the files."""
    paragraph = next((part for part in plain(parsed.prose).split("\n\n") if part.strip()), "")
    sentence = re.split(r"(?<=[.!?])\s", " ".join(paragraph.split()), maxsplit=1)[0]
    said = one_line(sentence.lstrip("#*- ").rstrip("."), TITLE)
    return said or one_line(f"edit {', '.join(changes)}", TITLE)
