"""The one door to language models.

A call is several attempts, and all of them are ours: the clients below repeat nothing, so every attempt
is recorded and can be charged. What is worth another attempt: too many requests (429, no earlier than the
server asks for), 408, the 5xx of a server in trouble, time-outs, connections that fail or break, answers
that are no answers. Any other 4xx is final. Pauses double from half a second, with a jitter keyed by the
proposal, and there are at most eight attempts (three after time-outs, which cost minutes each). A model
that fails ten times in a row is left out; with none left the gateway says which address failed and why,
for good: a campaign that cannot propose must end, and not look like one that found nothing.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import trio

from archives.errors import ConfigError
from archives.records import Call
from evolve.models.answers import Answer
from evolve.models.breaker import Breaker
from evolve.models.bridge import Bridge
from evolve.models.catalog import facts
from evolve.models.direct import DirectClient
from evolve.models.errors import CallFailed, Fault, MissingKey, NoModelAnswers
from evolve.models.hosted import HostedClient
from evolve.models.spec import KEYS, ModelSpec, address, missing_key
from evolve.models.tokens import Meter, of_messages
from evolve.randomness import rng

ATTEMPTS = 8
ATTEMPTS_AFTER_TIMEOUT = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = {"connection": 2.0, "server": 30.0, "timeout": 30.0, "rate": 60.0}
LONGEST_WAIT = 600.0
"""Seconds a server may ask us to wait; beyond that the call is given up."""
USUAL_REPLY = 8_192
"""Tokens that a reply is thought to need where nothing limits it."""


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


@dataclass(frozen=True, slots=True)
class _Question:
    messages: Sequence[Mapping[str, str]]
    number: int
    attempt: int
    operator: str


class Gateway:
    """A pool of models behind one method, under trio; `async with` or `aclose` ends what it started."""

    def __init__(
        self,
        pool: Sequence[ModelSpec],
        seed: int,
        *,
        env: Mapping[str, str] = os.environ,
        pause: Callable[[float], Awaitable[object]] = trio.sleep,
    ) -> None:
        if not any(spec.weight > 0 for spec in pool):
            raise ConfigError("[models] pool: at least one model needs a weight above 0")
        self.pool = tuple(pool)
        self._seed = seed
        self._env = env
        self._pause = pause
        self._breakers = [Breaker() for _ in self.pool]
        self._meters = [Meter() for _ in self.pool]
        self._bridge = Bridge()
        self._direct = DirectClient()
        self._hosted = HostedClient()

    async def __aenter__(self) -> Self:
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
        return facts(spec).context

    def prompt_room(self, reply: int = USUAL_REPLY) -> int | None:
        """Tokens, as `tokens.estimate` counts them, that a prompt may have for every model of the pool.

        Args:
            reply: Tokens to leave for the reply, where the model's `max_tokens` does not say.

        Returns:
            None where no model's context size is known.
        """
        rooms = [
            (context - (spec.max_tokens or min(reply, context // 2))) / meter.factor
            for spec, meter in zip(self.pool, self._meters, strict=True)
            if (context := self.context_size(spec)) is not None
        ]
        return max(0, int(min(rooms))) if rooms else None

    async def complete(
        self, messages: Sequence[Mapping[str, str]], *, number: int, attempt: int, operator: str = ""
    ) -> Reply:
        """Ask one model of the pool, chosen by weight for (seed, number, attempt).

        Raises:
            CallFailed: This call came to nothing.
            NoModelAnswers: No call will come to anything any more (a missing key included).
        """
        question = _Question(messages, number, attempt, operator)
        calls: list[Call] = []
        while True:
            index = self._choose(question, calls)
            spec, breaker = self.pool[index], self._breakers[index]
            began, start = breaker.begin(), time.monotonic()
            try:
                answer = await self._attempt(spec, messages)
            except Fault as fault:
                calls.append(_failed_call(question, spec, fault, time.monotonic() - start))
                pause = self._pause_after(question, fault, len(calls))
                if fault.kind != "rate" or pause is None:
                    breaker.failed(began, fault.reason, time.monotonic())
                if pause is None:
                    self._raise_if_gone(calls)
                    where = address(spec, self._env)
                    raise CallFailed(f"{where}: {fault.reason}", tuple(calls)) from fault
                if breaker.failures and breaker.open:
                    continue
                await self._pause(pause)
                continue
            breaker.answered()
            self._meters[index].learn(of_messages(messages), answer.prompt_tokens)
            return _reply(question, spec, answer, time.monotonic() - start, calls)

    def _choose(self, question: _Question, calls: Sequence[Call]) -> int:
        self._raise_if_gone(calls)
        now = time.monotonic()
        alive = [index for index, breaker in enumerate(self._breakers) if breaker.closed_at(now)]
        weights = [max(0.0, self.pool[index].weight) for index in alive]
        if not sum(weights):
            weights = [1.0] * len(alive)
        purpose = f"model/{question.attempt}"
        return rng(self._seed, question.number, purpose).choices(alive, weights)[0]

    def _raise_if_gone(self, calls: Sequence[Call]) -> None:
        if not all(breaker.open for breaker in self._breakers):
            return
        reasons = [
            f"{address(spec, self._env)}: {breaker.reason}"
            for spec, breaker in zip(self.pool, self._breakers, strict=True)
        ]
        raise NoModelAnswers(f"no model answers: {'; '.join(dict.fromkeys(reasons))}", tuple(calls))

    async def _attempt(self, spec: ModelSpec, messages: Sequence[Mapping[str, str]]) -> Answer:
        missing = missing_key(spec, self._env)
        if missing:
            raise MissingKey(missing)
        key = self._env.get(spec.api_key_env) if spec.api_key_env else None
        client = self._direct if spec.direct else self._hosted
        try:
            return await self._bridge.call(client.complete, spec, key, messages)
        except Fault as fault:
            for secret in (key, *(self._env.get(name) for name in KEYS.values())):
                if secret:
                    fault.reason = fault.reason.replace(secret, "***")
            raise

    def _pause_after(self, question: _Question, fault: Fault, tries: int) -> float | None:
        """Seconds to wait before the next attempt; None if there is to be none."""
        most = ATTEMPTS_AFTER_TIMEOUT if fault.kind == "timeout" else ATTEMPTS
        if fault.kind == "answer" or tries >= most:
            return None
        if fault.wait is not None and fault.wait > LONGEST_WAIT:
            fault.reason += f" (asks to come back in {fault.wait:.0f} s)"
            return None
        usual = min(math.ldexp(FIRST_PAUSE, tries - 1), LONGEST_PAUSE[fault.kind])
        jitter = rng(self._seed, question.number, f"pause/{question.attempt}/{tries}").random()
        # A server's wish is a lower bound; spread what comes after it, so that not all return at once.
        return max(usual * (0.75 + jitter / 2), (fault.wait or 0.0) + usual * jitter / 2)


def prompt_key(messages: Sequence[Mapping[str, str]]) -> str:
    """Content hash of a prompt."""
    text = json.dumps([dict(message) for message in messages], sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _failed_call(question: _Question, spec: ModelSpec, fault: Fault, seconds: float) -> Call:
    return Call(
        id=0,
        proposal=question.number,
        model=spec.model,
        operator=question.operator,
        prompt_tokens=fault.prompt_tokens,
        completion_tokens=fault.completion_tokens,
        usd=fault.usd,
        seconds=seconds,
        error=fault.reason,
        prompt=prompt_key(question.messages),
        reply=fault.reply,
    )


def _reply(
    question: _Question, spec: ModelSpec, answer: Answer, seconds: float, calls: Sequence[Call]
) -> Reply:
    call = Call(
        id=0,
        proposal=question.number,
        model=spec.model,
        operator=question.operator,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        usd=answer.usd,
        seconds=seconds,
        prompt=prompt_key(question.messages),
        reply=answer.text,
    )
    return Reply(
        answer.text,
        spec.model,
        answer.finish_reason,
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.usd,
        seconds,
        (*calls, call),
    )
