"""Evaluators written for other systems, called the way those systems call them.

Each module here speaks one contract as its own system was measured to keep it: what is called with what, in
which order, how often, and what its answer counts as. The evaluator's files stay as they are; packages that
it imports and that are not installed are stood in for (`standins`).

Three things are ours. A failure is a failure and not a score of 0, which would be the best score where
scores are negative. A number that is none never counts. And what hangs is killed.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..channel import Channel
from . import gepa, openevolve, shinka

_CONTRACTS = {"openevolve": openevolve.evaluate, "shinka": shinka.evaluate, "gepa": gepa.evaluate}


def evaluate(config: Mapping[str, Any], request: Mapping[str, Any], channel: Channel) -> Any:
    """Judge what is in the checkout and return the result object of our contract.

    Args:
        config: The server's configuration; `foreign` holds what the contract needs.
        request: What is asked.
        channel: Where an answer can be sent from outside the main thread.

    Raises:
        Failed: The candidate has no score.
    """
    return _CONTRACTS[config["foreign"]["contract"]](config, request, channel)
