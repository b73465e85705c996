"""What `--json` prints: one model for each object, the source of `docs/schemas/`.

Field names are a promise to scripts: fields may be added, none is renamed, removed or given another meaning
while `version` stays the same. `python -m evolve.answers docs/schemas` writes the schemas.

A command imports only the answers it gives: the modules are looked through when a name is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evolve.lazily import found

if TYPE_CHECKING:
    from evolve.answers.actions import (
        Check,
        Doctor,
        Export,
        Happening,
        Logs,
        ModelAnswer,
        Proposed,
        Remark,
        Removed,
        SandboxFacts,
        Spending,
        Started,
        Steered,
        Waited,
    )
    from evolve.answers.base import Answer, Measure, Part, Ranked, State
    from evolve.answers.bills import Bill, CostLine, Costs
    from evolve.answers.campaigns import (
        ArmRecord,
        Campaign,
        Campaigns,
        Evaluations,
        Fate,
        Limit,
        Run,
        Stage,
        StageFate,
        Staleness,
        Status,
    )
    from evolve.answers.candidates import Attempt, Best, Case, Diff, Judgement, Show
    from evolve.answers.families import (
        Archive,
        Axis,
        ChampionEntry,
        Champions,
        Edge,
        Elite,
        Lineage,
        Node,
    )
    from evolve.answers.lessons import LessonEntry, Lessons
    from evolve.answers.models import Prompts, PromptText, ReplyProblem, TriedReply

__all__ = [
    "Answer",
    "Archive",
    "ArmRecord",
    "Attempt",
    "Axis",
    "Best",
    "Bill",
    "Campaign",
    "Campaigns",
    "Case",
    "ChampionEntry",
    "Champions",
    "Check",
    "CostLine",
    "Costs",
    "Diff",
    "Doctor",
    "Edge",
    "Elite",
    "Evaluations",
    "Export",
    "Fate",
    "Happening",
    "Judgement",
    "LessonEntry",
    "Lessons",
    "Limit",
    "Lineage",
    "Logs",
    "Measure",
    "ModelAnswer",
    "Node",
    "Part",
    "PromptText",
    "Prompts",
    "Proposed",
    "Ranked",
    "Remark",
    "Removed",
    "ReplyProblem",
    "Run",
    "SandboxFacts",
    "Show",
    "Spending",
    "Stage",
    "StageFate",
    "Staleness",
    "Started",
    "State",
    "Status",
    "Steered",
    "TriedReply",
    "Waited",
]

_HOMES = ("base", "campaigns", "candidates", "families", "lessons", "bills", "actions", "models")


def __getattr__(name: str) -> Any:
    return found(__name__, __all__, _HOMES, name)
