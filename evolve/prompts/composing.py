"""A prompt from its templates, within a number of tokens that is computed, not guessed.

What there is room for is given out in the order in which it matters: the task with its own material, the
verdict, the files this line of candidates works on, what was tried, lessons, the other editable files, other
candidates, the map. Each has a most, so that none crowds out the others, and the last get what is left: a
prompt that has to become shorter loses the map first, the files this line works on last. It is printed in
another order: what stays the same between calls comes first, so that providers which keep the beginnings of
prompts need not read (and bill) them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from evolve.operators.base import Order, Refused, Source
from evolve.prompts import quoted
from evolve.prompts.context import (
    inspirations_section,
    lessons_section,
    tried_section,
    verdict_section,
)
from evolve.prompts.files import (
    Selection,
    Texts,
    files_section,
    left_out_section,
    parts_section,
)
from evolve.prompts.map import map_section
from evolve.prompts.outline import Outlines
from evolve.prompts.templates import Templates

Estimate = Callable[[str], int]
Message = Mapping[str, str]
Task = Callable[[int], Mapping[str, str]]
"""Values of a task's own placeholders, given the tokens they may take."""

TASK, VERDICT, TRIED, LESSONS, OTHERS = 0.35, 0.15, 0.06, 0.06, 0.12
"""Shares of the room: most for the task's own material, verdict, attempts, lessons, and each of inspirations
and map."""
EXCERPT = 0.1
"""Share of the room that has to be left for a part of a file that does not fit."""
LARGEST_MAP = 3_000
BRIEF = 12_000
"""Tokens of a task without files."""
LARGEST_INSPIRATIONS = 6_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that is ready to be sent.

    Attributes:
        messages: The turns.
        version: Version of the templates it was made with.
        parts: Files that it shows in part, so that they cannot be given back whole.
        tokens: Its size, as estimated.
    """

    messages: tuple[Message, ...]
    version: str
    parts: frozenset[str]
    tokens: int


class Composer:
    """Makes the prompts of one campaign.

    Args:
        templates: Their texts.
        estimate: Tokens of a text.
        objective: Name of the objective.
        direction: Which way is better.
    """

    def __init__(
        self,
        templates: Templates,
        estimate: Estimate,
        *,
        objective: str = "score",
        direction: str = "maximize",
    ) -> None:
        self.templates = templates
        self.estimate = estimate
        self.objective = objective
        self.direction = direction
        self._texts = Texts(estimate)
        self._outlines = Outlines()

    def compose(
        self,
        operator: str,
        order: Order,
        source: Source,
        task: Task,
        *,
        room: int,
        inspire: bool = True,
    ) -> Prompt:
        """The prompt of one proposal.

        Args:
            operator: Whose template the task is.
            order: The proposal.
            source: What may be looked at.
            task: Values of the template's own placeholders.
            room: Most tokens.
            inspire: Whether other candidates are shown.

        Raises:
            Refused: Not even a part of an editable file fits.
        """
        estimate = self.estimate
        system = self.templates.render("system")
        words = self.templates.render(
            operator, objective=self.objective, direction=self.direction, **task(int(room * TASK))
        )
        goal = self._goal(order)
        left = room - sum(map(estimate, (system, words, goal, self.templates.texts["context"]))) - 60
        sections = dict.fromkeys(("map", "lessons", "inspirations", "parts"), "")

        verdict = verdict_section(order, self.objective, self.direction, estimate, int(room * VERDICT))
        left -= estimate(verdict)
        entries = source.store.files(order.parent.id)
        selection = Selection(order, source, entries, self._texts)
        left -= selection.take(selection.core, left)
        tried = tried_section(order, estimate, min(int(room * TRIED), left))
        sections["lessons"] = lessons_section(order, estimate, min(int(room * LESSONS), left))
        left -= estimate(tried) + estimate(sections["lessons"])
        left -= selection.take(selection.others, left - (int(room * OTHERS) if selection.files.whole else 0))
        if not selection.files.whole or left > room * (OTHERS + EXCERPT):
            left -= selection.excerpt(order.feedback, estimate, left - int(room * OTHERS / 2) - 60)
        files = selection.files
        if not files.whole and not files.parts:
            raise Refused(f"no editable file is a text that fits into a prompt of {room} tokens")
        left_out = left_out_section(files)
        left -= estimate(left_out)
        if inspire:
            size = min(int(room * OTHERS), LARGEST_INSPIRATIONS, left)
            sections["inspirations"] = inspirations_section(order, source, estimate, size)
            left -= estimate(sections["inspirations"])
        shown = {each.path for each in files.whole}
        size = min(int(room * OTHERS), LARGEST_MAP, left)
        sections["map"] = map_section(order, source, entries, shown, self._outlines, estimate, size)
        sections["parts"] = parts_section(files)
        changed = {path for candidate in (order.parent, *order.lineage) for path in candidate.changed}
        user = self.templates.render(
            "context",
            goal=goal,
            files=files_section(files, changed),
            left_out=left_out,
            verdict=verdict,
            tried=tried,
            task=words,
            **sections,
        )
        return self.prompt(operator, [_said("system", system), _said("user", user)], files.parts)

    def brief(self, operator: str, order: Order, source: Source, globs: Sequence[str]) -> Prompt:
        """The task of somebody who works in a checkout and needs to be shown no files."""
        estimate, room = self.estimate, BRIEF
        text = self.templates.render(
            operator,
            goal=self._goal(order),
            verdict=verdict_section(order, self.objective, self.direction, estimate, room // 2),
            lessons=lessons_section(order, estimate, room // 8),
            tried=tried_section(order, estimate, room // 8),
            inspirations=inspirations_section(order, source, estimate, room // 2),
            globs=quoted("\n".join(globs), "globs"),
            objective=self.objective,
            direction=self.direction,
        )
        return self.prompt(operator, [_said("user", text)])

    def _goal(self, order: Order) -> str:
        return order.goal.strip() or f'improve the objective "{self.objective}"'

    def prompt(self, operator: str, messages: Sequence[Message], parts: Sequence[object] = ()) -> Prompt:
        """A prompt of these messages."""
        tokens = sum(self.estimate(message["content"]) for message in messages)
        paths = frozenset(str(getattr(part, "path", part)) for part in parts)
        return Prompt(tuple(messages), self.templates.version(operator), paths, tokens)


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}
