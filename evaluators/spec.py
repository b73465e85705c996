"""What an evaluator is: how it is started, what it may use, and within which limits."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from archives.errors import ConfigError
from evaluators.foreign import Foreign

Warm = bool | Literal["auto"]
SandboxMode = Literal["auto", "strict", "none"]
Origin = Literal["protected", "editable", "added"]
"""Who answers for a path of the checkout: nobody but the user, or a candidate, which may have added it."""

_FUNCTION = re.compile(r"(?P<file>[^:]+\.py):(?P<name>[A-Za-z_]\w*)")
_SHELL = re.compile(r"[|&;<>()$`\\\n*?\[\]#~{}!]|^\w+=")
"""What `/bin/sh` gives a meaning to that plain splitting would lose."""


@dataclass(frozen=True, slots=True)
class Provided:
    """Something that is not in the tree but appears, read-only, in every checkout.

    Attributes:
        path: Where it appears, relative to the checkout.
        source: What appears there.
    """

    path: str
    source: Path


@dataclass(frozen=True, slots=True)
class EvaluatorSpec:
    """An evaluator as configured; see `[evaluator]` in `evolve.toml`.

    Attributes:
        root: Root of the user's repository; `data` is relative to it.
        command: Command line, run in the checkout. Either this, `argv` or `function`.
        argv: The same as words that need no splitting.
        function: "file.py:name", called as `name(candidate_dir, request)`.
        foreign: What is called instead, where `function` is an evaluator of another system.
        objective: "score" or the name of a metric.
        timeout: Seconds one evaluation may take.
        python: The user's interpreter; None takes the `python` on PATH.
        env: Names of environment variables that are handed on.
        data: Untracked paths, relative to `root`, that appear read-only in every checkout.
        network: Whether the network may be reached.
        memory: Bytes one evaluation may use.
        cpus: Processors one evaluation may use.
        threads: What the usual numeric libraries are told about threads.
        warm: Whether a function's libraries stay loaded between evaluations.
        sandbox: "auto" takes the walls there are, "strict" insists on all, "none" does without.
        setup: Command that is run once per evaluator version.
        output_cap: Bytes kept of each output stream.
        hide: Folders that appear empty inside an evaluation.
        show: Files and folders that can be read although they lie in a hidden folder.
        provided: Further things that appear in every checkout, such as what `setup` built.
        known: Names handed to the evaluator with each request, such as the tests there are on the base.
        origin: Who answers for a path of the checkout, relative to the root of the repository; None holds the
            candidate for the author of all files that the evaluator does not name.
    """

    root: Path
    command: str | None = None
    argv: tuple[str, ...] = ()
    function: str | None = None
    objective: str = "score"
    timeout: float = 60.0
    python: Path | None = None
    env: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    network: bool = False
    memory: int | None = None
    cpus: int | None = None
    threads: int = 1
    warm: Warm = "auto"
    sandbox: SandboxMode = "auto"
    setup: str | None = None
    output_cap: int = 256 * 1024
    hide: tuple[Path, ...] = ()
    show: tuple[Path, ...] = ()
    provided: tuple[Provided, ...] = ()
    known: tuple[str, ...] = ()
    origin: Callable[[str], Origin] | None = None
    foreign: Foreign | None = None

    def __post_init__(self) -> None:
        if sum((self.command is not None, self.function is not None, bool(self.argv))) != 1:
            raise ConfigError("evaluator: give either command or function, and not both")
        if self.function is not None and not _FUNCTION.fullmatch(self.function):
            raise ConfigError(f'evaluator.function = "{self.function}": write it as "evaluate.py:evaluate"')
        if self.command is not None and not self.command.strip():
            raise ConfigError("evaluator.command is empty: give the command that judges a candidate")
        if not self.timeout > 0:
            raise ConfigError(f"evaluator.timeout = {self.timeout}: give a time above 0")
        for path in self.data:
            _check_relative(path)

    def function_parts(self) -> tuple[str, str]:
        """Return file and name of the function form."""
        match = _FUNCTION.fullmatch(self.function or "")
        if match is None:
            raise ConfigError(f'evaluator.function = "{self.function}": write it as "evaluate.py:evaluate"')
        return match["file"], match["name"]

    def words(self) -> tuple[str, ...]:
        """Return the paths, and other words, that the command or function names."""
        if self.function is not None:
            return (self.function_parts()[0],)
        if self.argv:
            return self.argv
        try:
            return tuple(shlex.split(self.command or ""))
        except ValueError:
            return tuple((self.command or "").split())

    def provisions(self) -> tuple[Provided, ...]:
        """Return everything that is put into each checkout."""
        data = (Provided(str(PurePosixPath(path)), self.root / path) for path in self.data)
        return (*data, *self.provided)


def command_line(command: str) -> list[str]:
    """Split a command for execution; one that needs a shell becomes `/bin/sh -c command`."""
    if _SHELL.search(command):
        return ["/bin/sh", "-c", command]
    try:
        return shlex.split(command)
    except ValueError as error:
        raise ConfigError(f'evaluator.command = "{command}": {error}') from None


def _check_relative(path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or ".git" in parts:
        raise ConfigError(
            f'evaluator.data = "{path}": give a path inside the repository, relative to its root'
        )
