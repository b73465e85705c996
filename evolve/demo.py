"""The demonstration: a whole campaign on a real problem, set beside what one could have had without it."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from archives.errors import EvolveError
from archives.git import Git

REFERENCE = 2.635
"""Sum of radii that AlphaEvolve reports for 26 circles (Novikov et al., technical report, 2025)."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """What plain random restarts reach with the same processor time."""

    score: float
    starts: int
    cpu_seconds: float


def example(name: str) -> Path:
    """Folder of an example, in the installed package or in the source tree.

    Raises:
        EvolveError: It is in neither.
    """
    here = Path(__file__).parent
    for place in (here / "examples" / name, here.parent / "examples" / name):
        if place.is_dir():
            return place
    raise EvolveError(f"the example {name} is not part of this installation; install the package again")


def set_up(folder: Path) -> None:
    """Make a Git repository of the example; one that is there already is left as it is.

    Raises:
        EvolveError: The folder holds something else.
    """
    missing = [name for name in ("numpy", "scipy") if importlib.util.find_spec(name) is None]
    if missing:
        raise EvolveError(
            f"the demo's evaluator needs {missing[0]}; install it: pip install 'evolve-campaigns[examples]'"
        )
    if (folder / ".git").is_dir() and (folder / "packing.py").is_file():
        return
    if folder.exists() and any(folder.iterdir()):
        raise EvolveError(f"{folder} is not empty and not a demo; choose another with --folder")
    skip = shutil.ignore_patterns("__pycache__", "*.pyc")
    shutil.copytree(example("circle_packing"), folder, dirs_exist_ok=True, ignore=skip)
    config = folder / "evolve.toml"
    python = f"[evaluator]\npython = {json.dumps(sys.executable)}\n"
    config.write_text(config.read_text(encoding="utf-8").replace("[evaluator]\n", python), encoding="utf-8")
    repository = Git(folder.resolve() / ".git", folder.resolve())
    repository.run("init", "-q", "-b", "main")
    repository.run("add", ".")
    repository.run("commit", "-q", "-m", "Pack 26 circles, a plain first attempt")


def random_restarts(folder: Path, cpu_seconds: float, processes: int) -> Restarts:
    """Plain random restarts of the same local optimiser, for the given processor time in all.

    Args:
        folder: The demo's repository.
        cpu_seconds: Processor seconds, shared among the processes.
        processes: How many run side by side.
    """
    share = cpu_seconds / processes
    commands = [
        [sys.executable, "restarts.py", "--cpu-seconds", f"{share:.1f}", "--seed", str(seed), "--json"]
        for seed in range(processes)
    ]
    found = [json.loads(text) for text in _side_by_side(commands, folder, limit=20 * share + 60)]
    return Restarts(
        score=max(one["score"] for one in found),
        starts=sum(one["starts"] for one in found),
        cpu_seconds=sum(one["cpu_seconds"] for one in found),
    )


def _side_by_side(commands: Sequence[Sequence[str]], folder: Path, limit: float) -> list[str]:
    running = [subprocess.Popen(c, cwd=folder, stdout=subprocess.PIPE, text=True) for c in commands]
    try:
        return [process.communicate(timeout=limit)[0] for process in running]
    finally:
        for process in running:
            process.kill()
            process.wait()
