"""Answers to questions about a campaign, from its journal and its store alone.

Pure functions: they write nothing, print nothing, and need no orchestrator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evolve.lazily import found

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
    return found(__name__, __all__, _HOMES, name)
