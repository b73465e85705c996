"""What a candidate costs: candidates a second and processor milliseconds each, and whether that stays flat.

The evaluator is a function that returns at once and the sandbox is off, so what is measured is the program itself:
choosing, proposing, committing, checking out, forking an evaluation, journaling, admitting. Child processes count.

    python benchmarks/overhead.py                 # tune: 21,000 candidates; mutate: 1,000
    python benchmarks/overhead.py --quick         # 2,000 and 200
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import evolve
from archives.records import Proposal

ARTIFACT = '''"""A small heuristic with a few numbers, as people write them."""

SCALE = 1.25
SHIFT = 0.5
LIMIT = 40.0


def weight(size, gap):
    """How much a place is worth."""
    if gap < 0.75 * LIMIT:
        return SCALE * size / (gap + 1.5) - SHIFT
    return 0.1 * size + 3.0


def pick(sizes, gaps):
    """The best place."""
    best, place = -1000.0, 0
    for index, (size, gap) in enumerate(zip(sizes, gaps)):
        value = weight(size, gap) - 0.01 * index
        if value > best:
            best, place = value, index
    return place
'''

EVALUATOR = '''"""Costs nothing: a number made from the text of the candidate."""

import zlib


def evaluate(candidate_dir, request):
    with open(f"{candidate_dir}/heuristic.py", "rb") as file:
        return zlib.crc32(file.read()) / 2**32
'''


def cpu_seconds() -> float:
    """Processor time of this process and of all children that have ended or live in it."""
    mine = resource.getrusage(resource.RUSAGE_SELF)
    return mine.ru_utime + mine.ru_stime + _children()


def _children() -> float:
    """Processor time of living descendants and of their ended children, from /proc."""
    import os

    ticks = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            times[int(entry.name)] = sum(int(f) for f in fields[11:15])
    total, pending = 0, [os.getpid()]
    while pending:
        one = pending.pop()
        below = [pid for pid, parent in parents.items() if parent == one]
        total += sum(times[pid] for pid in below)
        pending += below
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return total / ticks + ended.ru_utime + ended.ru_stime


class Meter:
    """Notes the time at chosen numbers of candidates."""

    def __init__(self, marks: list[int]) -> None:
        self.marks = set(marks)
        self.seen = 0
        self.notes: dict[int, tuple[float, float]] = {}

    def __call__(self, kind: str, what: Any) -> None:
        if isinstance(what, Proposal) and what.outcome == "candidate":
            self.seen += 1
            if self.seen in self.marks:
                self.notes[self.seen] = (time.perf_counter(), cpu_seconds())


def measure(operator: str, marks: list[int]) -> Meter:
    """Run one campaign up to the last mark."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder) / "target"
        repository.mkdir()
        (repository / "heuristic.py").write_text(ARTIFACT)
        (repository / "evaluate.py").write_text(EVALUATOR)
        for command in (
            ["init", "-q", "-b", "main"],
            ["add", "."],
            ["-c", "user.name=b", "-c", "user.email=b@localhost", "commit", "-q", "-m", "base"],
        ):
            subprocess.run(["git", *command], cwd=repository, check=True)
        config = {
            "artifact": {"include": ["heuristic.py"]},
            "evaluator": {"function": "evaluate.py:evaluate", "sandbox": "none"},
            "operators": {operator: 1.0},
            "promotion": {"rule": "strict"},
            "budget": {"evaluations": marks[-1] + 1},
        }
        meter = Meter(marks)
        evolve.create(repository, config).run_sync(meter)
        return meter


def row(meter: Meter, first: int, last: int) -> tuple[float, float]:
    """Candidates a second, and processor milliseconds a candidate, between two marks."""
    (wall0, cpu0), (wall1, cpu1) = meter.notes[first], meter.notes[last]
    return (last - first) / (wall1 - wall0), 1000 * (cpu1 - cpu0) / (last - first)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the candidates")
    quick = parser.parse_args().quick
    span, far, some = (100, 2_000, 200) if quick else (1_000, 20_000, 1_000)
    tune = measure("tune", [span, 2 * span, far - span, far])
    early, late = row(tune, span, 2 * span), row(tune, far - span, far)
    print(
        f"tune    candidates {span}-{2 * span}: {early[0]:6.1f} a second, {early[1]:5.2f} ms of processor each"
    )
    print(
        f"tune    candidates {far - span}-{far}: {late[0]:6.1f} a second, {late[1]:5.2f} ms of processor each"
    )
    print(
        f"tune    late against early: {late[1] / early[1]:.2f} (processor), {early[0] / late[0]:.2f} (wall)"
    )
    mutate = row(measure("mutate", [some // 10, some]), some // 10, some)
    print(f"mutate  {some} candidates: {mutate[0]:6.1f} a second, {mutate[1]:5.2f} ms of processor each")


if __name__ == "__main__":
    main()
