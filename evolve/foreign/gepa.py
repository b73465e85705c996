"""Reading a folder made for GEPA: a script that calls `optimize_anything`, or an evaluator alone.

GEPA has no layout of its own: seed, evaluator and dataset are arguments of one call. So that call is looked
for, without running anything; a seed that stands in the script becomes a file, because a candidate is files.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from archives.errors import ConfigError
from evolve.foreign.found import Found, constants, functions, literal, parsed

_EVALUATORS = ("evaluate", "evaluator", "fitness", "metric")
_FILES = ("evaluator.py", "evaluate.py", "main.py")
_CANDIDATE = "candidate.txt"


def inspect(folder: Path) -> Found:
    """Say in our words what a folder holds.

    Raises:
        ConfigError: It holds no evaluator.
    """
    found = Found("gepa", timeout=300.0)
    paths = sorted(folder.glob("*.py"), key=lambda path: (path.name not in _FILES, path.name))
    for path in paths:
        call = _start(path)
        if call is not None:
            found.notes.append(f"read the call of optimize_anything in {path.name}")
            return _from_call(folder, path, call, found)
    for path in paths:
        named = [name for name in _EVALUATORS if name in functions(path)]
        if named:
            found.path = f"{path.name}:{named[0]}"
            found.map("evaluator.path", found.path, f"{path.name} defines {named[0]}()")
            return _from_files(folder, found)
    raise ConfigError(f"{folder}: no call of optimize_anything and no function evaluate in any Python file")


def _start(path: Path) -> ast.Call | None:
    tree = parsed(path)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name == "optimize_anything":
                return node
    return None


def _from_call(folder: Path, path: Path, call: ast.Call, found: Found) -> Found:
    tree = parsed(path)
    assert tree is not None  # it was parsed to find the call
    names = constants(tree)
    words = {word.arg: word.value for word in call.keywords if word.arg}
    if call.args:
        words.setdefault("seed_candidate", call.args[0])
    homes = _imported(folder, path, tree)
    _functions(words, homes, path, found)
    _dataset(words, homes, path, found)
    _seed(folder, literal(words["seed_candidate"], names) if "seed_candidate" in words else None, found)
    goal = literal(words["objective"], names) if "objective" in words else None
    if isinstance(goal, str):
        found.goal = goal.strip()
        found.map("campaign.goal", found.goal, "objective")
    for inner in ast.walk(tree):  # its configuration may be made anywhere in the script
        if isinstance(inner, ast.keyword):
            _setting(inner, names, found)
    found.notes.append("left out: everything else of its configuration; name your models under [models]")
    return found


def _functions(words: dict[str, ast.expr], homes: dict[str, str], path: Path, found: Found) -> None:
    for word, key in (("evaluator", "path"), ("batch_evaluator", "batch")):
        node = words.get(word)
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            continue
        if not isinstance(node, ast.Name):
            found.notes.append(f"{word}: give the function a name at the top of a file, and name it")
            continue
        home = homes.get(node.id, path.name)
        if key == "path":
            found.path = f"{home}:{node.id}"
        else:
            found.options["batch"] = node.id
            found.path = f"{home}:{node.id}" if not found.path else found.path
        found.map(f"evaluator.{'' if key == 'path' else 'gepa.'}{key}", node.id, f"{word} of the call")
    if not found.path:
        raise ConfigError(f"{path}: the call of optimize_anything names no evaluator that can be found")


def _dataset(words: dict[str, ast.expr], homes: dict[str, str], path: Path, found: Found) -> None:
    """The examples that scores are made of: those of `valset`, else those of `dataset`."""
    for word in ("valset", "dataset"):
        node = words.get(word)
        if isinstance(node, ast.Name):
            found.options["dataset"] = f"{homes.get(node.id, path.name)}:{node.id}"
            found.map("evaluator.gepa.dataset", node.id, f"{word} of the call")
            return
        if node is not None and not (isinstance(node, ast.Constant) and node.value is None):
            found.notes.append(
                f"{word}: give the examples a name at the top of a file, and name it as dataset"
            )


def _seed(folder: Path, seed: Any, found: Found) -> None:
    if isinstance(seed, str):
        file = f"candidate{_suffix(seed)}"
        found.include = [file]
        found.write[file] = seed
        found.map("artifact.include", file, "seed_candidate of the call, written there")
    elif isinstance(seed, dict) and all(isinstance(text, str) for text in seed.values()) and seed:
        files = {name: f"{_plain(name)}{_suffix(text)}" for name, text in seed.items()}
        found.include = list(files.values())
        found.options["components"] = files
        found.write |= {files[name]: text for name, text in seed.items()}
        found.map("evaluator.gepa.components", ", ".join(files), "seed_candidate of the call, written there")
    else:
        _from_files(folder, found)


def _from_files(folder: Path, found: Found) -> Found:
    """Take a file that looks like a candidate."""
    taken = found.path.partition(":")[0]
    likely = [
        path.name
        for stem in ("candidate", "seed", "prompt", "initial")
        for path in sorted(folder.glob(f"{stem}*"))
    ]
    likely = [name for name in likely if name != taken and (folder / name).is_file()]
    found.include = likely[:1] or [_CANDIDATE]
    if likely:
        found.map("artifact.include", likely[0], "its name")
    else:
        found.notes.append(f"no seed that can be read: write it to {_CANDIDATE}, and commit it")
    return found


def _plain(name: str) -> str:
    return (
        "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in name).strip(".")
        or "text"
    )


def _suffix(text: str) -> str:
    """`.py` for what is a Python program, so that operators for Python work on it."""
    statements = (ast.Assign, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Return)
    try:
        return ".py" if any(isinstance(node, statements) for node in ast.parse(text).body) else ".txt"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ".txt"


def _imported(folder: Path, path: Path, tree: ast.Module) -> dict[str, str]:
    """Which file of the folder a name of the script comes from."""
    homes: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            file = node.module.rpartition(".")[2] + ".py"
            if (folder / file).is_file():
                homes |= {alias.asname or alias.name: file for alias in node.names}
    return homes


def _setting(word: ast.keyword, names: dict[str, Any], found: Found) -> None:
    value = literal(word.value, names)
    if word.arg in ("max_metric_calls", "max_evals", "max_candidate_proposals") and isinstance(value, int):
        found.proposals = max(1, value)
        found.map("budget.proposals", value, word.arg)
    elif word.arg in ("capture_stdio", "raise_on_exception") and isinstance(value, bool):
        found.options[word.arg] = value
        found.map(f"evaluator.gepa.{word.arg}", str(value).lower(), word.arg)
