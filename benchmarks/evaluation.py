"""What an evaluation costs beside the bare program, and whether hostile ones leave anything.

    python benchmarks/evaluation.py            100 evaluations of each kind, then 500 hostile ones in a row
    python benchmarks/evaluation.py --quick    20, then 70

Wall times are medians of runs taken in turns with the bare program's; processor times hold on a busy machine too.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "evaluators")]

import hostile  # noqa: E402
from evaluator_bench import REQUEST, Slot, processes_with  # noqa: E402
from test_hostile import restore  # noqa: E402

FUNCTION = "import json, math\ndef evaluate(folder, request): return math.sqrt(4)\n"
SCRIPT = "import json, math\nprint(json.dumps({'score': math.sqrt(4)}))\n"
ISOLATED = (
    "from evaluators.isolated import call\ndef evaluate(folder, request): return call('plan.py:value')\n"
)


async def timed(count: int, **kinds: Callable[[], Awaitable[object]]) -> dict[str, float]:
    """Median milliseconds of each kind, taken in turns after three rounds of warm-up."""
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(count + 3):
        for name, do in kinds.items():
            began = time.perf_counter()
            await do()
            if number >= 3:
                taken[name].append(1000 * (time.perf_counter() - began))
    return {name: statistics.median(values) for name, values in taken.items()}


async def overhead(folder: Path, count: int) -> None:
    """Print what evaluations cost."""
    slots = {}
    for name, text in (("function", FUNCTION), ("command", SCRIPT), ("isolated", ISOLATED)):
        (folder / name).mkdir()
        slots[name] = Slot.make(folder / name)
        slots[name].write(evaluate=text, plan="def value(): return 2")
    script = [sys.executable, str(slots["command"].checkout / "evaluate.py")]
    function = {"function": "evaluate.py:evaluate"}

    async def bare() -> None:
        subprocess.run(script, check=True, capture_output=True)

    async with (
        slots["function"].runner(**function) as warm,
        slots["command"].runner() as command,
        slots["isolated"].runner(**function) as isolated,
    ):
        found = await timed(
            count,
            bare=bare,
            function=lambda: warm.evaluate(REQUEST),
            command=lambda: command.evaluate(REQUEST),
            isolated=lambda: isolated.evaluate(REQUEST),
        )
        print(f"walls: {warm.sandbox.tier}, missing: {', '.join(warm.sandbox.missing) or 'none'}")
    print(f"bare program, cold            {found['bare']:7.1f} ms")
    print(f"warm function, full sandbox   {found['function']:7.1f} ms (wanted: at most 25)")
    beyond = found["command"] - found["bare"]
    print(f"cold command, beyond the bare {beyond:7.1f} ms (wanted: at most 80)")
    beyond = found["isolated"] - found["function"] - found["bare"]
    print(f"isolated call, beyond both    {beyond:7.1f} ms")


async def storm(folder: Path, count: int, port: int) -> None:
    """Print what hostile evaluations in a row leave."""
    slot = Slot.make(folder)
    (slot.root / "holdout.txt").write_text("secret")
    (slot.root / "evaluate.py").write_text(hostile.EVALUATE)
    known = {"root": str(slot.root), "scratch": str(slot.scratch), "port": port, "note": folder.name}
    names = list(hostile.QUICK)
    async with slot.runner(memory=400_000_000, timeout=20) as runner:

        async def honest() -> float:
            taken = []
            for _ in range(15):
                restore(slot, hostile.HONEST)
                began = time.perf_counter()
                assert (await runner.evaluate(REQUEST)).score == 0.25
                taken.append(1000 * (time.perf_counter() - began))
            return statistics.median(taken)

        before = await honest()
        state = _state()
        cpu = time.process_time()
        successes, left = 0, 0
        verdicts: dict[str, int] = {}
        extra: list[tuple[float, str]] = []
        for number in range(count):
            restore(slot, hostile.text(names[number % len(names)], **known))
            began = time.perf_counter()
            outcome = await runner.evaluate(REQUEST)
            extra.append((time.perf_counter() - began - outcome.seconds, names[number % len(names)]))
            successes += (outcome.score or 0) > 0
            verdicts[outcome.verdict] = verdicts.get(outcome.verdict, 0) + 1
            left += len(processes_with(str(slot.checkout)))
        cpu = (time.process_time() - cpu) / count
        after, now = await honest(), _state()
    print(
        f"{count} hostile evaluations: {successes} successes, {left} processes left, {dict(sorted(verdicts.items()))}"
    )
    middle = 1000 * statistics.median(seconds for seconds, _ in extra)
    print(f"host beside the evaluation: median {middle:.1f} ms, most {max(extra)[0]:.2f} s ({max(extra)[1]})")
    print(f"host processor: {1000 * cpu:.1f} ms an evaluation")
    print(f"an honest one before and after: {before:.1f} and {after:.1f} ms")
    print(
        f"descriptors {state[0]} and {now[0]}; peak memory {state[1]} and {now[1]} MiB; files in scratch: "
        f"{len(list(slot.scratch.iterdir()))}"
    )


def _state() -> tuple[int, int]:
    return len(list(Path("/proc/self/fd").iterdir())), resource.getrusage(
        resource.RUSAGE_SELF
    ).ru_maxrss // 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer evaluations")
    quick = parser.parse_args().quick
    os.environ["EVOLVE_BENCHMARK_KEY"] = "sesame"
    with tempfile.TemporaryDirectory() as name, socket.socket() as server:
        folder = Path(name)
        trio.run(overhead, folder, 20 if quick else 100)
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        (folder / "storm").mkdir()
        trio.run(storm, folder / "storm", 70 if quick else 500, server.getsockname()[1])


if __name__ == "__main__":
    main()
