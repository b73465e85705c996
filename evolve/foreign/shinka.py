"""Reading a folder made for ShinkaEvolve: `initial.*`, `evaluate.py`, and what starts the search."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from archives.errors import ConfigError
from evolve.foreign import yaml
from evolve.foreign.found import Found, constants, literal, parsed, program

_WANTED = ("num_generations", "task_sys_msg", "time", "extra_cmd_args", "max_evaluation_jobs")
_TIMEOUT = 3600.0


def inspect(folder: Path) -> Found:
    """Say in our words what a folder holds.

    Raises:
        ConfigError: It holds no evaluator or no program.
    """
    if not (folder / "evaluate.py").is_file():
        raise ConfigError(f"{folder}: no evaluate.py; name the task folder of ShinkaEvolve")
    found = Found("shinka", path="evaluate.py")
    program(folder, "initial.*", found)
    found.map("evaluator.path", "evaluate.py", "evaluate.py")
    settings = _settings(folder, found)
    _take(settings, found)
    return found


def _settings(folder: Path, found: Found) -> dict[str, Any]:
    """The settings this is about, from configuration files and from scripts that start the search."""
    gathered: dict[str, Any] = {}
    for path in sorted([*folder.glob("*.y*ml"), *folder.glob("run*.py")]):
        text = path.read_text(encoding="utf-8", errors="replace")
        known = _flat(yaml.read(text)) if path.suffix != ".py" else _called_with(path)
        known = {key: value for key, value in known.items() if key in _WANTED and value is not None}
        if known:
            found.notes.append(f"read {', '.join(sorted(known))} from {path.name}")
        gathered = {**known, **gathered}
    return gathered


def _flat(table: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found[key] = value
        if isinstance(value, dict) and key != "extra_cmd_args":
            found |= _flat(value)
    return found


def _called_with(path: Path) -> dict[str, Any]:
    """Keyword arguments with literal values of all calls in a script."""
    tree = parsed(path)
    if tree is None:
        return {}
    names = constants(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        word.arg: literal(word.value, names)
        for call in calls
        for word in call.keywords
        if word.arg is not None
    }


def _take(settings: dict[str, Any], found: Found) -> None:
    generations = settings.get("num_generations")
    if isinstance(generations, int) and generations > 0:
        found.proposals = generations
        found.map("budget.proposals", generations, "num_generations")
    message = settings.get("task_sys_msg")
    if isinstance(message, str):
        found.goal = message.strip()
        found.map("campaign.goal", found.goal, "task_sys_msg")
    found.timeout = _seconds(settings.get("time"))
    found.map("evaluator.timeout", f"{found.timeout:g} s", "time" if "time" in settings else "none was given")
    arguments = settings.get("extra_cmd_args")
    if isinstance(arguments, dict) and arguments:
        found.options["arguments"] = arguments
        found.map("evaluator.shinka.arguments", ", ".join(arguments), "extra_cmd_args")
    jobs = settings.get("max_evaluation_jobs")
    if isinstance(jobs, int) and jobs > 0:
        found.evaluate = jobs
        found.map("workers.evaluate", jobs, "max_evaluation_jobs")
    found.notes.append(
        "left out: models, islands and all other settings of the search; see [models], [search]"
    )


def _seconds(time: Any) -> float:
    """Seconds of a time such as "00:05:00"; the default where it is none."""
    parts = str(time).split(":")
    if len(parts) == 3 and all(part.isdigit() for part in parts):
        return max(1.0, int(parts[0]) * 3600.0 + int(parts[1]) * 60 + int(parts[2]))
    return _TIMEOUT
