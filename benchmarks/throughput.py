"""Throughput beside other systems: one command, all ratios in one run.

A simulated model server hands every system the same latencies; each system runs the same small task against it, in an
environment of its own (made on demand under $BENCH_HOME, by default in the temp folder). What is measured is said in
docs/benchmarks.md; `peers/run_peer.py` measures one system once.

    python benchmarks/throughput.py --ours --quick       # our side and the floor, a few minutes
    python benchmarks/throughput.py                      # all systems, about an hour
    python benchmarks/throughput.py --only slow,kill     # some of the parts
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "peers"
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "evolve-bench")
DRIVERS = {"ours": "evolve_driver.py", "floor": "null_driver.py"}
Result = dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """Where results go and how often each measurement is made."""

    out: Path
    systems: tuple[str, ...]
    quick: bool
    repeat: int
    verdicts: list[tuple[str, bool]] = field(default_factory=list)

    def run(self, system: str, name: str, proposals: int, workers: int, median: float, *more: str) -> Result:
        """Measure once; the result of a run that failed says so under "error"."""
        out = self.out / f"{name}.json"
        own = DRIVERS.get(system)
        driver = ["--driver", str(HERE / "drivers" / own), "--python", sys.executable] if own else []
        command = [HOME / "venvs/server/bin/python", HERE / "run_peer.py", system, *driver]
        command += ["--proposals", str(proposals), "--workers", str(workers), "--llm-median", str(median)]
        command += ["--llm-sigma", "0.8", "--out", out, *more]
        done = subprocess.run(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if not out.is_file():
            return {"ok": False, "error": done.stdout[-500:]}
        return json.loads(out.read_text())

    def median(
        self, system: str, name: str, proposals: int, workers: int, median: float, *more: str
    ) -> Result:
        """The median of each number over the runs that ended well."""
        names = [f"{name}-{system}-{turn}" for turn in range(self.repeat)]
        good = []
        for turn, each in enumerate(names):
            result = self.run(system, each, proposals, workers, median, "--seed", str(turn), *more)
            if result["ok"]:
                good.append(result)
            else:
                print(f"  {each} failed: {str(result.get('error'))[-300:]}")
        return medians(good)

    def require(self, what: str, holds: bool) -> None:
        """Note whether a figure is what it should be."""
        self.verdicts.append((what, holds))
        print(f"  {'ok  ' if holds else 'MISS'}  {what}")


def medians(results: list[Result]) -> Result:
    """Medians of all numbers, those of the driver's own report included."""
    flat = [{**{f"driver_{k}": v for k, v in r.get("driver", {}).items()}, **r} for r in results]
    keys = set().union(*flat) if flat else set()
    found = {}
    for key in sorted(keys):
        values = [
            r[key] for r in flat if isinstance(r.get(key), int | float) and not isinstance(r.get(key), bool)
        ]
        if values:
            found[key] = statistics.median(values)
    return found


def show(rows: Iterable[tuple[str, Result]], columns: dict[str, str]) -> None:
    """Print a table."""
    print("  " + " ".join(f"{title:>12}" for title in ["", *columns.values()]))
    for name, result in rows:
        cells = [result.get(key) for key in columns]
        texts = ["–" if c is None else f"{c:.3g}" if abs(c) < 100 else f"{c:.0f}" for c in cells]
        print("  " + " ".join(f"{text:>12}" for text in [name, *texts]), flush=True)


QUALITY = {
    "driver_best": "final score",
    "driver_champion_depth": "depth",
    "driver_seed_parents": "seed share",
}
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
    """At least 8 proposals a worker, lognormal latency, cheap evaluator."""
    plan = (
        [(8, 1.0), (16, 1.0), (32, 1.0)]
        if bench.quick
        else [(1, 1.0), (8, 1.0), (16, 1.0), (32, 1.0), (64, 1.0), (128, 8.0)]
    )
    for width, latency in plan:
        print(f"\nwidth {width}, median {latency:g} s, {8 * width} proposals")
        rows = []
        for system in bench.systems:
            options = ("--peer-opt", "cap=off") if system == "shinka" else ()
            rows.append((system, bench.median(system, f"width{width}", 8 * width, width, latency, *options)))
        show(rows, USUAL | QUALITY)
        ours = dict(rows)["ours"]
        bench.require(
            f"width {width}: efficiency {ours.get('efficiency', 0):.3f} >= 0.95",
            ours.get("efficiency", 0) >= 0.95,
        )
        bench.require(
            f"width {width}: model idle {ours.get('idle_frac', 1):.4f} < 0.01",
            ours.get("idle_frac", 1) < 0.01,
        )


def default_loop(bench: Bench) -> None:
    """Our 32 in flight against GEPA's default loop of one proposal at a time."""
    print("\nagainst the synchronous loop")
    ours = bench.median("ours", "sync", 256, 32, 1.0)
    rows = [("ours, 32", ours)]
    if "gepa" in bench.systems:
        gepa = bench.median("gepa", "sync", 64, 0, 1.0)
        rows.append(("gepa, 1", gepa))
        ratio = ours.get("props_per_s_active", 0) / gepa.get("props_per_s_active", float("inf"))
    show(rows, USUAL)
    if "gepa" in bench.systems:
        bench.require(f"proposals a second: {ratio:.1f} times GEPA's default loop, >= 15", ratio >= 15)


def slow(bench: Bench) -> None:
    """An evaluator of one second at width 16: it must not hold a model slot."""
    print("\nevaluator of 1 s, width 16, 256 proposals")
    rows = []
    for system in bench.systems:
        options = {"shinka": ("--peer-opt", "cap=off"), "floor": ("--peer-opt", "pools=split")}.get(
            system, ()
        )
        rows.append((system, bench.median(system, "slow", 256, 16, 1.0, "--eval-sleep", "1", *options)))
    show(rows, USUAL)
    active = dict(rows)["ours"].get("active_s", float("inf"))
    bench.require(f"evaluator of 1 s: {active:.1f} s active <= 31", active <= 31)


def zero(bench: Bench) -> None:
    """No latency at all: what a proposal costs, and whether that grows."""
    print("\nno latency, 1,024 proposals, width 16")
    rows = []
    for system in bench.systems:
        options = ("--peer-opt", "cap=off") if system == "shinka" else ()
        few = bench.median(system, "zero256", 256, 16, 0.0, *options)
        many = bench.median(system, "zero1024", 1024, 16, 0.0, *options)
        if few and many:
            many["marginal"] = (many["cpu_tree"] - few["cpu_tree"]) / 768
            many["flat"] = many["last_block_per_s"] / many["first_block_per_s"]
        rows.append((system, many))
    columns = {
        "first_block_per_s": "first 124/s",
        "last_block_per_s": "last 124/s",
        "flat": "ratio",
        "marginal": "cpu s each",
    }
    show(rows, columns | {"peak_rss_mb": "rss MB", "others_cpu_frac": "others' cpu"})
    ours = dict(rows)["ours"]
    bench.require(f"last block against first: {ours.get('flat', 0):.2f} >= 0.9", ours.get("flat", 0) >= 0.9)
    cost = 1000 * ours.get("marginal", 1)
    bench.require(f"processor per proposal, direct client: {cost:.1f} ms <= 6", cost <= 6)
    hosted = [
        bench.run("ours", f"litellm{n}", n, 16, 0.0, "--peer-opt", "client=litellm") for n in (128, 384)
    ]
    if all(each["ok"] for each in hosted):
        cost = 1000 * (hosted[1]["cpu_tree"] - hosted[0]["cpu_tree"]) / 256
        bench.require(f"processor per proposal, through litellm: {cost:.1f} ms <= 15", cost <= 15)


def memory(bench: Bench) -> None:
    """Many in flight from one process."""
    print("\nmemory: width 256, median 8 s" + (", 512 proposals" if bench.quick else ", 2,048 proposals"))
    found = bench.run("ours", "width256", 512 if bench.quick else 2048, 256, 8.0)
    show([("ours", found)], USUAL | {"peak_in_flight": "in flight"})
    bench.require(
        f"256 in flight: {found.get('peak_rss_mb', 1e9):.0f} MB < 300", found.get("peak_rss_mb", 1e9) < 300
    )
    if not bench.quick:
        bench.require(
            f"width 256: efficiency {found.get('efficiency', 0):.3f} >= 0.95",
            found.get("efficiency", 0) >= 0.95,
        )


def capacity(bench: Bench) -> None:
    """A server that serves few requests at once; the engine finds the width."""
    for limit in (8, 16):
        print(f"\nserver of capacity {limit}, the engine finds the width, {16 * limit} proposals")
        options = ("--llm-capacity", str(limit), "--peer-opt", "propose=auto")
        found = bench.run("ours", f"capacity{limit}", 16 * limit, 0, 1.0, *options)
        found["bound_s"] = found.get("lat_sum", 0) / limit
        show([("ours", found)], USUAL | {"bound_s": "bound s", "peak_in_flight": "in flight"})


def kill(bench: Bench) -> None:
    """Kill -9 in the middle, then resume."""
    print("\nkill -9 after 20 evaluations of 64 proposals, width 8, then resume")
    for system in bench.systems:
        if system == "floor":
            continue
        options = ("--peer-opt", "cap=off") if system == "shinka" else ()
        found = bench.run(system, f"kill-{system}", 64, 8, 1.0, "--kill-after-evals", "20", *options)
        print(f"  {system}: {json.dumps(found.get('kill') or found.get('error'))}")
        if system == "ours":
            facts = found.get("kill") or {}
            lost = facts.get("evals_finished_before_kill", 99) - 1 - (facts.get("persisted_at_resume") or 0)
            bench.require(f"finished evaluations that were lost: {lost}", lost <= 0)
            repeated = facts.get("evals_repeated_same_code")
            bench.require(f"evaluations repeated: {repeated}", repeated == 0)
            bench.require(f"processes left: {facts.get('orphans_alive')}", facts.get("orphans_alive") == 0)
            again = facts.get("llm_requests_total", 999) - 64
            asked = facts.get("llm_in_flight_at_kill", 0)
            bench.require(
                f"model calls asked twice: {again} <= {asked} in flight at the kill", again <= asked
            )


PARTS: dict[str, Callable[[Bench], None]] = {
    "widths": widths,
    "default": default_loop,
    "slow": slow,
    "zero": zero,
    "memory": memory,
    "capacity": capacity,
    "kill": kill,
}


def main() -> int:
    """Measure and print; the exit code says whether every figure is what it should be."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ours", action="store_true", help="only our side and the floor")
    parser.add_argument("--quick", action="store_true", help="fewer widths, one run each")
    parser.add_argument("--repeat", type=int, help="runs a figure is the median of (default 3, quick: 1)")
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts, of {','.join(PARTS)}")
    parser.add_argument("--systems", help="which to run beside ours, such as floor,gepa")
    parser.add_argument("--out", type=Path, default=HOME / "results", help="folder for the results as JSON")
    given = parser.parse_args()
    parts = given.only.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"no part {unknown[0]}: choose from {','.join(PARTS)}")
    beside = (
        given.systems.split(",")
        if given.systems
        else ["floor"]
        if given.ours
        else ["floor", "openevolve", "gepa", "shinka"]
    )
    peers = [one for one in beside if one != "floor"]
    subprocess.run(["bash", HERE / "setup.sh", "server", *peers], check=True, stdout=sys.stderr)
    if "floor" in beside:
        _floor_needs_openai()
    bench = Bench(given.out, ("ours", *beside), given.quick, given.repeat or (1 if given.quick else 3))
    for part in parts:
        PARTS[part](bench)
    missed = [what for what, holds in bench.verdicts if not holds]
    print(f"\n{len(bench.verdicts) - len(missed)} of {len(bench.verdicts)} figures hold")
    return 1 if missed else 0


def _floor_needs_openai() -> None:
    """The floor uses the openai client, which litellm brings along."""
    subprocess.run([sys.executable, "-c", "import openai"], check=True)


if __name__ == "__main__":
    sys.exit(main())
