"""What is known of a model by its name: prices, context size, what it accepts.

The source is the list that comes with litellm, read as the file it is: importing litellm would take
seconds and its own look-up would ask the network. A server named by `api_base` is not looked up, for its
models may be called anything.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from evolve.models.spec import ModelSpec

FILE = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a model; None where nobody says.

    Attributes:
        price_in: US dollars per million tokens of the prompt, the highest tier.
        price_out: US dollars per million tokens of the reply, the highest tier.
        context: Tokens of prompt and reply that it takes together.
        longest_reply: Most tokens of one reply.
        reasons: Whether it is a reasoning model.
    """

    price_in: float | None = None
    price_out: float | None = None
    context: int | None = None
    longest_reply: int | None = None
    reasons: bool = False


NOTHING = Facts()


def facts(spec: ModelSpec) -> Facts:
    """What is known of a model: what the configuration says of it, else what the list does."""
    listed = NOTHING if spec.direct else _listed(spec.model)
    priced = spec.price_in is not None or spec.price_out is not None
    return Facts(
        price_in=(spec.price_in or 0.0) if priced else listed.price_in,
        price_out=(spec.price_out or 0.0) if priced else listed.price_out,
        context=spec.context or listed.context,
        longest_reply=listed.longest_reply,
        reasons=listed.reasons,
    )


@cache
def _listed(model: str) -> Facts:
    entries = _entries()
    provider, slash, bare = model.partition("/")
    entry = entries.get(model)
    if entry is None and slash:
        found = entries.get(bare)
        entry = found if found and _same(found.get("litellm_provider"), provider) else None
    return _facts(entry) if entry else NOTHING


def _same(listed: object, provider: str) -> bool:
    return isinstance(listed, str) and listed.split("-")[0].split("_")[0] == provider


def _facts(entry: Mapping[str, Any]) -> Facts:
    reply, prompt = _whole(entry.get("max_output_tokens")), _whole(entry.get("max_input_tokens"))
    return Facts(
        price_in=_highest(entry, "input_cost_per_token"),
        price_out=_highest(entry, "output_cost_per_token"),
        context=prompt or _whole(entry.get("max_tokens")),
        longest_reply=reply,
        reasons=bool(entry.get("supports_reasoning")),
    )


def _highest(entry: Mapping[str, Any], name: str) -> float | None:
    """The highest price of those for long prompts and the usual one, per million tokens."""
    names = [
        key for key in entry if key == name or (key.startswith(f"{name}_above") and key.endswith("_tokens"))
    ]
    prices = [entry[key] for key in names if isinstance(entry[key], int | float)]
    return max(prices) * 1e6 if prices else None


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
