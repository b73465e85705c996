"""Reading a folder made for OpenEvolve: `initial_program.*`, `evaluator.py`, `config.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from archives.errors import ConfigError
from evolve.foreign import yaml
from evolve.foreign.found import Found, functions, program

_STAGES = ("evaluate_stage1", "evaluate_stage2", "evaluate_stage3")
_OWN = {"complexity": "lines", "diversity": "distance"}
_TIMEOUT = 300.0


def inspect(folder: Path) -> Found:
    """Say in our words what a folder holds.

    Raises:
        ConfigError: It holds no evaluator or no program.
    """
    evaluator = folder / "evaluator.py"
    if not evaluator.is_file():
        raise ConfigError(f"{folder}: no evaluator.py; name the folder that OpenEvolve is run with")
    found = Found("openevolve", path="evaluator.py")
    program(folder, "initial_program.*", found)
    found.map("evaluator.path", "evaluator.py", "evaluator.py")
    names = functions(evaluator)
    if "evaluate" not in names:
        found.notes.append("evaluator.py defines no function evaluate at its top; OpenEvolve asks for one")
    settings = _settings(folder, found)
    _evaluator(settings.pop("evaluator", {}) or {}, [stage for stage in _STAGES if stage in names], found)
    _database(settings.pop("database", {}) or {}, found)
    _rest(settings, found)
    return found


def _settings(folder: Path, found: Found) -> dict[str, Any]:
    paths = [path for path in (folder / "config.yaml", folder / "config.yml") if path.is_file()]
    paths = paths or sorted(folder.glob("config*.y*ml"))[:1]
    if not paths:
        found.notes.append("no config.yaml: OpenEvolve's defaults are taken")
        return {}
    found.notes.append(f"read {paths[0].name}")
    return yaml.read(paths[0].read_text(encoding="utf-8", errors="replace"))


def _evaluator(table: dict[str, Any], stages: list[str], found: Found) -> None:
    limit = table.pop("timeout", None)
    seconds = float(limit) if isinstance(limit, int | float) and limit > 0 else _TIMEOUT
    why = "evaluator.timeout" if limit is not None else "OpenEvolve's default"
    cascade = table.pop("cascade_evaluation", True) is not False
    runs = len(stages) if cascade and stages else 1
    found.timeout = seconds * runs + (5 if runs > 1 else 0)
    found.map("evaluator.timeout", f"{found.timeout:g} s", f"{why}, for each of {runs}" if runs > 1 else why)
    if runs > 1:
        found.options["stage_timeout"] = seconds
    if not cascade:
        found.options["cascade"] = False
        found.map("evaluator.openevolve.cascade", "false", "evaluator.cascade_evaluation")
    for ours, theirs in (("thresholds", "cascade_thresholds"), ("retries", "max_retries")):
        value = table.pop(theirs, None)
        if isinstance(value, int | list) and value != []:
            found.options[ours] = value
            found.map(f"evaluator.openevolve.{ours}", value, f"evaluator.{theirs}")
    arguments = table.pop("evaluator_args", None)
    if isinstance(arguments, dict):
        found.options["arguments"] = arguments
        found.map("evaluator.openevolve.arguments", ", ".join(arguments), "evaluator.evaluator_args")
    parallel = table.pop("parallel_evaluations", None)
    if isinstance(parallel, int) and parallel > 0:
        found.evaluate = parallel
        found.map("workers.evaluate", parallel, "evaluator.parallel_evaluations")
    if table:
        found.notes.append(f"left out of evaluator: {', '.join(sorted(table))}")


def _database(table: dict[str, Any], found: Found) -> None:
    features = table.pop("feature_dimensions", None)
    bins = table.pop("feature_bins", None)
    width = {"bins": bins} if isinstance(bins, int) and bins > 0 else {}
    if isinstance(features, list) and features:
        found.options["features"] = [str(each) for each in features]
        found.measures = [
            {"name": _OWN.get(str(each), str(each)), **width} for each in features if each != "score"
        ]
        shown = ", ".join(measure["name"] for measure in found.measures)
        found.map("archive.measures", shown or "default", "database.feature_dimensions")
    if table:
        found.notes.append(f"left out of database: {', '.join(sorted(table))}")


def _rest(settings: dict[str, Any], found: Found) -> None:
    iterations = settings.pop("max_iterations", None)
    if isinstance(iterations, int) and iterations > 0:
        found.proposals = iterations
        found.map("budget.proposals", iterations, "max_iterations")
    seed = settings.pop("random_seed", None)
    if isinstance(seed, int) and seed >= 0:
        found.seed = seed
        found.map("campaign.seed", seed, "random_seed")
    prompt = settings.pop("prompt", None)
    if isinstance(prompt, dict) and isinstance(prompt.get("system_message"), str):
        found.goal = prompt["system_message"].strip()
        found.map("campaign.goal", found.goal, "prompt.system_message")
    if "llm" in settings:
        found.notes.append("left out: llm; name your models under [models]")
        settings.pop("llm")
    if settings:
        found.notes.append(f"left out: {', '.join(sorted(settings))}")
