"""What is known of a model by its name: prices, context size, what it accepts.

The source is the list that comes with litellm, read as the file it is: importing litellm would take
seconds and its own look-up would ask the network. A server named by `api_base` is not looked up, for its
models may be called anything.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evolve.models.spec import ModelSpec

FILE = "model_prices_and_context_window_backup.json"
_TIER = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


@dataclass(frozen=True, slots=True)
class Tier:
    """US dollars per million tokens of calls whose prompt has more than `above` tokens."""

    above: int
    price_in: float
    price_out: float


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model; None where nobody says.

    Attributes:
        prices: Its prices, for short prompts first; empty if they are not known.
        context: Tokens that prompt and reply may have together.
        longest_reply: Most tokens of one reply.
        reasons: Whether it is a reasoning model.
        schemas: Whether it takes a JSON schema for its reply.
    """

    prices: tuple[Tier, ...] = ()
    context: int | None = None
    longest_reply: int | None = None
    reasons: bool = False
    schemas: bool = False

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """US dollars of a call; None where the price is not known."""
        tiers = [tier for tier in self.prices if prompt_tokens >= tier.above]
        if not tiers:
            return None
        return (prompt_tokens * tiers[-1].price_in + completion_tokens * tiers[-1].price_out) / 1e6


def facts(spec: ModelSpec) -> Facts:
    """What is known of a model: what the configuration says of it, else what the list does."""
    listed = Facts() if spec.direct else _listed(spec.model)
    prices = listed.prices
    if spec.price_in is not None or spec.price_out is not None:
        prices = (Tier(0, spec.price_in or 0.0, spec.price_out or 0.0),)
    return Facts(
        prices=prices,
        context=spec.context or listed.context,
        longest_reply=listed.longest_reply,
        reasons=listed.reasons or _reasons(spec.model),
        schemas=listed.schemas or spec.direct,
    )


def unpriced(pool: Sequence[ModelSpec]) -> list[str]:
    """Names of the models whose price is not known."""
    return [spec.model for spec in pool if not facts(spec).prices]


def _reasons(model: str) -> bool:
    """Whether a model of OpenAI reasons, by its name; proxies and other servers keep the name."""
    return re.match(r"(.*/)?(o\d|gpt-5)", model) is not None


@cache
def _listed(model: str) -> Facts:
    entries = _entries()
    provider, slash, bare = model.partition("/")
    entry = entries.get(model)
    if entry is None and slash:
        found = entries.get(bare)
        entry = found if found and _same(found.get("litellm_provider"), provider) else None
    return _facts(entry) if entry else Facts()


def _same(listed: object, provider: str) -> bool:
    return isinstance(listed, str) and listed.split("-")[0].split("_")[0] == provider


def _facts(entry: Mapping[str, Any]) -> Facts:
    reply, prompt = _whole(entry.get("max_output_tokens")), _whole(entry.get("max_input_tokens"))
    return Facts(
        prices=_prices(entry),
        context=prompt or _whole(entry.get("max_tokens")),
        longest_reply=reply,
        reasons=bool(entry.get("supports_reasoning")),
        schemas=bool(entry.get("supports_response_schema")),
    )


def _prices(entry: Mapping[str, Any]) -> tuple[Tier, ...]:
    sent, received = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(sent, int | float) or not isinstance(received, int | float):
        return ()
    tiers = [Tier(0, sent * 1e6, received * 1e6)]
    for key, price in entry.items():
        if (found := _TIER.fullmatch(key)) and isinstance(price, int | float):
            reply = entry.get(key.replace("input", "output"), received)
            tiers.append(Tier(int(found[1]) * 1000, price * 1e6, reply * 1e6))
    return tuple(sorted(tiers, key=lambda tier: tier.above))


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        return {}
    try:
        listed = json.loads((Path(found.origin).parent / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return listed if isinstance(listed, dict) else {}
