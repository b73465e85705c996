"""What a campaign will ask of models, before it begins.

An estimate is only as good as its assumptions, so they are few and stated: every proposal of an operator
that asks a model sends the files that may change, with instructions, feedback and inspirations besides; one
reply in five does not fit and is asked for again; a reply has 1,500 tokens, or as many as it may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolve.asking import require_prices, tokens_of
from evolve.campaign import Campaign
from evolve.config import Config
from evolve.models.catalog import facts
from evolve.models.spec import ModelSpec
from evolve.registry import asks, model_pool, usable
from evolve.tables.proposing import ASKING
from evolve.territory import editable

BESIDES = 1_500
"""Tokens of a prompt besides the files."""
MOST_SHOWN = 40_000
"""Most tokens of files in a prompt."""
REPLY = 1_500
AGAIN = 1.2


@dataclass(frozen=True, slots=True)
class Forecast:
    """What models will be asked.

    Attributes:
        calls: How many calls; None where no limit bounds them.
        tokens: Their tokens, prompts and replies; None likewise.
        usd: Their dollars; None likewise, or where a price is not known.
    """

    calls: int | None
    tokens: int | None
    usd: float | None

    def __str__(self) -> str:
        if self.calls is None:
            return "no limit bounds what models are asked; `usd` or `tokens` under [budget] sets one"
        dollars = "at a price that is not known" if self.usd is None else f"${self.usd:.2g}"
        return f"about {self.calls:,} calls, {self.tokens or 0:,} tokens, {dollars}"


def forecast(
    config: Config, operators: Sequence[str], shown: int, evaluations: float = 1.0
) -> Forecast | None:
    """What models will be asked; None where no operator asks any.

    Args:
        config: The campaign's configuration.
        operators: Operators that will run.
        shown: Tokens of the files that may change.
        evaluations: Evaluations that one proposal takes.
    """
    pool = model_pool(config)
    asking = [name for name in operators if name in ASKING]
    if not asking or not pool:
        return None
    shares = {name: config.operators.shares().get(name, 1.0) for name in operators}
    part = sum(shares[name] for name in asking) / sum(shares.values())
    prompt = min(shown, MOST_SHOWN) + BESIDES
    reply = max(min(REPLY, spec.max_tokens or REPLY) for spec in pool)
    price = _price(pool, prompt, reply)
    limits = config.budget.limits()
    proposals = [limits.get("proposals"), (limits.get("evaluations") or 0) / evaluations or None]
    bounds = [each * part * AGAIN for each in proposals if each is not None]
    if "tokens" in limits:
        bounds.append(limits["tokens"] / (prompt + reply))
    if "usd" in limits and price:
        bounds.append(limits["usd"] / price)
    if not bounds:
        return Forecast(None, None, None)
    calls = max(1, round(min(bounds)))
    return Forecast(calls, calls * (prompt + reply), None if price is None else calls * price)


def foretold(campaign: Campaign) -> Forecast | None:
    """What models will be asked by a campaign that has not begun; None where no operator asks any.

    Raises:
        ConfigError: No operator can work, or a limit in dollars could not be kept.
    """
    store = campaign.store
    with campaign.reader() as reader:
        base = reader.setting("base")
    paths = [entry.path for entry in store.files(base)]
    may_change = editable(campaign.config, paths, campaign.prefix)
    shown = [path for path in paths if may_change(path)]
    operators, _ = usable(campaign.config, shown)
    if not asks(operators, campaign.config):
        return None
    require_prices(model_pool(campaign.config), campaign.config.budget.limits())
    tokens = tokens_of(store, base, shown)
    return forecast(campaign.config, operators, tokens, campaign.config.evaluator.repeats)


def _price(pool: Sequence[ModelSpec], prompt: int, reply: int) -> float | None:
    """Dollars of one call, over the models by their weights."""
    prices = [facts(spec).cost(prompt, reply) for spec in pool]
    if any(price is None for price in prices):
        return None
    weights = [spec.weight for spec in pool]
    return sum(w * (p or 0.0) for w, p in zip(weights, prices, strict=True)) / sum(weights)
