"""Evaluators of other systems, judged by us and held against what their own system made of them.

`expected.json` of a case is what the installed package itself said (`benchmarks/foreign/record_*.py` writes it).
Where ours differs on purpose, `[ours]` in `case.toml` says how, and which fault of theirs that avoids.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trio

from evaluators.contract import Outcome, Request
from evaluators.runner import Runner
from evaluators.spec import EvaluatorSpec
from evolve.config import parse
from evolve.foreign import entry_point, foreign

CASES = Path(__file__).parent.parent / "cases" / "foreign"
SYSTEMS = ("openevolve", "shinka", "gepa")
_PROGRAMS = {"openevolve": "initial_program.py", "shinka": "initial.py", "gepa": "candidate.txt"}
_HOST = {"attempt", "stderr", "traceback", "error_type", "timeout", "timeout_duration", "failure_stage"}
"""What OpenEvolve notes of its own accord."""
_TIMES = ("execution_time_mean", "execution_time_std")


@dataclass(frozen=True)
class Ours:
    """What we made of a case: the outcome, and which of its functions the evaluator says have run."""

    outcome: Outcome
    ran: list[str]


def folders(system: str) -> list[Path]:
    return sorted(path for path in (CASES / system).iterdir() if path.is_dir())


def judge(system: str, folder: Path) -> Ours:
    """Judge a case's candidate the way a campaign would."""
    case = tomllib.loads((folder / "case.toml").read_text())
    options = case.get(system, {})
    program = {} if "components" in options else {"program": case.get("program", _PROGRAMS[system])}
    table = {"contract": system, "timeout": case.get("timeout", 30), system: {**program, **options}}
    config = parse({"artifact": {"include": ["**"]}, "evaluator": table})
    spec = EvaluatorSpec(
        root=folder,
        function=entry_point(config.evaluator),
        foreign=foreign(config),
        timeout=config.evaluator.timeout,
        python=Path(sys.executable),
    )
    with tempfile.TemporaryDirectory() as name:
        return trio.run(_judge, spec, folder, Path(name))


async def _judge(spec: EvaluatorSpec, folder: Path, place: Path) -> Ours:
    checkout, scratch = place / "checkout", place / "scratch"
    scratch.mkdir()
    checkout.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (checkout / path.name).write_bytes(path.read_bytes())
    async with Runner(spec, checkout, scratch) as runner:
        outcome = await runner.evaluate(Request("0" * 40))
        notes = scratch / "ran"
        return Ours(outcome, notes.read_text().split() if notes.exists() else [])


def differences(system: str, folder: Path, ours: Ours) -> list[str]:
    """In which points ours is not what it has to be by what was recorded, in words; empty if it is."""
    return compared(system, folder, json.loads((folder / "expected.json").read_text()), ours)


def compared(system: str, folder: Path, theirs: dict[str, Any], ours: Ours) -> list[str]:
    """The same, by what their package has just said."""
    case = tomllib.loads((folder / "case.toml").read_text())
    outcome = ours.outcome
    meant = case.get("ours", {})
    verdict = meant.get("verdict", "failed" if theirs["failed"] else "judged")
    if outcome.verdict != verdict:
        return [f"verdict {outcome.verdict} ({outcome.reason}), not {verdict}"]
    found = []
    score = meant.get("score", theirs["score"])
    if verdict == "judged" and not _equal(outcome.score, score):
        found.append(f"score {outcome.score}, not {score}")
    if "ran" in theirs and ours.ran != theirs["ran"]:
        found.append(f"ran {ours.ran}, not {theirs['ran']}")
    if verdict == "judged" and not meant:
        found += _FURTHER[system](outcome, theirs)
    return found


def _equal(ours: Any, theirs: Any) -> bool:
    return isinstance(theirs, int | float) and ours is not None and math.isclose(ours, theirs, rel_tol=1e-12)


def _openevolve(outcome: Outcome, theirs: dict[str, Any]) -> list[str]:
    wanted = {name: value for name, value in theirs["metrics"].items() if isinstance(value, int | float)}
    found = _metrics(outcome, wanted)
    missing = set(theirs["artifacts"]) - _HOST - set(outcome.artifacts)
    return [*found, *(f"artifact {name} is missing" for name in sorted(missing))]


def _shinka(outcome: Outcome, theirs: dict[str, Any]) -> list[str]:
    public = theirs["metrics"].get("public", {})
    wanted = {name: value for name, value in public.items() if isinstance(value, int | float)}
    found = _metrics(outcome, wanted)
    shown = outcome.feedback + json.dumps(dict(outcome.artifacts)) + json.dumps(dict(outcome.metrics))
    said = [theirs["metrics"].get("text_feedback", ""), *(v for v in public.values() if isinstance(v, str))]
    found += [f"{text!r} is missing from the feedback" for text in said if text not in shown]
    hidden = [name for name in theirs["metrics"].get("private", {}) if name in shown]
    return found + [f"the private metric {name} is shown" for name in hidden]


def _gepa(outcome: Outcome, theirs: dict[str, Any]) -> list[str]:
    found = _metrics(outcome, theirs["objectives"])
    single = not outcome.cases
    if not single:
        scores = {case.name: case.score for case in outcome.cases}
        found += [
            f"case {n}: {scores.get(n)}, not {s}" for n, s in theirs["cases"].items() if scores.get(n) != s
        ]
    texts = {case.name: case.feedback or "" for case in outcome.cases}
    for example, info in theirs["info"].items():
        text = outcome.feedback if single else texts[example]
        names = {name for name in info if name != "scores" and not name.startswith("_gepa_")}
        found += [
            f"example {example}: {n} is missing from the feedback" for n in names if f"{n}:" not in text
        ]
        if single:
            found += [f"artifact {name} is missing" for name in set(info) - set(outcome.artifacts)]
    return found


_FURTHER = {"openevolve": _openevolve, "shinka": _shinka, "gepa": _gepa}


def _metrics(outcome: Outcome, wanted: dict[str, Any]) -> list[str]:
    found = []
    for name, value in wanted.items():
        if name not in _TIMES and not _equal(outcome.metrics.get(name), value):
            found.append(f"metric {name} is {outcome.metrics.get(name)}, not {value}")
    return found
