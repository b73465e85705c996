from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from handmade import SCHEMAS

from evolve.answers import Check, SandboxFacts
from evolve.answers.schemas import ANSWERS, schema

ABOUT_ONE = """candidate commit parents inspirations operator score metrics cases feedback verdict measures
    cell evidence"""
STABLE = {
    "status": """version campaign state reason proposals candidates evaluations failed duplicates stale elites
        coverage champion best_score baseline_score budget in_flight""",
    "best": ABOUT_ONE,
    "show": ABOUT_ONE,
    "evaluations": "evaluations",
    "lineage": "nodes edges",
    "check": "verdict score runs noise seconds sandbox operators",
}


@pytest.mark.parametrize("command", ANSWERS)
def test_the_published_schema_is_the_models(command: str) -> None:
    published = (SCHEMAS / f"{command}.json").read_text(encoding="utf-8")
    assert published == schema(command), "run: python -m evolve.answers docs/schemas"
    jsonschema.Draft202012Validator.check_schema(json.loads(published))


def test_no_schema_is_left_over() -> None:
    assert {path.stem for path in SCHEMAS.glob("*.json")} == set(ANSWERS)


@pytest.mark.parametrize("command", STABLE)
def test_promised_fields_are_always_there(command: str) -> None:
    assert set(STABLE[command].split()) <= set(json.loads(schema(command))["required"])


@pytest.mark.parametrize("command", ANSWERS)
def test_every_field_is_documented(command: str) -> None:
    found = json.loads(schema(command))
    for part in (found, *found.get("$defs", {}).values()):
        assert part.get("description"), part["title"]
        for name, field in part["properties"].items():
            assert field.get("description"), f"{part['title']}.{name}"


def test_numbers_json_cannot_say_become_null(tmp_path: Path) -> None:
    walls = SandboxFacts(tier="processes", walls=[], missing=[], isolated=False, inside=[])
    check = Check(
        verdict="judged",
        score=float("nan"),
        runs=1,
        noise=float("inf"),
        seconds=0.1,
        executor="on this machine",
        sandbox=walls,
        operators=["tune"],
    )
    found = json.loads(check.to_json())
    assert (found["score"], found["noise"], found["seconds"]) == (None, None, 0.1)
