"""What the search finds beside OpenEvolve and ShinkaEvolve, at equal proposals: one command, four tasks, paired seeds.

Every system asks the same simulated model, whose answers depend on the seed, the parent program and how often it was asked
for it, and on nothing else of the prompt (`peers/parent_model.py` says how). So what is compared is the choice of parents and
what is done with children. Each system runs as it comes, one proposal at a time, with the same evaluator through its own
contract; the program it calls best is scored again here. A run is a line of JSON in the file of `--out`; a second start
measures only what is missing. The tasks stand in `peers/tasks`: two of numbers, one of steps, one in two files.

    python benchmarks/comparison.py                   # 240 runs, seeds in order, so that a broken run is balanced
    python benchmarks/comparison.py --seeds 2 --tasks packing
    python benchmarks/comparison.py --report          # the tables of what has been measured
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from measuring import HERE, HOME

sys.path.insert(0, str(HERE / "tasks"))
import numeric
import packing
import programs
import structure
import twofiles

TASKS: dict[str, ModuleType] = {one.__name__: one for one in (packing, numeric, structure, twofiles)}
SYSTEMS = {
    "ours": (sys.executable, "evolve_driver.py", {"reflect": "0", "evaluate": "1"}),
    "openevolve": (str(HOME / "venvs/openevolve/bin/python"), "openevolve_driver.py", {}),
    "shinka": (str(HOME / "venvs/shinka/bin/python"), "shinka_driver.py", {"verbose": "0"}),
}
MARGIN = 0.05
"""What counts as not worse, as a share of the way from the initial program to the task's reference."""
RESAMPLES = 10_000
TIMEOUT = 1800.0
Run = dict[str, Any]
Key = tuple[str, str, int]


def gain(task: str, score: float) -> float:
    """Share of the way from the initial program (0) to the reference of the task (1)."""
    module = TASKS[task]
    start = float(module.score(module.PARTS))
    return (score - start) / (float(module.REFERENCE) - start)


def true_score(task: str, program: str | None) -> float:
    """The score of a program, found here; 0 for one that fails or is none."""
    parts = programs.parts_of(program or "")
    try:
        return float(TASKS[task].score(parts))
    except Exception:
        return 0.0


@contextmanager
def model(task: str, seed: int, folder: Path) -> Iterator[int]:
    """The simulated model, on a port of its own while the block lasts."""
    port = _free_port()
    command = [HOME / "venvs/server/bin/python", HERE / "model_server.py", "--port", port, "--seed", seed]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            [str(word) for word in [*command, "--task", task]], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        until = time.monotonic() + 60
        while True:
            try:
                _stats(port)
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((folder / "server.log").read_text()[-500:]) from None
                time.sleep(0.1)
        yield port
    finally:
        server.kill()
        server.wait()


def _free_port() -> int:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _stats(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats", timeout=10) as reply:
        return dict(json.load(reply))


def measure(task: str, system: str, seed: int, proposals: int) -> Run:
    """Run one system once; what went wrong stands under "error"."""
    python, driver, options = SYSTEMS[system]
    folder = HOME / "work" / f"comparison-{task}-{system}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    initial = folder / "initial_program.py"
    initial.write_text(programs.one_file(TASKS[task].PARTS))
    run: Run = {"task": task, "system": system, "seed": seed, "proposals": proposals}
    with model(task, seed, folder) as port:
        spec = {"peer": system, "proposals": proposals, "workers": 1, "seed": seed, "resume": False}
        spec |= {"base_url": f"http://127.0.0.1:{port}/v1", "opts": options, "eval_sleep": 0.0}
        spec |= {"work_dir": str(folder), "task_dir": str(HERE / "task"), "initial_program": str(initial)}
        spec |= {"driver_out": str(folder / "driver.json"), "files": programs.files(TASKS[task].PARTS)}
        (folder / "spec.json").write_text(json.dumps(spec))
        status = _drive([python, str(HERE / "drivers" / driver), str(folder / "spec.json")], task, folder)
        found = folder / "driver.json"
        if status or not found.is_file():
            return run | {"error": f"exit {status}: {(folder / 'driver.log').read_text()[-400:]}"}
        driven = json.loads(found.read_text())
        kinds = _stats(port)["kinds"]
    run |= {"score": true_score(task, driven["best_program"]), "said": driven["best"], "kinds": kinds}
    run |= {"done": driven["proposals_done"], "calls": sum(kinds.values())}
    run |= {"cpu": driven["cpu_self"] + driven["cpu_children"], "outcomes": driven.get("outcomes")}
    shutil.rmtree(folder)
    return run


def _drive(command: Sequence[str], task: str, folder: Path) -> int | str:
    """Exit code of a driver that has the environment of the benchmark, or why there is none."""
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    environment |= {"BENCH_TASK": task, "BENCH_TASK_DIR": str(HERE / "tasks"), "OPENAI_API_KEY": "x"}
    environment |= {"NO_PROXY": "127.0.0.1,localhost", "PYTHONHASHSEED": "0"}
    with (folder / "driver.log").open("w") as log:
        driver = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        return driver.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"none after {TIMEOUT:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, 9)
        driver.wait()


def known(out: Path, proposals: int) -> dict[Key, Run]:
    """What has been measured well, by task, system and seed."""
    runs = [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []
    good = [run for run in runs if run["proposals"] == proposals and "error" not in run]
    return {(run["task"], run["system"], run["seed"]): run for run in good}


def measure_all(keys: Sequence[Key], proposals: int, out: Path, jobs: int) -> None:
    """Measure, `jobs` at a time, and write each result as soon as it is there."""
    writing = threading.Lock()
    with ThreadPoolExecutor(jobs) as pool:
        running = [pool.submit(measure, *key, proposals) for key in keys]
        for number, one in enumerate(as_completed(running), 1):
            run = one.result()
            with writing, out.open("a") as lines:
                lines.write(json.dumps(run) + "\n")
            words = run.get("error") or f"{gain(run['task'], run['score']):.3f}"
            print(f"{number}/{len(keys)} {run['task']} {run['system']} {run['seed']}: {words}", flush=True)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean (Efron and Tibshirani 1993, section 13.3)."""
    r = random.Random(0)
    means = sorted(statistics.fmean(r.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def report(runs: Mapping[Key, Run], tasks: Sequence[str], systems: Sequence[str], seeds: int) -> bool:
    """Print a table a task, the paired differences and the verdicts; True if ours is worse nowhere."""
    fine, better = True, 0
    print("gain: share of the way from the initial program (0) to the task's reference (1)")
    for task in tasks:
        print(f"\n{task}\n  {'':12}{'seeds':>6}{'score':>8}{'gain':>8}{'calls':>7}{'cpu s':>7}")
        for system in systems:
            found = [run for (t, s, _), run in runs.items() if (t, s) == (task, system)]
            if found:
                means = [statistics.fmean(run[key] for run in found) for key in ("score", "calls", "cpu")]
                reached = statistics.fmean(gain(task, run["score"]) for run in found)
                cells = f"{means[0]:>8.4f}{reached:>8.3f}{means[1]:>7.1f}{means[2]:>7.1f}"
                print(f"  {system:12}{len(found):>6}{cells}")
        ahead = []
        for peer in [one for one in systems if one != "ours"]:
            both = [n for n in range(seeds) if {(task, "ours", n), (task, peer, n)} <= runs.keys()]
            if len(both) < 2:
                continue
            mine, theirs = ([gain(task, runs[task, one, n]["score"]) for n in both] for one in ("ours", peer))
            differences = [a - b for a, b in zip(mine, theirs, strict=True)]
            low, high = interval(differences)
            worse = low < -MARGIN
            verdict = "better" if low > 0 else "not shown to be not worse" if worse else "not worse"
            fine &= not worse
            ahead.append(low > 0)
            words = f"{statistics.fmean(differences):+.3f} ({low:+.3f} to {high:+.3f}) over {len(both)} pairs"
            print(f"  ours minus {peer}: {words}: {verdict}")
        better += bool(ahead) and all(ahead)
    print(f"\nmargin {MARGIN:g}; better than every other system on {better} of {len(tasks)} tasks")
    if missing := len(tasks) * len(systems) * seeds - len(runs):
        print(f"partial: {missing} of {len(tasks) * len(systems) * seeds} runs are missing")
    return fine


def main() -> int:
    """Measure what is missing and print; exit 1 if ours is not shown to be not worse somewhere."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--proposals", type=int, default=60)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--out", type=Path, default=HOME / "results" / "comparison.jsonl")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    given = parser.parse_args()
    tasks, systems = given.tasks.split(","), given.systems.split(",")
    if unknown := [one for one in (*tasks, *systems) if one not in TASKS and one not in SYSTEMS]:
        parser.error(f"nothing is called {unknown[0]}: choose from {','.join((*TASKS, *SYSTEMS))}")
    wanted = [(task, one, seed) for seed in range(given.seeds) for task in tasks for one in systems]
    if not given.report:
        peers = [one for one in systems if one != "ours"]
        subprocess.run(["bash", HERE / "setup.sh", "server", *peers], check=True, stdout=sys.stderr)
        given.out.parent.mkdir(parents=True, exist_ok=True)
        there = known(given.out, given.proposals)
        missing = [key for key in wanted if key not in there]
        measure_all(missing, given.proposals, given.out, given.jobs)
    runs = {key: run for key, run in known(given.out, given.proposals).items() if key in wanted}
    return 0 if report(runs, tasks, systems, given.seeds) else 1


if __name__ == "__main__":
    sys.exit(main())
