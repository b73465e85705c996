"""Answers to questions about a campaign, from its journal and its store alone.

Pure functions: they write nothing, print nothing, and need no orchestrator.
"""

from evolve.answering.campaigns import campaign, evaluations, status
from evolve.answering.candidates import best, diff, resolve, show
from evolve.answering.families import archive, champions, lineage
from evolve.answering.running import logs, spending

__all__ = [
    "archive",
    "best",
    "campaign",
    "champions",
    "diff",
    "evaluations",
    "lineage",
    "logs",
    "resolve",
    "show",
    "spending",
    "status",
]
