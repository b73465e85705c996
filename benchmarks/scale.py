"""A campaign of 100,000 candidates: whether the cost of one stays flat, and how long one waits for answers and a resume.

The evaluator is a function that returns at once and the sandbox is off, so that the program itself is measured. The
figures are processor time where a shared machine would blur the wall; a fixed piece of work, timed beside each
block, says how much slower the machine itself was in one block than in another.

    python benchmarks/scale.py                        # 100,000 candidates, some twenty minutes
    python benchmarks/scale.py --candidates 5000      # a minute
    python benchmarks/scale.py --folder F             # keep the campaign in F, or measure the one that is there
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from overhead import ARTIFACT, EVALUATOR, cpu_seconds

from archives.records import Evaluation

LOOKS = ("status", "list", "best", "archive", "evaluations", "champions", "lineage best")
PAUSE = 0.02


class Meter:
    """Notes processor time, and how fast the machine is, at the ends of the first and the last block."""

    def __init__(self, marks: list[int]) -> None:
        self.marks = set(marks)
        self.seen = 0
        self.notes: dict[int, tuple[float, float, float]] = {}

    def __call__(self, kind: str, what: Any) -> None:
        if isinstance(what, Evaluation) and what.purpose == "search":
            self.seen += 1
            if self.seen in self.marks:
                before, speed = cpu_seconds(), unit()
                self.notes[self.seen] = (before, cpu_seconds(), speed)

    def cost(self, first: int, last: int) -> tuple[float, float]:
        """Milliseconds of processor a candidate, and the same in units of the fixed work, between two marks."""
        (_, start, slow), (end, _, late) = self.notes[first], self.notes[last]
        each = (end - start) / (last - first)
        return 1000 * each, each / ((slow + late) / 2)


def unit() -> float:
    """Processor seconds of a fixed piece of work, the least of some tries."""
    tries = []
    for _ in range(12):
        start = time.process_time()
        sum(i * i for i in range(60_000))
        tries.append(time.process_time() - start)
    return min(tries)


def grow(repository: Path, candidates: int) -> dict[str, Any]:
    """Run a campaign up to so many candidates; to be called in a process of its own."""
    import evolve

    span = max(10, min(1_000, candidates // 5))
    marks = [span, 2 * span, candidates - span, candidates]
    config = {
        "artifact": {"include": ["heuristic.py"]},
        "evaluator": {"function": "evaluate.py:evaluate", "sandbox": "none"},
        "operators": {"tune": 1.0},
        "promotion": {"rule": "strict"},
        "budget": {"evaluations": candidates + 1},
    }
    meter = Meter(marks)
    evolve.create(repository, config).run_sync(meter)
    early, late = meter.cost(*marks[:2]), meter.cost(*marks[2:])
    return {"span": span, "early": early, "late": late, "rss": peak()}


def peak() -> float:
    """Most memory this process has had, in MB, its children not counted."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def found(folder: Path) -> None:
    """Make the small repository that is improved."""
    folder.mkdir(parents=True)
    (folder / "heuristic.py").write_text(ARTIFACT)
    (folder / "evaluate.py").write_text(EVALUATOR)
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "."],
        ["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-q", "-m", "base"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)


def look(repository: Path, words: str) -> tuple[float, float]:
    """Wall and processor milliseconds of a command, the least of five."""
    tries = []
    for _ in range(5):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(evolve_command(*words.split()), cwd=repository, check=True, stdout=subprocess.DEVNULL)
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
        tries.append(
            (1000 * wall, 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
        )
    return min(one[0] for one in tries), min(one[1] for one in tries)


def evolve_command(*words: str) -> list[str]:
    """The command line of this installation."""
    return [str(Path(sys.executable).parent / "evolve"), *words]


def resume(repository: Path, more: int) -> dict[str, float]:
    """Seconds, of the wall and of the processor, from `evolve resume` to the first new proposal; and memory in MB."""
    database = next((repository / ".git/evolve").glob("*/campaign.db"))
    subprocess.run(
        evolve_command("budget", "add", f"evaluations={more}"),
        cwd=repository,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as journal:
        count = lambda: journal.execute("SELECT max(number) FROM proposals").fetchone()[0]  # noqa: E731
        before, start = count(), time.perf_counter()
        process = subprocess.Popen(
            evolve_command("resume"), cwd=repository, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while count() == before and process.poll() is None:
            time.sleep(PAUSE)
        wall, ticks = time.perf_counter() - start, os.sysconf("SC_CLK_TCK")
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    _, code, usage = os.wait4(process.pid, 0)
    if code:
        raise SystemExit(f"evolve resume ended with status {code}")
    cpu = (int(fields[11]) + int(fields[12])) / ticks
    return {"wall": wall, "cpu": cpu, "rss": usage.ru_maxrss / 1024}


def main() -> int:
    """Measure and print; the exit code says whether every figure is what it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--candidates", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="where the campaign is kept")
    parser.add_argument("--grow", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.grow:
        print(json.dumps(grow(given.grow, given.candidates)))
        return 0
    with tempfile.TemporaryDirectory() as passing:
        return report(given.folder or Path(passing) / "target", given.candidates)


def report(repository: Path, candidates: int) -> int:
    """Grow a campaign where there is none, look at it, and go on with it."""
    held = []

    def require(what: str, holds: bool) -> None:
        held.append(holds)
        print(f"  {'ok  ' if holds else 'MISS'}  {what}", flush=True)

    if not repository.is_dir():
        found(repository)
        command = [sys.executable, __file__, "--grow", repository, "--candidates", candidates]
        done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
        grown = json.loads(done.stdout.splitlines()[-1])
        span, (early, slow), (late, slower) = grown["span"], grown["early"], grown["late"]
        print(f"candidates {span}-{2 * span}: {early:.2f} ms of processor each")
        print(f"candidates {candidates - span}-{candidates}: {late:.2f} ms of processor each")
        ratio = slower / slow
        require(
            f"late against early: {late / early:.2f}, {ratio:.2f} by the machine's speed, <= 1.3",
            ratio <= 1.3,
        )
        require(f"memory of the orchestrator: {grown['rss']:.0f} MB < 500", grown["rss"] < 500)
    for words in LOOKS:
        wall, cpu = look(repository, words)
        print(f"evolve {words}: {wall:.0f} ms, {cpu:.0f} ms of processor")
        if words == "status":
            require(f"status: {wall:.0f} ms < 200 (processor: {cpu:.0f})", wall < 200)
    again = resume(repository, 50)
    require(
        f"resume to the first new proposal: {again['wall']:.1f} s < 5 (processor: {again['cpu']:.1f} s)",
        again["wall"] < 5,
    )
    require(f"memory of the resumed orchestrator: {again['rss']:.0f} MB < 500", again["rss"] < 500)
    print(f"{sum(held)} of {len(held)} figures hold")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
