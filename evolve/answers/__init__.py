"""What `--json` prints: one model for each object, the source of `docs/schemas/`.

Field names are a promise to scripts: fields may be added, none is renamed, removed or given another meaning
while `version` stays the same. `python -m evolve.answers docs/schemas` writes the schemas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from evolve.answers.actions import (
    Check,
    Doctor,
    Export,
    Happening,
    Logs,
    Remark,
    Removed,
    SandboxFacts,
    Spending,
    Started,
    Steered,
    Waited,
)
from evolve.answers.base import Answer, Measure, Part, Ranked, State
from evolve.answers.campaigns import (
    Campaign,
    Campaigns,
    Evaluations,
    Fate,
    Limit,
    Run,
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

__all__ = [
    "ANSWERS",
    "Answer",
    "Archive",
    "Attempt",
    "Axis",
    "Best",
    "Campaign",
    "Campaigns",
    "Case",
    "ChampionEntry",
    "Champions",
    "Check",
    "Diff",
    "Doctor",
    "Edge",
    "Elite",
    "Evaluations",
    "Export",
    "Fate",
    "Happening",
    "Judgement",
    "Limit",
    "Lineage",
    "Logs",
    "Measure",
    "Node",
    "Part",
    "Ranked",
    "Remark",
    "Removed",
    "Run",
    "SandboxFacts",
    "Show",
    "Spending",
    "Staleness",
    "Started",
    "State",
    "Status",
    "Steered",
    "Waited",
    "schema",
    "write_schemas",
]

ANSWERS: Mapping[str, type[Answer]] = {
    "archive": Archive,
    "best": Best,
    "budget": Spending,
    "champions": Champions,
    "check": Check,
    "diff": Diff,
    "doctor": Doctor,
    "evaluations": Evaluations,
    "export": Export,
    "init": Started,
    "lineage": Lineage,
    "list": Campaigns,
    "logs": Logs,
    "pause": Steered,
    "remove": Removed,
    "show": Show,
    "status": Status,
    "stop": Steered,
    "wait": Waited,
}
"""The object that each command prints with `--json`."""


def schema(command: str) -> str:
    """JSON Schema of the object that `command` prints."""
    body = ANSWERS[command].model_json_schema(mode="serialization")
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **body}, indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path) -> None:
    """Write the schema of every command to `folder/<command>.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in ANSWERS:
        (folder / f"{command}.json").write_text(schema(command), encoding="utf-8")
