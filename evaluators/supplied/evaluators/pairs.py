"""The evaluator of `benchmark = "bench.py:work"`: times a candidate beside the base, in interleaved pairs.

Problem: two timings taken minutes apart differ by what else the machine did, often by more than any
improvement. Choice: each evaluation times both, in turns (base, candidate, candidate, base, …), on the same
processor, each in one process of its own behind a second wall, by clocks of this process and of the kernel,
which neither can touch. The score is the ratio of their times, above 1 where the candidate is faster.

What counts is the time that passes, unless the work is one process that computes: then it is the processor
time that the kernel has for that process, which other programs hardly change. A candidate that waits, or has
others work for it, would look fast so: where it gives up the processor more often than the base does, or has
had children, the time that passes counts. What the machine adds to a time is never negative, so the lower
quartile of each side is compared, not the mean. How two processes happen to lie in memory makes some per cent
by itself, so there are five of each side, one after the other, of which the median counts.

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
from typing import Any, Callable, Optional, Tuple  # aliases below are read by Python 3.8

from evaluators import isolated  # type: ignore[attr-defined]  # from the folder this file is in

ROUNDS = 5
"""Pairs of processes."""
PAIRS = 7
"""Timings of each process."""
SHORTEST = 0.004
"""Seconds one timing takes at least; short work is repeated."""
LONGEST = 20.0
"""Seconds after which no further round begins."""
WARM_UP = 2
TOO_BUSY = 0.1
"""Share of its time that a process may wait for a processor before the figures are not to be believed."""

COMPUTING = 3
"""Most times that a process which computes gives up the processor of itself in one timing."""

Taken = Tuple[float, Optional[float], float]
"""Seconds that passed, seconds of processor time where known, and how often the processor was given up."""
Timer = Callable[[int], Taken]


class Differs(Exception):
    """The candidate's result is not that of the base."""


def compare(base: Timer, candidate: Timer) -> dict[str, Any]:
    """Time two sides in turns.

    Args:
        base: Does the work so many times and returns how long that took.
        candidate: Likewise.

    Returns:
        Metrics: the ratio of base to candidate, seconds of each for the work done once, pairs, the spread
        of the pairs' ratios, as half their interquartile range relative to the median, and whether the
        seconds are processor time.
    """
    for _ in range(WARM_UP):
        base(1)
        candidate(1)
    times = min(_times(base), max(1, int(LONGEST / ROUNDS / PAIRS / max(candidate(1)[0], 1e-9))))
    taken: dict[str, list[Taken]] = {"base": [], "candidate": []}
    sides = [("base", base), ("candidate", candidate)]
    for pair in range(PAIRS):
        for name, timer in sides if pair % 2 == 0 else sides[::-1]:
            wall, processor, given_up = timer(times)
            own = None if processor is None else processor / times
            taken[name].append((wall / times, own, given_up))
    return _summary(taken["base"], taken["candidate"])


def _summary(base: list[Taken], candidate: list[Taken]) -> dict[str, Any]:
    own = _computing(base, candidate)
    sides = [
        [(processor if own else wall) or 1e-9 for wall, processor, _ in side] for side in (base, candidate)
    ]
    low, middle, high = statistics.quantiles([b / c for b, c in zip(*sides)], n=4)
    seconds = [statistics.quantiles(values, n=4)[0] for values in sides]
    return {
        "ratio": seconds[0] / seconds[1],
        "seconds": seconds[1],
        "base_seconds": seconds[0],
        "pairs": len(base),
        "spread": (high - low) / 2 / middle,
        "processor_time": own,
    }


def _computing(base: list[Taken], candidate: list[Taken]) -> bool:
    """Return whether processor time is what to compare."""
    if any(not processor for _, processor, _ in (*base, *candidate)):
        return False
    theirs, own = (statistics.median(given_up for _, _, given_up in side) for side in (base, candidate))
    return theirs <= COMPUTING and own <= theirs + 1


def _times(base: Timer) -> int:
    times = 1
    while (taken := base(times)[0]) < SHORTEST:
        times = max(times + 1, math.ceil(times * min(10.0, 1.2 * SHORTEST / max(taken, 1e-6))))
    return times


class Function:
    """One side of a function: a process that does the work as often as it is told."""

    def __init__(self, function: str, folder: str, env: dict[str, str], args: list[Any]) -> None:
        before = _processes(function)
        self._worker = isolated.Worker(function, folder=folder, env=env)
        self._walled = self._worker.pid is None
        self._pid = self._worker.pid or _newcomer(function, before)
        self._args = args
        self.waited = self.ran = 0.0

    def result(self) -> Any:
        """Do the work once and return what it gives."""
        return self._worker(*self._args, timeout=math.inf)

    def __call__(self, times: int) -> Taken:
        """Do the work so many times."""
        used, given_up, began = self._used(), self._given_up(), time.perf_counter()
        waited, ran = self._worker.repeat(times, *self._args)
        taken, after = time.perf_counter() - began, self._used()
        self.waited += waited
        self.ran += ran
        own = None if used is None or after is None else after - used
        return taken, own, self._given_up() - given_up

    def _used(self) -> float | None:
        """Return the processor time of the process, by the kernel's clock for it; None if others help it."""
        try:
            fields = _read(f"/proc/{self._pid}/stat").rpartition(")")[2].split()
            ended = fields[13:15] != ["0", "0"]
            children = _read(f"/proc/{self._pid}/task/{self._pid}/children").split()
            siblings = _read(f"/proc/{fields[1]}/task/{fields[1]}/children").split() if self._walled else []
            if ended or children or len(siblings) > 1:
                return None
            return time.clock_gettime((~(self._pid or 0) << 3) | 2)
        except (OSError, IndexError):
            return None

    def _given_up(self) -> int:
        """Return how often the process has given up the processor of itself."""
        try:
            words = _read(f"/proc/{self._pid}/status").split()
            return int(words[words.index("voluntary_ctxt_switches:") + 1])
        except (OSError, ValueError, IndexError):
            return 0

    def close(self) -> None:
        """End the process."""
        self._worker.__exit__()


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _processes(function: str) -> set[int]:
    """Return the processes that serve a function, as far as they can be seen from here."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = _read(f"/proc/{name}/cmdline").split("\0")
            except OSError:
                continue
            if len(words) > 2 and words[1].endswith("isolated.py") and words[2] == function:
                found.add(int(name))
    return found


def _newcomer(function: str, before: set[int]) -> int | None:
    """Return the process just started; nothing of a candidate's runs in it before its first call."""
    end = time.monotonic() + 5.0
    while time.monotonic() < end:
        found = _processes(function) - before
        if found:
            return min(found)
        time.sleep(0.002)
    return None


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
            last = done.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
            raise isolated.Failed(f"exit {done.exit}: {_shown(last[0])}", done.stderr)
        return done

    def __call__(self, times: int) -> Taken:
        """Run it so many times."""
        done = [self._run() for _ in range(times)]
        wall = sum(one.seconds for one in done)
        known = all(one.cpu_seconds is not None for one in done)
        return wall, sum(one.cpu_seconds for one in done) if known else None, COMPUTING + 1

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
    rounds, began = [], time.perf_counter()
    for number in range(ROUNDS):
        rounds.append(_round(what, base, seed, check=number == 0))
        if time.perf_counter() - began > LONGEST:
            break
    found = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    found["pairs"] = sum(one["pairs"] for one in rounds)
    busy = found["busy"]
    faster = (found["ratio"] - 1) * 100
    words = f"{abs(faster):.1f} % {'faster' if faster > 0 else 'slower'} than the base"
    words += f" ({found['pairs']} pairs, spread {found['spread']:.1%})"
    if busy > TOO_BUSY and found["processor_time"] < 1:
        words += f"; the machine is too busy to believe this: {busy:.0%} of the time was spent waiting for it"
    return {"score": found["ratio"], "metrics": found, "feedback": words}


def _round(what: str, base: str, seed: int, check: bool) -> dict[str, Any]:
    """Compare new processes of both sides."""
    sides = _sides(what, base, seed)
    try:
        if check:
            _same(sides[0], sides[1])
        found = compare(sides[0], sides[1])
    finally:
        for side in sides:
            side.close()
    return {**found, "busy": sides[0].waited / max(1e-9, sides[0].waited + sides[0].ran)}


def _same(base: Any, candidate: Any) -> None:
    expected = base.result()
    try:
        given = candidate.result()
    except isolated.Failed as error:
        print(error.output, file=sys.stderr)
        raise
    if given != expected:
        raise Differs(f"the result is {_shown(given)}, that of the base {_shown(expected)}")


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
