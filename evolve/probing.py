"""One tiny request to each model: whether it answers, how fast, at which price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import trio

from archives.errors import ModelError
from evolve.answers import ModelAnswer
from evolve.asking import recipients
from evolve.models import Gateway, ModelSpec
from evolve.models.catalog import facts

ASK = ({"role": "user", "content": "Answer with the single word: ok"},)
LONGEST = 16
LONGEST_OF_THINKERS = 1_024
"""Tokens of a reply; a reasoning model thinks before it answers."""
PATIENCE = 60.0


async def probe_models(pool: Sequence[ModelSpec]) -> list[ModelAnswer]:
    """What each model of the pool says to one request, asked all at once."""
    found: dict[int, ModelAnswer] = {}

    async def one(index: int, spec: ModelSpec) -> None:
        found[index] = await _probe(spec)

    async with trio.open_nursery() as nursery:
        for index, spec in enumerate(pool):
            nursery.start_soon(one, index, spec)
    return [found[index] for index in range(len(pool))]


async def _probe(spec: ModelSpec) -> ModelAnswer:
    known = facts(spec)
    longest = LONGEST_OF_THINKERS if known.reasons else LONGEST
    asked = replace(spec, max_tokens=longest, timeout=min(spec.timeout, PATIENCE), weight=1.0)
    prices = known.prices[0] if known.prices else None
    answer = ModelAnswer(
        model=spec.model,
        where=recipients([spec])[0],
        ok=True,
        price_in=prices.price_in if prices else None,
        price_out=prices.price_out if prices else None,
        context=known.context,
    )
    try:
        async with Gateway([asked], 0, tries=1) as gateway:
            reply = await gateway.complete(ASK, number=0, attempt=0)
    except ModelError as error:
        answer.ok, answer.reason = False, str(error)
        return answer
    answer.seconds, answer.usd = reply.seconds, reply.usd
    answer.tokens = reply.prompt_tokens + reply.completion_tokens
    return answer
