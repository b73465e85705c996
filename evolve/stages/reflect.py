"""Reflect: every few admitted changes, a model reads what came of them and writes lessons for later prompts.

It has a queue and a width of its own and holds up nobody. Which changes have been read is journaled with the
lessons, so a run that was killed reads the rest. When a run ends, a reflection under way is waited for,
because it is paid; none is begun.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Literal

import trio

from archives.errors import ModelError
from archives.records import Lesson, Proposal, Setting
from evolve.memory import merged
from evolve.models.errors import CallFailed
from evolve.operators.conversation import Models
from evolve.prompts.templates import Templates
from evolve.quoting import one_line
from evolve.reflection import SCHEMA, Conclusion, Trial, conclusions, known_section, trials_section
from evolve.run import Run

EVERY = 8
"""Changes that one reflection reads."""
READ = "reflected"
"""Setting: place in the order of admission up to which changes have been read."""
NAME = "reflect"


class Reflecting:
    """Reads what was admitted, and writes lessons.

    Args:
        run: The run.
        models: Where to ask.
        templates: The prompts.
    """

    def __init__(self, run: Run, models: Models, templates: Templates) -> None:
        self._run = run
        self._models = models
        self._templates = templates
        self._unread: deque[Proposal] = deque()
        self._woken = trio.Event()
        self._closed = False
        for proposal in run.reader.admitted(after=run.reader.setting(READ, 0)):
            self.take(proposal)

    def take(self, proposal: Proposal) -> None:
        """Queue a change that has been admitted, if there is something to be learned from it."""
        operator = self._run.operator(proposal.operator)
        if proposal.outcome == "candidate" and operator is not None and operator.is_async:
            self._unread.append(proposal)
            self._wake()

    def close(self) -> None:
        """Begin no further reflection."""
        self._closed = True
        self._wake()

    async def work(self) -> None:
        """Reflect whenever enough has come together, until `close` or until no model answers."""
        while not self._closed:
            if len(self._unread) < EVERY or self._run.budget.used_up() is not None:
                await self._woken.wait()
                continue
            batch = [self._unread.popleft() for _ in range(EVERY)]
            try:
                await self._reflect(batch)
            except ModelError as error:
                await self._run.tell(NAME, f"no more lessons are written: {error}")
                return

    def _wake(self) -> None:
        self._woken.set()
        self._woken = trio.Event()

    async def _reflect(self, batch: list[Proposal]) -> None:
        run, last = self._run, batch[-1]
        trials = await self._trials(batch)
        done = Setting(READ, last.admitted)
        if not trials:
            await run.record(done)
            return
        prompt = self._prompt(trials)
        try:
            reply = await self._models.complete(
                [{"role": "user", "content": prompt}],
                number=last.number,
                attempt=0,
                operator=NAME,
                stage=NAME,
                template=f"{NAME}@{self._templates.version(NAME)}",
                schema=SCHEMA,
            )
        except CallFailed as error:
            await run.record(done)
            await run.tell(NAME, f"a reflection came to nothing: {error}")
            return
        seen = {trial.evaluation.id for trial in trials}
        found = conclusions(reply.text, seen, set(run.memory.lessons))
        sources = [trial.proposal.number for trial in trials]
        lessons = self._kept(found, sources, reply.model)
        await run.record(done, *lessons)
        for lesson in lessons:
            run.memory.keep(lesson)
        if lessons:
            run.listener("lessons", "; ".join(one_line(lesson.claim, 100) for lesson in lessons))

    async def _trials(self, batch: Iterable[Proposal]) -> list[Trial]:
        trials = []
        for proposal in batch:
            assert proposal.candidate is not None  # or it would not have been taken
            found = list(self._run.reader.evaluations(candidate=proposal.candidate, split="search"))
            if not found:
                continue
            candidate = self._run.population.candidates[proposal.candidate]
            parent = candidate.parents[0] if candidate.parents else proposal.parent
            standing = self._run.population.standing(parent)
            sketch = await self._run.storing.run(self._run.store.sketch, parent, candidate.id)
            trials.append(Trial(proposal, found[0], standing.score if standing else None, sketch))
        return trials

    def _prompt(self, trials: list[Trial]) -> str:
        config = self._run.config
        return self._templates.render(
            NAME,
            goal=config.campaign.goal.strip() or f'improve the objective "{config.evaluator.objective}"',
            objective=config.evaluator.objective,
            direction=config.evaluator.direction,
            trials=trials_section(trials),
            known=known_section(self._run.memory.living()),
        )

    def _kept(self, found: Iterable[Conclusion], sources: Iterable[int], model: str) -> list[Lesson]:
        """The lessons to be written: new ones, and known ones with more evidence."""
        kept: dict[int, Lesson] = {}
        for one in found:
            same = self._run.memory.same(one.claim, one.scope) if one.lesson is None else None
            known = one.lesson if same is None else same.id
            if known is not None:
                lesson = kept.get(known) or self._run.memory.lessons[known]
                kept[known] = merged(lesson, one.supports, one.contradicts, sources)
                continue
            number = self._run.number("lesson")
            kept[number] = Lesson(
                number,
                one.claim,
                one.scope,
                model=model,
                made=self._run.admitted,
                supports=one.supports,
                contradicts=one.contradicts,
                sources=tuple(sorted(sources)),
            )
        return list(kept.values())


@asynccontextmanager
async def reflections(reflecting: Reflecting | None, width: int | Literal["auto"]) -> AsyncIterator[None]:
    """Reflect while the block runs; one that is under way at its end is waited for."""
    async with trio.open_nursery() as nursery:
        if reflecting is not None:
            for _ in range(1 if width == "auto" else width):
                nursery.start_soon(reflecting.work)
        yield
        if reflecting is not None:
            reflecting.close()
