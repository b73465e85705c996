"""The JSON Schemas of the answers, made of their types and of the texts below their fields."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import TypeAdapter

from evolve.answers import (
    Answer,
    Archive,
    Best,
    Campaigns,
    Champions,
    Check,
    Costs,
    Diff,
    Doctor,
    Evaluations,
    Export,
    Lessons,
    Lineage,
    Logs,
    Part,
    Prompts,
    Proposed,
    Removed,
    Show,
    Spending,
    Started,
    Status,
    Steered,
    TriedReply,
    Waited,
)

ANSWERS: Mapping[str, type[Answer]] = {
    "archive": Archive,
    "best": Best,
    "budget": Spending,
    "champions": Champions,
    "check": Check,
    "costs": Costs,
    "diff": Diff,
    "doctor": Doctor,
    "evaluations": Evaluations,
    "export": Export,
    "init": Started,
    "lessons": Lessons,
    "lineage": Lineage,
    "list": Campaigns,
    "logs": Logs,
    "pause": Steered,
    "propose": Proposed,
    "prompts": Prompts,
    "reevaluate": Steered,
    "remove": Removed,
    "show": Show,
    "status": Status,
    "stop": Steered,
    "try-reply": TriedReply,
    "wait": Waited,
}
"""The object that each command prints with `--json`."""


def schema(command: str) -> str:
    """JSON Schema of the object that `command` prints."""
    _describe(Part)
    body = TypeAdapter(ANSWERS[command]).json_schema(mode="serialization")
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**dialect, **body}, indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path) -> None:
    """Write the schema of every command to `folder/<command>.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in ANSWERS:
        (folder / f"{command}.json").write_text(schema(command), encoding="utf-8")


def _describe(part: type[Part]) -> None:
    """Attach to the fields of all parts what stands below them; who inherits a field inherits its text."""
    for kind in part.__subclasses__():
        fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
        for name, text in _texts(kind).items():
            fields[name].metadata = MappingProxyType({"description": text})
        _describe(kind)


def _texts(kind: type[Part]) -> dict[str, str]:
    """The strings below the fields that a class adds, by field."""
    (definition,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for line, following in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            value = following.value if isinstance(following, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[line.target.id] = inspect.cleandoc(value.value)
    return found
