"""What a repository says about itself: who judges, what may change, which interpreter.

Guesses for `evolve init`, from tracked files alone: nothing of the repository is run or imported. Each guess
carries the reason for it, so that the person who reads the configuration can tell a good one from a bad one.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

EVALUATORS = ("evaluate.py", "evaluator.py", "eval.py", "score.py", "benchmark.py", "bench.py")
"""Names under which an evaluator is looked for, in this order."""
MOST_LOOKED_AT = 100
"""Files that are looked into for a function `evaluate` where none has such a name."""
SOURCES = frozenset(
    (
        ".c", ".cc", ".cpp", ".cs", ".cu", ".cxx", ".f90", ".go", ".h", ".hpp", ".hs", ".java", ".jl",
        ".js", ".kt", ".lua", ".m", ".mjs", ".ml", ".php", ".pl", ".py", ".pyx", ".r", ".rb", ".rs",
        ".scala", ".sh", ".sql", ".swift", ".ts", ".zig",
    )
)  # fmt: skip
_BLOCK_MARK = b"EVOLVE-BLOCK-START"
_ASIDE = frozenset(
    (
        "benchmarks", "build", "dist", "doc", "docs", "examples", "scripts", "test", "testing",
        "tests", "tools", "vendor",
    )
)  # fmt: skip
_ASIDE_FILES = frozenset({"setup.py", "conftest.py", "noxfile.py", "tasks.py", "manage.py"})
_LARGEST = 1_000_000
_MOST_FILES = 400
_ENVIRONMENTS = (".venv", "venv", "env")


@dataclass(frozen=True, slots=True)
class Guess:
    """One guess and why."""

    value: str
    why: str


@dataclass(slots=True)
class Detected:
    """What was found in a folder of a repository.

    Attributes:
        function: Evaluator in function form, such as "evaluate.py:evaluate".
        command: Evaluator in command form.
        include: Files that may change.
        include_why: Why these.
        python: Interpreter for the evaluator; None: the one on PATH.
        tests: Folder or file of the tests, if there are any.
        notes: What a person has to look at.
    """

    function: Guess | None = None
    command: Guess | None = None
    include: list[str] = field(default_factory=list)
    include_why: str = ""
    python: Guess | None = None
    tests: str | None = None
    notes: list[str] = field(default_factory=list)


def detect(folder: Path, tracked: Sequence[str], environment: Mapping[str, str] | None = None) -> Detected:
    """Look at a folder.

    Args:
        folder: Folder the configuration is for.
        tracked: Its tracked files, as paths relative to it with "/".
        environment: Environment variables; those of this process if None.
    """
    found = Detected()
    evaluator = _evaluator(folder, tracked, found)
    found.tests = _tests(tracked)
    found.include, found.include_why = _include(folder, tracked, evaluator)
    if not found.include:
        found.notes.append("artifact.include: found no file that could change; name the files yourself")
    found.python = _python(folder, os.environ if environment is None else environment, found.notes)
    return found


def _evaluator(folder: Path, tracked: Sequence[str], found: Detected) -> str | None:
    path = _evaluator_file(folder, tracked)
    if path is None:
        found.notes.append(
            "evaluator: there is no evaluate.py; write one (`evolve init --evaluator` starts it)"
        )
        return None
    if path not in tracked:
        found.notes.append(f"{path} is not tracked by Git; commit it, for a campaign starts from a commit")
    arguments = _arguments_of_evaluate(folder / path)
    if _judges(folder / path):
        found.function = Guess(f"{path}:evaluate", f"{path} defines evaluate()")
        return path
    found.command = Guess(f"python {path}", f"{path} exists" if arguments is None else "it runs as a program")
    if arguments is not None:
        found.notes.append(
            f"{path}: evaluate() does not take (candidate_dir, request), so it is run as a program: "
            "it has to print the score as its last line"
        )
    return path


def _evaluator_file(folder: Path, tracked: Sequence[str]) -> str | None:
    for name in EVALUATORS:
        if (folder / name).is_file():
            return name
    below = [path for path in tracked if PurePosixPath(path).name in EVALUATORS[:2]]
    named = min(below, key=lambda path: (path.count("/"), path), default=None)
    if named is not None:
        return named
    here = [path for path in tracked if path.endswith(".py") and "/" not in path][:MOST_LOOKED_AT]
    judging = [path for path in here if _judges(folder / path)]
    return judging[0] if len(judging) == 1 else None


def _judges(path: Path) -> bool:
    """Whether a file defines an evaluator in function form, whatever it is called."""
    arguments = _arguments_of_evaluate(path)
    return arguments is not None and arguments[0] <= 2 <= arguments[1]


def _arguments_of_evaluate(path: Path) -> tuple[float, float] | None:
    """Least and greatest number of positional arguments of a top-level `evaluate`; None without one."""
    tree = _parse(path)
    for node in tree.body if tree else ():
        if isinstance(node, ast.FunctionDef) and node.name == "evaluate":
            arguments = node.args
            most = len(arguments.posonlyargs) + len(arguments.args)
            return most - len(arguments.defaults), float("inf") if arguments.vararg else most
    return None


def _parse(path: Path) -> ast.Module | None:
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def _tests(tracked: Sequence[str]) -> str | None:
    for path in tracked:
        parts = PurePosixPath(path).parts
        if parts[0] in ("tests", "test"):
            return parts[0]
        if parts[-1].startswith("test_") and parts[-1].endswith(".py"):
            return path
    return None


def _include(folder: Path, tracked: Sequence[str], evaluator: str | None) -> tuple[list[str], str]:
    candidates = [path for path in tracked if path != evaluator and not path.endswith("evolve.toml")]
    marked = [path for path in candidates if _is_source(path) and _is_marked(folder / path)]
    if marked:
        return marked, "marked with EVOLVE-BLOCK-START"
    if evaluator is not None:
        used = _used_by(folder, evaluator, candidates)
        if used:
            return used, f"used by {evaluator}"
    rest = [path for path in candidates if _is_source(path) and not _is_aside(path)]
    return _globs(rest), "source files that are no tests, documentation or tools"


def _is_source(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in SOURCES


def _is_marked(path: Path) -> bool:
    try:
        return path.stat().st_size <= _LARGEST and _BLOCK_MARK in path.read_bytes()
    except OSError:
        return False


def _is_aside(path: str) -> bool:
    place = PurePosixPath(path)
    named = place.name.startswith(("test_", ".")) or place.name in _ASIDE_FILES or place.name in EVALUATORS
    return named or any(part in _ASIDE or part.startswith(".") for part in place.parts[:-1])


def _used_by(folder: Path, evaluator: str, candidates: Sequence[str]) -> list[str]:
    """Tracked files the evaluator imports or names, sources if there are any."""
    tree = _parse(folder / evaluator)
    if tree is None:
        return []
    home = PurePosixPath(evaluator).parent
    named: set[str] = set()
    for node in ast.walk(tree):
        for name in _modules(node):
            stem = name.replace(".", "/")
            for place in {"", "src", str(home)}:
                start = str(PurePosixPath(place) / stem)
                named |= {f"{start}.py", f"{start}/__init__.py"}
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            named |= {node.value, str(home / node.value)}
    used = [path for path in candidates if path in named]
    return [path for path in used if _is_source(path) and not _is_aside(path)] or [
        path for path in used if not _is_source(path) and not _is_aside(path)
    ][:1]


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.ImportFrom):
        return [alias.name for alias in node.names]
    return []


def _globs(paths: Sequence[str]) -> list[str]:
    """The paths themselves if they are few, else one glob a folder and suffix."""
    if len(paths) <= 5:
        return list(paths)
    globs = dict.fromkeys(
        f"{place.parts[0]}/**/*{place.suffix}" if len(place.parts) > 1 else f"*{place.suffix}"
        for place in map(PurePosixPath, paths[:_MOST_FILES])
    )
    return list(globs)


def _python(folder: Path, environment: Mapping[str, str], notes: list[str]) -> Guess | None:
    for place in (folder, *folder.parents):
        for name in _ENVIRONMENTS:
            python = place / name / "bin" / "python"
            if (place / name / "pyvenv.cfg").is_file() and python.exists():
                return Guess(os.path.relpath(python, folder), f"the environment {name}")
        if (place / ".git").exists():
            break
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        active = environment.get(variable)
        if active and (Path(active) / "bin" / "python").exists():
            return Guess(str(Path(active) / "bin" / "python"), f"the active environment ({variable})")
    for lock, make, ask in (
        ("uv.lock", "uv sync", ".venv/bin/python"),
        ("poetry.lock", "poetry install", "the path that `poetry env info --executable` prints"),
        ("Pipfile.lock", "pipenv sync", "the path that `pipenv --py` prints"),
        ("environment.yml", "conda env create", "its interpreter"),
    ):
        if (folder / lock).is_file():
            notes.append(
                f"{lock} is there but no environment: run `{make}`, then set evaluator.python to {ask}"
            )
            break
    return None
