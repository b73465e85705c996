"""A campaign killed with SIGKILL at any moment and resumed loses nothing, repeats nothing, leaves nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from caserun import alive, environment, fingerprint, git

BUDGET = 14
POINTS = [
    "select.recorded",
    "propose.committed",
    "propose.recorded",
    "evaluate.judged",
    "evaluate.recorded",
    "challenge.decided",
    "challenge.crowned",
    "admit.closing",
    "admit.recorded",
    "journal.before-commit",
    "journal.after-commit",
]
EVALUATE = """import math, shape, time
time.sleep(0.03)
print(round(-sum((a - b) ** 2 for a, b in zip((shape.A, shape.B, shape.C), (0.3, 1.7, -0.4))), 9))
"""
CONFIG = f"""[campaign]
name = "killed"
seed = 3
[artifact]
include = ["shape.py"]
[evaluator]
command = "python evaluate.py"
[workers]
propose = 1
evaluate = 2
[promotion]
rule = "strict"
[budget]
evaluations = {BUDGET}
"""


@dataclass
class Target:
    """A small repository with a campaign."""

    repo: Path
    before: str

    @property
    def home(self) -> Path:
        return self.repo / ".git" / "evolve" / "killed"

    def start(self, command: str, **extra: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "evolve", command],
            cwd=self.repo,
            env=environment(**extra),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def ask(self, command: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "evolve", command, "--json"],
            cwd=self.repo,
            env=environment(),
            check=True,
            capture_output=True,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def acknowledged(self) -> list[dict[str, Any]]:
        if not (self.home / "campaign.db").exists():
            return []
        found: list[dict[str, Any]] = self.ask("evaluations")["evaluations"]
        return found


@pytest.fixture
def target(tmp_path: Path) -> Target:
    repo = tmp_path / "target"
    repo.mkdir()
    (repo / "shape.py").write_text("A = 1.0\nB = 1.5\nC = 0.2\n")
    (repo / "evaluate.py").write_text(EVALUATE)
    (repo / "evolve.toml").write_text(CONFIG)
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "base")
    return Target(repo, fingerprint(repo))


def gone(token: str, patience: float = 5.0) -> bool:
    """Whether no process of the campaign is left; the kernel may need a moment to bury a killed tree."""
    deadline = time.monotonic() + patience
    while alive(token) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(token)


def finish_and_check(target: Target) -> None:
    """Resume until the end, then look at every promise."""
    assert gone(str(target.repo))
    before = target.acknowledged()
    run = target.start("run")
    assert run.wait(90) == 0
    after = target.acknowledged()
    assert [e for e in after if e["id"] <= len(before)] == before
    assert [e["id"] for e in after] == list(range(1, len(after) + 1))
    assert len({(e["candidate"], e["seed"]) for e in after}) == len(after) == BUDGET
    assert target.ask("status")["state"] == "finished"
    assert target.ask("status")["in_flight"] == 0
    with sqlite3.connect(target.home / "campaign.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store = target.home / "store.git"
    assert git(store, "fsck", "--strict", "--no-dangling") == ""
    assert git(store, "rev-parse", "champion").strip() == target.ask("best")["commit"]
    assert fingerprint(target.repo) == target.before
    assert gone(str(target.repo))


@pytest.mark.parametrize("moment", range(10 if not os.environ.get("EVOLVE_TORTURE") else 200))
def test_killed_at_a_random_moment(target: Target, moment: int) -> None:
    process = target.start("run")
    time.sleep(random.Random(moment).uniform(0.2, 2.5))
    process.send_signal(signal.SIGKILL)
    process.wait()
    finish_and_check(target)


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_a_named_point(target: Target, point: str, tmp_path: Path) -> None:
    log = tmp_path / "fired"
    nth = 1 if point.startswith("challenge") else 3
    process = target.start("run", EVOLVE_CRASH_AT=f"{point}:{nth}", EVOLVE_CRASH_LOG=str(log))
    assert process.wait(60) == -signal.SIGKILL
    assert log.read_text() == f"{point}\n"
    finish_and_check(target)


def test_patches_in_flight_at_a_kill_are_proposed_once_with_several_workers(
    target: Target, tmp_path: Path
) -> None:
    folder = tmp_path / "patches"
    folder.mkdir()
    for n in range(1, 13):
        text = f"--- a/shape.py\n+++ b/shape.py\n@@ -1,3 +1,3 @@\n-A = 1.0\n+A = {1 + n / 10}\n B = 1.5\n C = 0.2\n"
        (folder / f"{n:03d}-p{n}.patch").write_text(text)
    config = target.repo / "evolve.toml"
    config.write_text(config.read_text() + f'[operators]\npatches = {{ folder = "{folder}" }}\n')
    target.before = fingerprint(target.repo)
    log = tmp_path / "fired"
    process = target.start("run", EVOLVE_CRASH_AT="evaluate.judged:5", EVOLVE_CRASH_LOG=str(log))
    assert process.wait(60) == -signal.SIGKILL
    assert target.start("run").wait(90) == 0
    status = target.ask("status")
    assert (status["proposals"], status["candidates"], status["evaluations"]) == (12, 13, 13)
    assert status["reason"] == "the operators have nothing more to propose"
