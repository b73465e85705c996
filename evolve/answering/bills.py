"""What models took, from the calls in the journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from archives.reader import Reader
from archives.tallies import Cost
from evolve.answers.bills import Bill, CostLine, Costs, ReplyCounts

_BILLED = ("answered", "failed")
_UNSURE = ("lost", "started")


def costs(reader: Reader, home: Path) -> Costs:
    """What models took.

    Args:
        reader: Journal of the campaign.
        home: Its folder.
    """
    with reader.snapshot():
        found = reader.costs()
        replies = ReplyCounts(**asdict(reader.replies()))
        name = reader.setting("campaign", home.name)
    lines = [
        CostLine(model=model, operator=operator, stage=stage, **_sums(list(group)))
        for (model, operator, stage), group in groupby(found, lambda c: (c.model, c.operator, c.stage))
    ]
    lines.sort(key=lambda each: (-each.usd, -each.prompt_tokens - each.completion_tokens))
    return Costs(campaign=name, costs=lines, total=Bill(**_sums(found)), replies=replies)


def _sums(found: list[Cost]) -> dict[str, Any]:
    billed = [cost for cost in found if cost.state in _BILLED]
    unsure = [cost for cost in found if cost.state in _UNSURE]
    answered = _calls(found, "answered")
    waited = sum(cost.seconds for cost in found if cost.state == "answered")
    return {
        "calls": sum(cost.calls for cost in found),
        "answered": answered,
        "failed": _calls(found, "failed"),
        "lost": _calls(found, "lost"),
        "in_flight": _calls(found, "started"),
        "repeated": _calls(found, "repeated"),
        "prompt_tokens": sum(cost.prompt_tokens for cost in billed),
        "completion_tokens": sum(cost.completion_tokens for cost in billed),
        "cached_tokens": sum(cost.cached_tokens for cost in billed),
        "usd": sum(cost.usd for cost in billed),
        "unpriced": sum(cost.unpriced for cost in billed),
        "at_most_tokens": sum(cost.prompt_tokens + cost.completion_tokens for cost in unsure),
        "at_most_usd": sum(cost.usd for cost in unsure),
        "seconds": waited / answered if answered else 0.0,
        "slowest": max((cost.slowest for cost in found), default=0.0),
    }


def _calls(found: Iterable[Cost], state: str) -> int:
    return sum(cost.calls for cost in found if cost.state == state)
