"""Answers to questions about a campaign, from its journal and its store alone.

Pure functions: they write nothing, print nothing, and need no orchestrator.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evolve.answering.bills import costs
    from evolve.answering.campaigns import campaign, evaluations, status
    from evolve.answering.candidates import best, diff, resolve, show
    from evolve.answering.families import archive, champions, lineage
    from evolve.answering.learning import arms
    from evolve.answering.memory import lessons
    from evolve.answering.running import logs, spending

__all__ = [
    "archive",
    "arms",
    "best",
    "campaign",
    "champions",
    "costs",
    "diff",
    "evaluations",
    "lessons",
    "lineage",
    "logs",
    "resolve",
    "show",
    "spending",
    "status",
]

_HOMES = ("bills", "campaigns", "candidates", "families", "running", "learning", "memory")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = importlib.import_module(f"{__name__}.{home}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
