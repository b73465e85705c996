"""What a folder made for another system says, and the configuration that follows from it."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from archives.errors import ConfigError
from evolve.quoting import one_line

_MARK = b"EVOLVE-BLOCK-START"
_LONGEST_GOAL = 4000


@dataclass(slots=True)
class Found:
    """A folder of another system in our words.

    Attributes:
        system: Whose it is.
        path: The evaluator, for GEPA with its function.
        include: Files that may change.
        options: The table named after the system.
        goal: What should get better.
        seed: Seed of the random choices.
        timeout: Seconds of one evaluation.
        proposals: Budget.
        evaluate: Evaluations at a time.
        measures: Axes of the archive.
        write: Files that have to be made, such as a seed that stands in a script; path to text.
        mapped: Key of ours, and where it comes from.
        notes: What a person has to look at, what was left out.
    """

    system: str
    path: str = ""
    include: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    goal: str = ""
    seed: int | None = None
    timeout: float | None = None
    proposals: int | None = None
    evaluate: int | None = None
    measures: list[dict[str, Any]] = field(default_factory=list)
    write: dict[str, str] = field(default_factory=dict)
    mapped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def map(self, key: str, value: object, why: str) -> None:
        """Note where a setting comes from."""
        self.mapped[key] = f"{one_line(str(value))[:60]} ({why})"


def configuration(found: Found, name: str = "") -> str:
    """The text of evolve.toml."""
    system = f"evaluator.{found.system}"
    tables: dict[str, dict[str, Any]] = {
        "campaign": {"name": name, "goal": found.goal[:_LONGEST_GOAL], "seed": found.seed},
        "artifact": {"include": found.include},
        "evaluator": {"contract": found.system, "path": found.path, "timeout": found.timeout},
        system: {key: value for key, value in found.options.items() if not isinstance(value, dict)},
        **{f"{system}.{key}": value for key, value in found.options.items() if isinstance(value, dict)},
        "archive": {"measures": found.measures},
        "workers": {"evaluate": found.evaluate},
        "budget": {"proposals": found.proposals or 200},
    }
    parts = [
        f"# Made by `evolve init --from {found.system}`. `evolve check` tries it, `evolve run` runs it.\n"
    ]
    for title, table in tables.items():
        lines = [
            f"{_key(key)} = {toml(value)}" for key, value in table.items() if value not in (None, "", [])
        ]
        if lines:
            parts.append("\n".join([f"[{title}]", *lines]) + "\n")
    return "\n".join(parts)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("-", "").replace("_", "").isalnum() else toml(name)


def toml(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def program(folder: Path, pattern: str, found: Found) -> None:
    """Take the file of a pattern as what may change.

    Raises:
        ConfigError: There is none.
    """
    names = sorted(path.name for path in folder.glob(pattern) if path.is_file())
    if not names:
        raise ConfigError(f"{folder}: no {pattern}; name the folder that holds it with the evaluator")
    found.include = names[:1]
    marked = _MARK in (folder / names[0]).read_bytes()
    only = ", only between its EVOLVE-BLOCK marks" if marked else ""
    found.map("artifact.include", names[0], f"{pattern}{only}")
    if len(names) > 1:
        found.notes.append(f"left out: {', '.join(names[1:])}; candidates have one program")


def functions(path: Path) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions at the top of a Python file; empty where it cannot be parsed."""
    tree = parsed(path)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: node for node in (tree.body if tree else ()) if isinstance(node, kinds)}


def parsed(path: Path) -> ast.Module | None:
    """The syntax of a Python file; None where it has none."""
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def constants(tree: ast.Module) -> dict[str, Any]:
    """Names at the top of a file that stand for literals."""
    found: dict[str, Any] = {}
    for node in tree.body:
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        value = (
            literal(node.value, found)
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value
            else None
        )
        if value is not None:
            found |= {target.id: value for target in targets if isinstance(target, ast.Name)}
    return found


def literal(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression made of literals and known names; None where it is more than that."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Dict):
        items = [
            (literal(k, names) if k else None, literal(v, names))
            for k, v in zip(node.keys, node.values, strict=True)
        ]
        return dict(items) if all(v is not None and isinstance(k, str) for k, v in items) else None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
