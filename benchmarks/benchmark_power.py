"""What `benchmark = …` finds: how often a true speed-up of 3 % is proven, and how often one that is not there.

    python benchmarks/benchmark_power.py            80 evaluations of each kind, some minutes
    python benchmarks/benchmark_power.py --quick    40 of each kind; figures are rougher

Real short work is timed by the real evaluator behind its walls, on this machine, while other processes come and
go on all its processors (`--noise`, half of the time by default). One kind of candidate does the same work as
the base, the other 1/1.03 of it; they are judged in turns. Each evaluation stands on its own and has new
processes, so gates at the level .01 are then fed with scores drawn from those measured.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evaluators.contract import Outcome, Request
from evaluators.environment import SUPPLIED
from evaluators.runner import Runner
from evaluators.spec import EvaluatorSpec, Provided
from evolve.gate import Gate, Pair

LOOPS = 20_000
GAIN = 1.03
LEVEL = 0.01
MOST_PAIRS = 60
TRIALS = 1000
BENCH = "import plan\ndef work(): return plan.work()\n"
PLAN = (
    "def work():\n    x = 0\n    for k in range({loops}):\n        x = (x * 31 + k) % 65521\n    return 1\n"
)
NOISE = """
import random, sys, time
while True:
    end = time.monotonic() + random.expovariate(1 / 0.02)
    while time.monotonic() < end: pass
    time.sleep(random.expovariate(1 / 0.02) * (1 / {share} - 1))
"""


@contextmanager
def noise(share: float) -> Iterator[None]:
    """Other programs on each processor, for this share of the time."""
    count = len(os.sched_getaffinity(0)) if share > 0 else 0
    program = [sys.executable, "-c", NOISE.format(share=share or 1)]
    running = [subprocess.Popen(program) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


async def measure(count: int, folder: Path) -> dict[str, list[Outcome]]:
    """Judge both kinds of candidate in turns."""
    found: dict[str, list[Outcome]] = {"same": [], "faster": []}
    base, checkout, scratch = (folder / name for name in ("base", "checkout", "scratch"))
    for path in (base, checkout, scratch):
        path.mkdir()
    for path in (base, checkout):
        (path / "bench.py").write_text(BENCH)
    (base / "plan.py").write_text(PLAN.format(loops=round(LOOPS * GAIN)))
    loops = {"same": round(LOOPS * GAIN), "faster": LOOPS}
    script = SUPPLIED / "evaluators" / "pairs.py"
    spec = EvaluatorSpec(
        root=base,
        argv=("python", str(script), ".base", "bench.py:work"),
        python=Path(sys.executable),
        provided=(Provided(".base", base),),
        cpus=1,
        timeout=300,
    )
    async with Runner(spec, checkout, scratch) as runner:
        for number in range(count):
            for kind, outcomes in found.items():
                (checkout / "plan.py").write_text(PLAN.format(loops=loops[kind]))
                outcome = await runner.evaluate(Request("0" * 40, seed=number))
                if outcome.score is None:
                    raise SystemExit(f"not judged: {outcome.reason}")
                outcomes.append(outcome)
    return found


def gates(
    challenger: list[float], champion: list[float], pairs: int, rng: random.Random
) -> tuple[float, float]:
    """Share of gates that promote, and the median of pairs they took."""
    promoted, taken = 0, []
    for _ in range(TRIALS):
        mine, theirs = rng.choices(challenger, k=pairs), rng.choices(champion, k=pairs)
        gate = Gate(LEVEL, pairs)
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            if gate.decision != "undecided":
                break
            gate.add(Pair(str(number), one, other))
        promoted += gate.decision == "promote"
        taken.append(gate.pairs)
    return promoted / TRIALS, statistics.median(taken)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer evaluations")
    parser.add_argument("--noise", type=float, default=0.5, help="share of the time that others run")
    options = parser.parse_args()
    count = 40 if options.quick else 80
    with tempfile.TemporaryDirectory() as folder, noise(options.noise):
        found = trio.run(measure, count, Path(folder))
    scores = {kind: [o.score or 0.0 for o in outcomes] for kind, outcomes in found.items()}
    for kind, values in scores.items():
        low, middle, high = statistics.quantiles(values, n=4)
        busy = statistics.median(o.metrics["busy"] for o in found[kind])
        seconds = statistics.median(o.seconds for o in found[kind])
        print(
            f"{kind:7} {count} evaluations of {seconds:.2f} s: median ratio {middle:.4f}, quartiles {low:.4f} "
            f"and {high:.4f}, busy {busy:.0%}"
        )
    rng = random.Random(1)
    pairs = MOST_PAIRS
    for label, challenger in (("a true 3 %", "faster"), ("the same", "same")):
        share, taken = gates(scores[challenger], scores["same"], pairs, rng)
        print(
            f"{label:10} promoted in {share:.1%} of {TRIALS} gates of at most {pairs} pairs; median {taken:g} pairs"
        )


if __name__ == "__main__":
    main()
