"""Evaluators that need no script of the user's: a pytest suite, and timing beside the base."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from archives.errors import ConfigError
from evaluators.environment import SUPPLIED
from evolve.globs import matcher
from evolve.tables.judging import EvaluatorTable

BESIDE = ".evolve-base"
"""Where the base lies in the checkout of a candidate that is timed beside it."""
_SCRIPTS = SUPPLIED / "evaluators"
_RUN_BY_PYTEST = [
    *("**/conftest.py", "**/pytest.ini", "**/.pytest.ini", "**/pytest.toml", "**/.pytest.toml", "**/tox.ini"),
    *("**/setup.cfg", "**/pyproject.toml", "**/test_*.py", "**/*_test.py", "**/*.dist-info/**"),
    *("**/*.egg-info/**", "**/sitecustomize.py", "**/usercustomize.py"),
]


def argv(table: EvaluatorTable, prefix: str, listing: bool = False) -> tuple[str, ...]:
    """The command of a ready-made evaluator; empty if it is the user's own.

    Args:
        table: The configuration.
        prefix: Folder of the configuration inside the repository, "" or ending in "/".
        listing: Whether the tests of a suite shall be listed, not run.
    """
    if table.pytest is not None:
        return ("python", str(_SCRIPTS / "suite.py"), *(["--list"] if listing else []), *words(table))
    if table.benchmark is not None:
        return ("python", str(_SCRIPTS / "pairs.py"), f"{BESIDE}/{prefix}".rstrip("/"), table.benchmark)
    return ()


def words(table: EvaluatorTable) -> list[str]:
    """The words of the setting that says what a ready-made evaluator runs.

    Raises:
        ConfigError: Its quotes do not match.
    """
    name, text = ("pytest", table.pytest) if table.pytest is not None else ("benchmark", table.benchmark)
    try:
        found = shlex.split(text or "")
    except ValueError as error:
        raise ConfigError(f"evaluator.{name}: {error}; check the quotes") from None
    if name == "benchmark" and len(found) == 1:
        return [found[0].rsplit(":", 1)[0]]
    return [word.split("::", 1)[0] for word in found] if name == "pytest" else found


def protects(table: EvaluatorTable, prefix: str) -> Callable[[str], bool]:
    """A test for what belongs to a suite, or could change what comes of it: no candidate may touch it."""
    if table.pytest is None:
        return lambda path: False
    roots = [prefix + word.removeprefix("./").rstrip("/") for word in words(table) if word[:1] != "-"]
    settings = matcher(_RUN_BY_PYTEST)
    return lambda path: settings(path) or any(path == root or path.startswith(root + "/") for root in roots)
