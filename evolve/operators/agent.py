"""A coding agent as an operator: any program that changes files when it is told to.

It gets the task as a file and works in a checkout of the parent. What it changed there is the proposal,
whatever it says about it; a change of a protected file refuses the whole, as it does for every operator.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from archives.errors import EvaluatorError, StoreError
from archives.records import Call, Prompt
from evaluators.contract import ended_badly
from evolve.models.errors import NoModelAnswers
from evolve.models.ledger import Ledger
from evolve.models.question import prompt_key
from evolve.operators.base import Draft, Needs, Order, Refused, Source, Stateless
from evolve.prompts.composing import Composer
from evolve.prompts.composing import Prompt as Composed
from evolve.quoting import one_line, plain, shorten
from evolve.workshop import AgentSpec, Work, Workshop

TITLE = 72
LONGEST_QUOTE = 4_000
TRIES = 5
"""Tasks after which an agent that has never brought one to an end is given up."""
_SUMMARY = re.compile(r"^\W*SUMMARY:\s*(.+)$", re.MULTILINE)


class Agent(Stateless):
    """Has a coding agent change the parent.

    Args:
        workshop: Where it works.
        agent: Which one.
        globs: What may change, for the task.
        composer: What makes the task.
        ledger: Where what it costs is charged.
    """

    name = "agent"
    is_async = True
    needs: Needs = "parent"

    def __init__(
        self, workshop: Workshop, agent: AgentSpec, globs: Sequence[str], composer: Composer, ledger: Ledger
    ) -> None:
        self._workshop = workshop
        self._agent = agent
        self._globs = tuple(globs)
        self._composer = composer
        self._ledger = ledger
        self._failed: float = 0

    def handles(self, paths: Sequence[str]) -> bool:
        """It can work on any file."""
        return bool(paths)

    def propose(self, order: Order, source: Source) -> Draft:
        """Not for this operator, which waits for a program."""
        raise NotImplementedError("agent is asynchronous: await propose_async")

    async def propose_async(self, order: Order, source: Source) -> Draft:
        """Have one change made.

        Raises:
            Refused: The agent failed, ran out of time, or changed nothing that can be taken over.
            NoModelAnswers: It has failed `TRIES` times and never done anything else.
        """
        prompt = self._composer.brief(self.name, order, source, self._globs)
        task, began = prompt.messages[0]["content"], time.monotonic()
        call = await self._ledger.begin(*self._call(order, prompt))
        try:
            work = await self._workshop.work(
                self._agent, order.parent.id, task, order.number, source.editable
            )
        except (StoreError, EvaluatorError) as error:
            seconds = time.monotonic() - began
            await self._ledger.end(replace(call, state="failed", error=str(error), seconds=seconds))
            raise self._gave_nothing(str(error)) from error
        except BaseException:
            self._ledger.lose(call, "stopped at once")
            raise
        said, cost = words(work.finished.stdout)
        reason = self._complaint(work)
        await self._ledger.end(
            replace(
                call,
                usd=call.usd if cost is None else cost,
                seconds=work.finished.seconds,
                state="answered" if reason is None else "failed",
                error=reason,
                reply=said,
            )
        )
        payload = {"log": self._workshop.log(order.number).name, "prompt": prompt.version}
        if reason is not None:
            raise self._gave_nothing(reason, payload)
        self._failed = -math.inf
        return Draft(
            changes=work.changes,
            summary=_title(said) or one_line(f"{self._agent.name} {', '.join(work.changes)}", TITLE),
            rationale=shorten(plain(said).strip(), LONGEST_QUOTE),
            payload=payload,
            model=self._agent.name,
        )

    def _gave_nothing(self, reason: str, payload: Mapping[str, Any] | None = None) -> Exception:
        """What is raised for a task that came to nothing; an agent that never works is given up."""
        self._failed += 1
        said = f"{self._agent.name}: {reason}"
        if self._failed >= TRIES:
            return NoModelAnswers(f"{said} (so did all of the first {TRIES} tasks fail)")
        return Refused(said, payload=payload)

    def _complaint(self, work: Work) -> str | None:
        ended = ended_badly(work.finished)
        if ended is None:
            return None
        hosts = f" (it wanted to reach {', '.join(work.refused[:3])})" if work.refused else ""
        return one_line(ended[1]) + hosts

    def _call(self, order: Order, prompt: Composed) -> tuple[Call, Prompt]:
        """The record of one task; where the agent does not tell its cost, it is charged what it may cost."""
        messages = tuple(prompt.messages)
        key = prompt_key(messages)
        call = Call(
            id=0,
            proposal=order.number,
            model=self._agent.name,
            operator=self.name,
            usd=self._agent.usd,
            prompt=key,
            template=f"{self.name}@{prompt.version}",
        )
        return call, Prompt(key, messages)


def words(stdout: bytes) -> tuple[str, float | None]:
    """What an agent said, and what it says it cost, where its last line is a JSON object."""
    text = stdout.decode("utf-8", "replace")
    last = text.rstrip().rsplit("\n", 1)[-1]
    try:
        told: Any = json.loads(last)
    except ValueError:
        return text, None
    if not isinstance(told, dict):
        return text, None
    cost = told.get("total_cost_usd")
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 1e6:
        cost = None
    return str(told.get("result", text)), cost


def _title(said: str) -> str:
    found = _SUMMARY.findall(plain(said))
    return one_line(found[-1].rstrip("."), TITLE) if found else ""
