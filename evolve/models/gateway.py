"""The one door to language models.

A call is several attempts, and all of them are ours: the clients below repeat nothing, so every attempt
is reserved in the budget, recorded and charged (see `ledger`). What is worth another attempt: too many
requests (429, no earlier than the server asks for), 408, the 5xx of a server in trouble, time-outs,
connections that fail or break, answers that are no answers; and at once, changed, what was refused for a
setting that can be left out. Any other 4xx is final. Pauses double from half a second, with a jitter keyed
by the proposal, and there are at most eight attempts (three after time-outs, which cost minutes each). A
model that fails ten times in a row is left out; with none left the gateway says which address failed and
why, for good: a campaign that cannot propose must end, and not look like one that found nothing.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import trio

from archives.errors import ConfigError
from archives.records import Call, Prompt
from evolve.models.answers import Answer, context_size
from evolve.models.bridge import Bridge
from evolve.models.direct import DirectClient
from evolve.models.errors import (
    CallFailed,
    ContextOverflow,
    Fault,
    MissingKey,
    NoModelAnswers,
    NotRecorded,
)
from evolve.models.hosted import HostedClient
from evolve.models.ledger import Ledger
from evolve.models.member import BOUNDED_REPLY, USUAL_REPLY, Member
from evolve.models.question import Question, failed, named
from evolve.models.recording import Recording
from evolve.models.secrets import Guard
from evolve.models.spec import KEYS, ModelSpec, address, missing_key
from evolve.models.tokens import estimate
from evolve.models.traffic import Traffic
from evolve.randomness import rng

ATTEMPTS = 8
ATTEMPTS_AFTER_TIMEOUT = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = {"connection": 2.0, "server": 30.0, "timeout": 30.0, "rate": 60.0}
LONGEST_WAIT = 600.0
"""Seconds a server may ask us to wait; beyond that the call is given up."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, and what it took; `calls` holds the failed attempts before it too."""

    text: str
    model: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    seconds: float
    calls: tuple[Call, ...] = ()


class Gateway:
    """A pool of models behind one method, under trio; `async with` or `aclose` ends what it started.

    Args:
        pool: The models.
        seed: Seed of the campaign; which model is asked depends on it.
        env: Environment with the keys.
        pause: How to wait between attempts.
        ledger: Where calls are charged and kept; without one nowhere.
        recordings: Journals that may hold answers already, asked in this order.
        guard: What must not leave the machine; without one everything may.
        tries: Most attempts of a call.

    Attributes:
        in_flight: Requests that wait for their answer.
        limited: How often a model has said "too many requests" (429) so far.
    """

    def __init__(
        self,
        pool: Sequence[ModelSpec],
        seed: int,
        *,
        env: Mapping[str, str] = os.environ,
        pause: Callable[[float], Awaitable[object]] = trio.sleep,
        ledger: Ledger | None = None,
        recordings: Sequence[Recording] = (),
        guard: Guard | None = None,
        tries: int = ATTEMPTS,
    ) -> None:
        if not any(spec.weight > 0 for spec in pool):
            raise ConfigError("[models] pool: at least one model needs a weight above 0")
        self.pool = tuple(pool)
        self.traffic = Traffic()
        self.limited = 0
        self._seed = seed
        self._env = env
        self._pause = pause
        self._ledger = ledger or Ledger()
        self._recordings = tuple(recordings)
        self._guard = guard
        self._tries = tries
        self._members = [Member(spec) for spec in self.pool]
        self._bridge = Bridge()
        self._direct = DirectClient()
        self._hosted = HostedClient()

    @property
    def in_flight(self) -> int:
        """Requests under way."""
        return self.traffic.under_way

    async def __aenter__(self) -> Self:
        """Begin to import what hosted models need, which takes seconds, while others get ready."""
        if any(not spec.direct for spec in self.pool):
            self._bridge.begin(self._hosted.prepare)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections and end the thread; a later call would start anew."""
        await self._bridge.stop(self._direct.close, self._hosted.close)

    def context_size(self, spec: ModelSpec) -> int | None:
        """Tokens that a model of the pool takes, prompt and reply together; None where nobody says."""
        return next((member.context for member in self._members if member.spec == spec), None)

    def prompt_room(self, reply: int = USUAL_REPLY) -> int | None:
        """Tokens, as `tokens.estimate` counts them, that a prompt may have for every model of the pool.

        Args:
            reply: Tokens to leave for the reply, where the model's `max_tokens` does not say.

        Returns:
            None where no model's context size is known.
        """
        rooms = [room for member in self._members if (room := member.room(reply)) is not None]
        return min(rooms) if rooms else None

    async def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        number: int,
        attempt: int,
        operator: str = "",
        stage: str = "propose",
        template: str = "",
        schema: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> Reply:
        """Ask one model of the pool, chosen by weight for (seed, number, attempt).

        Args:
            messages: The conversation, each message with its role and its content.
            number: Number of the proposal.
            attempt: Which question of the proposal this is, from 0.
            operator: Who asks, for the record.
            stage: Stage it asks in, for the record.
            template: Template of the prompt, with its version, for the record.
            schema: JSON schema that the reply should follow, where the model takes one.
            model: Name of the model to ask as long as it answers; the choice is then among those of the name.

        Raises:
            CallFailed: This call came to nothing.
            ContextOverflow: The prompt is too long for the model.
            BudgetSpent: What it may cost does not fit into the budget.
            NoModelAnswers: No call will come to anything any more (a missing key included).
        """
        question = Question(messages, number, attempt, operator, stage, template, schema)
        known, recorded = self._known(question, model)
        if known:
            return await self._repeat(question, known, recorded)
        if self._guard is not None:
            self._guard.check(messages)
        calls: list[Call] = []
        faults: list[Fault] = []
        prompt: Prompt | None = Prompt(question.prompt, tuple(messages))
        while True:
            member = self._choose(question, calls, model)
            began = member.breaker.begin()
            try:
                async with self.traffic.room():
                    call = await self._attempt(member, question, prompt)
            except _Failed as failure:
                fault, prompt = failure.fault, None
                calls.append(failure.call)
                faults.append(fault)
                pause = self._after(member, question, failure, began, faults)
                if pause is None:
                    raise self._given_up(member, fault, calls) from fault
                if pause and not (member.breaker.failures and member.breaker.open):
                    await self._pause(pause)
                continue
            member.breaker.answered()
            return _reply(call, (*calls, call))

    def _choose(self, question: Question, calls: Sequence[Call], wanted: str | None) -> Member:
        self._raise_if_gone(calls)
        now = time.monotonic()
        alive = [member for member in self._members if member.breaker.closed_at(now)]
        alive = [member for member in alive if member.spec.model == wanted] or alive
        weights = [max(0.0, member.spec.weight) for member in alive]
        if not sum(weights):
            weights = [1.0] * len(alive)
        purpose = f"model/{question.attempt}"
        return rng(self._seed, question.number, purpose).choices(alive, weights)[0]

    def _raise_if_gone(self, calls: Sequence[Call]) -> None:
        if not all(member.breaker.open for member in self._members):
            return
        reasons = [f"{address(m.spec, self._env)}: {m.breaker.reason}" for m in self._members]
        raise NoModelAnswers(f"no model answers: {'; '.join(dict.fromkeys(reasons))}", tuple(calls))

    async def _attempt(self, member: Member, question: Question, prompt: Prompt | None) -> Call:
        """One request, reserved before and booked after; raises _Failed."""
        if missing := missing_key(member.spec, self._env):
            raise MissingKey(missing)
        expected = member.meter.most(question.estimate) + member.usual_reply
        await member.requests.take(1)
        await member.tokens.take(expected)
        settings = member.parameters.settings(
            member.longest_reply(self._ledger.limited, question.estimate), question.schema
        )
        call = await self._ledger.begin(_dearest(member, question), prompt)
        start = time.monotonic()
        try:
            async with self.traffic.request():
                answer = await self._ask(member, question, settings)
        except Fault as fault:
            call = failed(call, member, fault, time.monotonic() - start)
            await self._ledger.end(call)
            raise _Failed(fault, call, settings) from fault
        except MissingKey as error:
            await self._ledger.end(failed(call, member, Fault(str(error)), time.monotonic() - start))
            raise
        except BaseException:
            self._ledger.lose(replace(call, seconds=time.monotonic() - start), "cancelled")
            raise
        call = _answered(call, member, question, answer, time.monotonic() - start)
        member.tokens.correct(expected, call.prompt_tokens + call.completion_tokens)
        member.heard(question.estimate, answer.prompt_tokens, call.completion_tokens)
        await self._ledger.end(call)
        return call

    async def _ask(self, member: Member, question: Question, settings: Mapping[str, Any]) -> Answer:
        spec = member.spec
        key = self._env.get(spec.api_key_env) if spec.api_key_env else None
        client = self._direct if spec.direct else self._hosted
        try:
            return await self._bridge.call(client.complete, spec, key, question.messages, settings)
        except Fault as fault:
            for secret in (key, *(self._env.get(name) for name in KEYS.values())):
                if secret:
                    fault.reason = fault.reason.replace(secret, "***")
            raise

    def _after(
        self, member: Member, question: Question, failure: _Failed, began: int, faults: Sequence[Fault]
    ) -> float | None:
        """Seconds to wait before the next attempt; None if there is to be none."""
        fault = failure.fault
        self.limited += fault.kind == "rate"
        if fault.kind == "answer" and member.parameters.learn(fault.reason, failure.settings):
            return 0.0
        if fault.kind == "overflow":
            fits = member.learn_size(fault.size) and member.could_fit(question.estimate)
            return 0.0 if fits else None
        pause = self._pause_after(question, faults)
        if fault.kind != "rate" or pause is None:
            member.breaker.failed(began, fault.reason, time.monotonic())
        return pause

    def _pause_after(self, question: Question, faults: Sequence[Fault]) -> float | None:
        fault, tries = faults[-1], len(faults)
        slow = sum(each.kind == "timeout" for each in faults)
        if fault.kind == "answer" or tries >= self._tries or slow >= ATTEMPTS_AFTER_TIMEOUT:
            return None
        if fault.wait is not None and fault.wait > LONGEST_WAIT:
            fault.reason += f" (asks to come back in {fault.wait:.0f} s)"
            return None
        usual = min(math.ldexp(FIRST_PAUSE, tries - 1), LONGEST_PAUSE[fault.kind])
        jitter = rng(self._seed, question.number, f"pause/{question.attempt}/{tries}").random()
        # A server's wish is a lower bound; spread what comes after it, so that not all return at once.
        return max(usual * (0.75 + jitter / 2), (fault.wait or 0.0) + usual * jitter / 2)

    def _given_up(self, member: Member, fault: Fault, calls: Sequence[Call]) -> CallFailed:
        reason = f"{address(member.spec, self._env)}: {fault.reason}"
        if fault.kind == "overflow":
            return ContextOverflow(reason, tuple(calls), member.context)
        self._raise_if_gone(calls)
        return CallFailed(reason, tuple(calls))

    def _known(self, question: Question, wanted: str | None) -> tuple[tuple[Call, ...], bool]:
        """What came of a question in an earlier run or a recorded campaign, and whether it is the latter."""
        for recording in self._recordings:
            calls = recording.find(
                question.number, question.attempt, question.operator, question.stage, question.prompt
            )
            if calls:
                return calls, recording.whole
            if recording.whole:
                self._ledger.require(_dearest(self._choose(question, (), wanted), question))
                raise NotRecorded(
                    f"{recording.reader.path} holds no reply to what {question.operator or 'an operator'} "
                    f"asks for proposal {question.number} (question {question.attempt + 1}): it runs again "
                    "only as it ran, with one worker, a deterministic evaluator and the same prompts"
                )
        return (), False

    async def _repeat(self, question: Question, known: Sequence[Call], recorded: bool) -> Reply:
        """Give a known answer again; one of a recording is charged as it was, so that all ends as it did."""
        last = known[-1]
        member = next((each for each in self._members if each.spec.model == last.model), None)
        if member is not None and not last.error:
            member.heard(question.estimate, last.prompt_tokens, last.completion_tokens)
        if not recorded:
            return _reply(last, ())
        prompt = Prompt(question.prompt, tuple(question.messages))
        calls = tuple([await self._ledger.add(replace(call, state="repeated"), prompt) for call in known])
        if not last.error:
            return _reply(last, calls)
        size = context_size(last.error)
        raise CallFailed(last.error, calls) if size is None else ContextOverflow(last.error, calls, size)


@dataclass(eq=False)
class _Failed(Exception):
    """An attempt that came to nothing, with what was sent besides the messages."""

    fault: Fault
    call: Call
    settings: Mapping[str, Any]


def _dearest(member: Member, question: Question) -> Call:
    """A call with the most it may cost."""
    prompt = member.meter.most(question.estimate)
    reply = member.longest_reply(True, question.estimate) or BOUNDED_REPLY
    return named(question, member, prompt, reply, member.facts.cost(prompt, reply))


def _answered(call: Call, member: Member, question: Question, answer: Answer, seconds: float) -> Call:
    """A call with what was billed; where the server does not count, with our estimate."""
    sent = answer.prompt_tokens or member.meter.most(question.estimate)
    received = answer.completion_tokens or estimate(answer.text)
    priced = member.spec.price_in is not None or member.spec.price_out is not None
    usd = answer.usd if answer.usd is not None and not priced else member.facts.cost(sent, received)
    return replace(
        call,
        state="answered",
        prompt_tokens=sent,
        completion_tokens=received,
        cached_tokens=answer.cached_tokens,
        usd=usd,
        seconds=seconds,
        reply=answer.text,
        finish_reason=answer.finish_reason,
    )


def _reply(call: Call, calls: tuple[Call, ...]) -> Reply:
    return Reply(
        call.reply,
        call.model,
        call.finish_reason or "stop",
        call.prompt_tokens,
        call.completion_tokens,
        call.usd,
        call.seconds,
        calls,
    )
