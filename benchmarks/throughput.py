"""Throughput beside other systems: one command, all ratios in one run.

A simulated model server hands every system the same latencies; each system runs the same small task against it, in an
environment of its own (made on demand under $BENCH_HOME, by default in the temp folder). What is measured is said in
docs/benchmarks.md; `peers/run_peer.py` measures one system once. Results are kept as JSON in the folder of `--out`.

    python benchmarks/throughput.py                      # all systems, about 23 minutes on two cores
    python benchmarks/throughput.py --quick --ours       # our side and the floor, a few minutes
    python benchmarks/throughput.py --only slow,kill     # some of the parts
    python benchmarks/throughput.py --resume             # what a broken run has measured is not measured again
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measuring import BUSY, HERE, HOME, Bench, Result, difference, show

QUALITY = {
    "driver_best": "final score",
    "driver_champion_depth": "depth",
    "driver_seed_parents": "seed share",
}
MEMORY = Path("/dev/shm/evolve-bench")
USUAL = {
    "active_s": "active s",
    "ideal_s": "ideal s",
    "efficiency": "efficiency",
    "idle_frac": "idle",
    "props_per_s_active": "per second",
    "cpu_per_prop": "cpu s each",
    "peak_rss_mb": "rss MB",
    "others_cpu_frac": "others' cpu",
}


def widths(bench: Bench) -> None:
    """At least 8 proposals a worker, median 1 s, cheap evaluator; OpenEvolve would need 4.5 GB at 64."""
    for width in (8, 16) if bench.quick else (8, 16, 32, 64):
        print(f"\nwidth {width}, median 1 s, {8 * width} proposals")
        systems = bench.systems if width <= 32 else bench.beside("ours", "floor")
        rows = [(one, bench.median(one, f"width{width}", 8 * width, width, 1.0)) for one in systems]
        show(rows, USUAL | QUALITY)
        _keeps_busy(bench, width, dict(rows)["ours"])


def wide(bench: Bench) -> None:
    """Widths 128 and 256 at a median of 8 s, beside GEPA's default loop; all three mostly wait."""
    share = 2 if bench.quick else 8
    print(f"\nwidths 128 and 256, median 8 s, {share} proposals a worker; one at a time, median 1 s")
    with ThreadPoolExecutor() as pool:
        ours = {w: pool.submit(bench.run, "ours", f"width{w}", share * w, w, 8.0) for w in (128, 256)}
        alone = "gepa" in bench.systems
        loop = pool.submit(bench.run, "gepa", "sync", 16 if bench.quick else 64, 0, 1.0) if alone else None
    rows = [(f"ours, {width}", _flat(found.result())) for width, found in ours.items()]
    if loop is not None:
        rows.append(("gepa, 1", _flat(loop.result())))
    show(rows, USUAL | QUALITY | {"peak_in_flight": "in flight"})
    for (_, found), width in zip(rows, ours, strict=False):
        if not bench.quick:
            _keeps_busy(bench, width, found)
    bench.at_most("MB with 256 in flight", rows[1][1].get("peak_rss_mb"), 300)
    if loop is not None:
        mine = bench.median("ours", "width32", 256, 32, 1.0) if not bench.quick else {}
        if mine:
            theirs = rows[-1][1].get("props_per_s_active") or float("inf")
            bench.at_least("times GEPA's default loop, at 32", mine["props_per_s_active"] / theirs, 15)


def _keeps_busy(bench: Bench, width: int, found: Result) -> None:
    bench.at_least(f"width {width}: share of the ideal", found.get("efficiency"), 0.95)
    bench.at_most(f"width {width}: share of time without a request", found.get("idle_frac"), 0.01)


def _flat(found: Result) -> Result:
    return {**{f"driver_{key}": value for key, value in found.get("driver", {}).items()}, **found}


def slow(bench: Bench) -> None:
    """An evaluator of one second at width 16: it must not hold a model slot."""
    proposals = 64 if bench.quick else 256
    print(f"\nevaluator of 1 s, width 16, {proposals} proposals")
    split = {"floor": ("--peer-opt", "pools=split")}
    rows = [
        (one, bench.median(one, "slow", proposals, 16, 1.0, "--eval-sleep", "1", *split.get(one, ())))
        for one in bench.beside("ours", "floor", "openevolve")
    ]
    show(rows, USUAL)
    if not bench.quick:
        bench.at_most("evaluator of 1 s: active s", dict(rows)["ours"].get("active_s"), 31)


def zero(bench: Bench) -> None:
    """No latency at all: what a proposal costs, and whether that grows.

    Work folders lie in memory where they can: for minutes after many deletions, such as that of the work folders
    before, ext4 takes several times as long to make a file. What that adds is shown beside.
    """
    few, many = (64, 256) if bench.quick else (256, 1024)
    print(f"\nno latency, {many} proposals, width 16")

    def measured(system: str, name: str, *more: str) -> Result:
        small = bench.median(system, f"{name}{few}", few, 16, 0.0, *more)
        found = bench.median(system, f"{name}{many}", many, 16, 0.0, *more)
        if small and found:
            found["marginal"] = 1000 * (found["cpu_tree"] - small["cpu_tree"]) / (many - few)
            found["flat"] = found["last_block_per_s"] / found["first_block_per_s"]
        return found

    quickly = ("--work", str(MEMORY)) if MEMORY.is_dir() else ()
    systems = bench.beside("ours", "floor", "openevolve", "gepa")
    rows = [(system, measured(system, "zero", *quickly)) for system in systems]
    if quickly:
        rows.append(("ours, disk", measured("ours", "disk")))
    columns = {"first_block_per_s": "first/s", "last_block_per_s": "last/s", "flat": "ratio"}
    columns |= {"marginal": "cpu ms each", "peak_rss_mb": "rss MB", "others_cpu_frac": "others' cpu"}
    hosted = measured("ours", "litellm", "--peer-opt", "client=litellm", *quickly)
    rows.append(("litellm", hosted))
    show(rows, columns)
    ours = dict(rows)["ours"]
    bench.at_least("proposals a second, last block against first", ours.get("flat"), 0.9)
    bench.at_most("processor ms a proposal, direct client", ours.get("marginal"), 6)
    bench.at_most("processor ms a proposal, through litellm", hosted.get("marginal"), 15)


def capacity(bench: Bench) -> None:
    """A server that serves few requests at once; the engine finds the width."""
    for limit in (8,) if bench.quick else (8, 16):
        print(f"\nserver of capacity {limit}, the engine finds the width, {16 * limit} proposals")
        options = ("--llm-capacity", str(limit), "--peer-opt", "propose=auto")
        found = bench.median("ours", f"capacity{limit}", 16 * limit, 0, 1.0, *options)
        columns = {"served_frac": "served", "queue_mean": "queue", "queue_peak": "longest"}
        show([("ours", found)], USUAL | columns)
        bench.at_most(f"capacity {limit}: share of time without a request", found.get("idle_frac"), 0.01)
        bench.at_least(f"capacity {limit}: share of the server at work", found.get("served_frac"), 0.9)
        bench.at_most(f"capacity {limit}: requests in front of it, mean", found.get("queue_mean"), limit)


def quality(bench: Bench) -> None:
    """What the search finds at equal proposals, whatever the width: speed must not be bought with it."""
    seeds, proposals = (3, 48) if bench.quick else (6, 128)
    print(f"\nfinal score at {proposals} proposals, {seeds} seeds, median 0.05 s")
    scores: dict[int, list[float]] = {}
    rows = []
    for width in (1, 8) if bench.quick else (1, 8, 32):
        found = [
            _flat(bench.run("ours", f"quality{width}-{seed}", proposals, width, 0.05, "--seed", str(seed)))
            for seed in range(seeds)
        ]
        good = [one for one in found if one["ok"]]
        scores[width] = [one["driver_best"] for one in good]
        means = {key: statistics.fmean(one[key] for one in good) for key in QUALITY}
        rows.append((f"width {width}", means))
    show(rows, QUALITY)
    for width in [width for width in scores if width > 1]:
        gain, half = difference(scores[width], scores[1])
        words = f"width {width} against 1: {gain:+.4f} ± {half:.4f}, not worse beyond its interval"
        bench.require(words, gain + half >= 0)
    for name, means in rows:
        bench.at_most(f"{name}: share of proposals from the seed", means["driver_seed_parents"], 0.5)


def kill(bench: Bench) -> None:
    """Kill -9 in the middle, then resume."""
    print("\nkill -9 after 20 evaluations of 64 proposals, width 8, then resume")
    for system in [one for one in bench.systems if one != "floor"]:
        found = bench.run(system, "kill", 64, 8, 1.0, "--kill-after-evals", "20")
        facts = found.get("kill") or {}
        print(f"  {system}: {json.dumps(facts or found.get('error'))}")
        if system == "ours":
            lost = facts.get("evals_finished_before_kill", 99) - 1 - (facts.get("persisted_at_resume") or 0)
            bench.at_most("finished evaluations that were lost", lost, 0)
            bench.at_most("evaluations repeated", facts.get("evals_repeated_same_code"), 0)
            bench.at_most("processes left", facts.get("orphans_alive"), 0)
            known = found.get("driver", {}).get("calls_answered", 0)
            again = facts.get("llm_requests_total", 999) - known
            bench.at_most(
                "model calls of which the answer was not kept", again, facts.get("llm_in_flight_at_kill", 0)
            )


Part = Callable[[Bench], None]
PARTS: dict[str, tuple[Part, int, int]] = {
    "widths": (widths, 470, 130),
    "wide": (wide, 170, 80),
    "slow": (slow, 130, 45),
    "zero": (zero, 180, 70),
    "capacity": (capacity, 80, 35),
    "quality": (quality, 180, 50),
    "kill": (kill, 140, 140),
}
"""Parts, and how many seconds they take with all systems on two quiet processors: in full, and quick."""


def main() -> int:
    """Measure and print; the exit code says whether every figure is what it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ours", action="store_true", help="only our side and the floor")
    parser.add_argument("--quick", action="store_true", help="fewer widths and proposals")
    parser.add_argument("--repeat", type=int, default=1, help="runs a figure is the median of")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {','.join(PARTS)}")
    parser.add_argument("--systems", help="which to run beside ours, such as floor,gepa")
    parser.add_argument("--out", type=Path, default=HOME / "results", help="folder for the results as JSON")
    parser.add_argument("--resume", action="store_true", help="take the results that are there already")
    given = parser.parse_args()
    parts = given.only.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]}: choose from {','.join(PARTS)}")
    everybody = ["floor"] if given.ours else ["floor", "openevolve", "gepa", "shinka"]
    beside = given.systems.split(",") if given.systems else everybody
    peers = [one for one in beside if one != "floor"]
    subprocess.run(["bash", HERE / "setup.sh", "server", *peers], check=True, stdout=sys.stderr)
    subprocess.run(
        [sys.executable, "-c", "import openai"], check=True
    )  # the floor's client; litellm brings it
    if MEMORY.parent.is_dir():
        MEMORY.mkdir(exist_ok=True)
    bench = Bench(given.out, ("ours", *beside), given.quick, given.repeat, given.resume)
    minutes = sum(PARTS[part][2 if given.quick else 1] for part in parts) * given.repeat / 60
    print(f"{', '.join(parts)}: about {minutes:.0f} minutes with all systems on two quiet processors")
    started = time.monotonic()
    for part in parts:
        began = time.monotonic()
        PARTS[part][0](bench)
        print(f"  ({part} took {time.monotonic() - began:.0f} s)", flush=True)
    missed = [what for what, holds in bench.verdicts if not holds]
    print(f"\n{len(bench.verdicts) - len(missed)} of {len(bench.verdicts)} figures hold")
    print(f"{(time.monotonic() - started) / 60:.1f} minutes; results in {given.out}")
    if bench.others > BUSY:
        print(f"others took up to {bench.others:.0%} of the machine: measure again on a quiet one")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
