"""Which walls an evaluation gets on this machine."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from archives.errors import EvaluatorError
from evaluators.spec import EvaluatorSpec, SandboxMode

Tier = Literal["namespaces", "processes"]

_WALLS = {
    "processes": "own process tree, killed whole",
    "files": "file system read-only but for checkout and scratch",
    "home": "home, repository and temporary folders hidden",
    "proc": "other processes invisible",
    "devices": "harmless devices only",
    "ipc": "own shared memory",
    "network": "no network",
    "nested namespaces": "no further namespaces",
    "terminals": "own terminals",
}
_WITHOUT_NAMESPACES = ("process tree killed whole", "limits per process", "environment scrubbed")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What stands between an evaluation and the rest of the machine.

    Attributes:
        tier: "namespaces" holds against hostile code, "processes" only cleans up after it.
        walls: The walls there are, each in a few words.
        missing: The walls there are not.
        reason: Why there are none, if the machine does not allow them.
    """

    tier: Tier
    walls: tuple[str, ...]
    missing: tuple[str, ...]
    reason: str | None = None


def described(walled: bool, missing: tuple[str, ...], network: bool, reason: str | None = None) -> Sandbox:
    """Describe what a server reported about its walls."""
    if not walled:
        lacking = [words for name, words in _WALLS.items() if name != "network" or not network]
        return Sandbox("processes", _WITHOUT_NAMESPACES, tuple(lacking), reason)
    names = [name for name in _WALLS if name != "network" or not network]
    return Sandbox(
        "namespaces",
        tuple(_WALLS[name] for name in names if name not in missing),
        tuple(_WALLS.get(name, name) for name in missing),
    )


def check_strict(sandbox: Sandbox) -> None:
    """Refuse a sandbox that lacks a wall.

    Raises:
        EvaluatorError: It does.
    """
    if sandbox.missing:
        why = f" ({sandbox.reason})" if sandbox.reason else ""
        lacking = "; ".join(sandbox.missing)
        raise EvaluatorError(
            f'evaluator.sandbox = "strict", but this machine does not give{why}: {lacking}. '
            'Allow unprivileged user namespaces, or set sandbox = "auto"'
        )


def probe(mode: SandboxMode) -> Sandbox:
    """Find out what an evaluation in this mode would get, by building it once.

    Raises:
        EvaluatorError: The mode is "strict" and a wall is missing.
    """
    sandbox = described(False, (), network=False) if mode == "none" else _try_walls()
    if mode == "strict":
        check_strict(sandbox)
    return sandbox


@lru_cache(maxsize=1)
def _try_walls() -> Sandbox:
    import trio

    from evaluators.runner import Runner

    async def look() -> Sandbox:
        with tempfile.TemporaryDirectory(prefix="evolve-probe-") as name:
            folder = Path(name)
            for part in ("root", "checkout", "scratch"):
                (folder / part).mkdir()
            spec = EvaluatorSpec(root=folder / "root", command="true")
            async with Runner(spec, folder / "checkout", folder / "scratch") as runner:
                return runner.sandbox

    with ThreadPoolExecutor(1) as thread:  # the caller may be inside a trio run of its own
        return thread.submit(trio.run, look).result()
