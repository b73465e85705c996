"""The evaluator of `benchmark = "bench.py:work"`: times a candidate beside the base, in interleaved pairs.

Problem: two timings taken minutes apart differ by what else the machine did, often by more than any
improvement. Choice: each evaluation times both, in turns (base, candidate, candidate, base, …), on the same
processor, each in one process of its own behind a second wall, by this process's clock, which neither can
touch. The score is the ratio of their times, above 1 where the candidate is faster. What the machine adds to
a time is never negative, so the lower quartile of each side is compared, not the mean. How two processes
happen to lie in memory makes one or two per cent by itself; both are new in each evaluation, so that this
averages out over the paired evaluations that promotion asks for, and is never mistaken for progress.

Both must give the same result: what the function returns, or what the command prints.
"""

from __future__ import annotations

import ast
import json
import math
import os
import shlex
import statistics
import sys
import time
from typing import Any, Callable

from evaluators import isolated  # type: ignore[attr-defined]  # from the folder this file is in

PAIRS = 25
FEWEST_PAIRS = 5
SHORTEST = 0.004
"""Seconds one timing takes at least; short work is repeated."""
LONGEST = 20.0
"""Seconds after which a few pairs are enough."""
WARM_UP = 2
TOO_BUSY = 0.1
"""Share of its time that a process may wait for a processor before the figures are not to be believed."""

Timer = Callable[[int], float]


class Differs(Exception):
    """The candidate's result is not that of the base."""


def compare(base: Timer, candidate: Timer) -> dict[str, Any]:
    """Time two sides in turns.

    Args:
        base: Does the work so many times and returns how long that took, in seconds.
        candidate: Likewise.

    Returns:
        Metrics: the ratio of base to candidate, seconds of each for the work done once, pairs, and the
        spread of the pairs' ratios, as half their interquartile range relative to the median.
    """
    for _ in range(WARM_UP):
        base(1)
        candidate(1)
    times = min(_times(base), max(1, int(LONGEST / PAIRS / max(candidate(1), 1e-9))))
    began = time.perf_counter()
    taken: dict[str, list[float]] = {"base": [], "candidate": []}
    sides = [("base", base), ("candidate", candidate)]
    for pair in range(PAIRS):
        for name, timer in sides if pair % 2 == 0 else sides[::-1]:
            taken[name].append(timer(times) / times)
        if pair + 1 >= FEWEST_PAIRS and time.perf_counter() - began > LONGEST:
            break
    ratios = [b / c for b, c in zip(taken["base"], taken["candidate"])]
    low, middle, high = statistics.quantiles(ratios, n=4)
    seconds = {name: statistics.quantiles(values, n=4)[0] for name, values in taken.items()}
    return {
        "ratio": seconds["base"] / seconds["candidate"],
        "seconds": seconds["candidate"],
        "base_seconds": seconds["base"],
        "pairs": len(ratios),
        "spread": (high - low) / 2 / middle,
    }


def _times(base: Timer) -> int:
    times = 1
    while (taken := base(times)) < SHORTEST:
        times = max(times + 1, math.ceil(times * min(10.0, 1.2 * SHORTEST / max(taken, 1e-6))))
    return times


class Function:
    """One side of a function: a process that does the work as often as it is told."""

    def __init__(self, function: str, folder: str, env: dict[str, str], args: list[Any]) -> None:
        self._worker = isolated.Worker(function, folder=folder, env=env)
        self._args = args
        self.waited = self.ran = 0.0

    def result(self) -> Any:
        """Do the work once and return what it gives."""
        return self._worker(*self._args, timeout=math.inf)

    def __call__(self, times: int) -> float:
        """Do the work so many times."""
        began = time.perf_counter()
        waited, ran = self._worker.repeat(times, *self._args)
        taken = time.perf_counter() - began
        self.waited += waited
        self.ran += ran
        return taken

    def close(self) -> None:
        """End the process."""
        self._worker.__exit__()


class Command:
    """One side of a command, started anew each time."""

    def __init__(self, argv: list[str], folder: str, env: dict[str, str]) -> None:
        self._argv, self._folder, self._env = argv, folder, env
        self.waited = self.ran = 0.0

    def result(self) -> str:
        """Run it once and return what it prints."""
        return str(self._run().stdout)

    def _run(self) -> Any:
        done = isolated.run(self._argv, timeout=math.inf, env=self._env, folder=self._folder)
        if done.exit != 0:
            raise isolated.Failed(f"exit {done.exit}", done.stderr)
        return done

    def __call__(self, times: int) -> float:
        """Run it so many times."""
        return float(sum(self._run().seconds for _ in range(times)))

    def close(self) -> None:
        """Do nothing: its process has ended."""


def _sides(what: str, base: str, seed: int) -> list[Any]:
    made: list[Any] = []
    for folder in (base, os.getcwd()):
        env = {"PYTHONPATH": _moved(os.environ.get("PYTHONPATH", ""), base) if folder == base else None}
        kept = {name: text for name, text in env.items() if text is not None}
        file, _, name = what.rpartition(":")
        if file.endswith(".py") and name.isidentifier():
            made.append(Function(what, folder, kept, [seed] if _takes_seed(file, name) else []))
        else:
            made.append(Command(shlex.split(what), folder, kept))
    return made


def _moved(paths: str, base: str) -> str:
    """Let the base import its own packages where an import path leads into the candidate's checkout."""
    own, other = os.getcwd(), base
    while os.path.basename(own) == os.path.basename(
        other
    ):  # the same folder of both trees: up to their roots
        own, other = os.path.dirname(own), os.path.dirname(other)
    moved = []
    for path in paths.split(os.pathsep):
        inside = path == own or path.startswith(own + os.sep)
        moved.append(os.path.join(other, os.path.relpath(path, own)) if inside else path)
    return os.pathsep.join(moved)


def _takes_seed(file: str, name: str) -> bool:
    with open(file, "rb") as source:
        tree = ast.parse(source.read())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return len(node.args.posonlyargs) + len(node.args.args) > 0
    return False


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 200 else text[:199] + "…"


def judge(what: str, base: str, seed: int) -> dict[str, Any]:
    """Compare the candidate in the current folder with the base in another.

    Raises:
        Differs: Their results differ.
        Failed: One of them gave none.
    """
    sides = _sides(what, base, seed)
    try:
        expected = sides[0].result()
        try:
            given = sides[1].result()
        except isolated.Failed as error:
            print(error.output, file=sys.stderr)
            raise
        if given != expected:
            raise Differs(f"the result is {_shown(given)}, that of the base {_shown(expected)}")
        found = compare(sides[0], sides[1])
        busy = sides[0].waited / max(1e-9, sides[0].waited + sides[0].ran)
    finally:
        for side in sides:
            side.close()
    faster = (found["ratio"] - 1) * 100
    words = f"{abs(faster):.1f} % {'faster' if faster > 0 else 'slower'} than the base"
    words += f" ({found['pairs']} pairs, spread {found['spread']:.1%})"
    if busy > TOO_BUSY:
        words += f"; the machine is too busy to believe this: {busy:.0%} of the time was spent waiting for it"
    metrics = {**found, "busy": busy}
    return {"score": found["ratio"], "metrics": metrics, "feedback": words}


def main(base: str, what: str) -> None:
    """Judge and print the result."""
    with open(os.environ["EVOLVE_REQUEST"], encoding="utf-8") as file:
        seed = json.load(file)["seed"]
    try:
        result = judge(what, os.path.abspath(base), seed)
    except (Differs, isolated.Failed) as error:
        raise SystemExit(str(error)) from None
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
