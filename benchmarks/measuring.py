"""Measurements beside other systems: run one, keep its result, show a table, say whether a figure holds."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "peers"
HOME = Path(os.environ.get("BENCH_HOME") or Path(tempfile.gettempdir()) / "evolve-bench")
DRIVERS = {"ours": "evolve_driver.py", "floor": "null_driver.py"}
ALWAYS = {"shinka": ("--peer-opt", "cap=off")}
BUSY = 0.2
"""Share of the machine that others may take before a figure should be measured again."""
Result = dict[str, Any]


@dataclass
class Bench:
    """Where results go, and what has been found to hold.

    Attributes:
        out: Folder of the results.
        systems: Systems to measure.
        quick: Whether to measure less.
        repeat: Runs that a figure is the median of.
        resume: Whether results that are in the folder already are taken instead of measured.
    """

    out: Path
    systems: tuple[str, ...]
    quick: bool
    repeat: int
    resume: bool
    verdicts: list[tuple[str, bool]] = field(default_factory=list)
    others: float = 0.0

    def beside(self, *names: str) -> tuple[str, ...]:
        """Those of the systems that are named."""
        return tuple(name for name in self.systems if name in names)

    def run(self, system: str, name: str, proposals: int, workers: int, median: float, *more: str) -> Result:
        """Measure once; the result of a run that failed says so under "error"."""
        out = self.out / f"{name}-{system}.json"
        if not (self.resume and out.is_file() and json.loads(out.read_text()).get("ok")):
            out.unlink(missing_ok=True)
            command = self._command(system, out, proposals, workers, median, more)
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if not out.is_file():
                return {"ok": False, "error": done.stdout[-500:]}
        result: Result = json.loads(out.read_text())
        if not result["ok"]:
            print(f"  {name}-{system} failed: {str(result.get('error'))[-300:]}", flush=True)
        self.others = max(self.others, result.get("others_cpu_frac") or 0.0)
        return result

    def _command(
        self, system: str, out: Path, proposals: int, workers: int, median: float, more: Sequence[str]
    ) -> list[str]:
        own = DRIVERS.get(system)
        driver = ["--driver", str(HERE / "drivers" / own), "--python", sys.executable] if own else []
        command = [HOME / "venvs/server/bin/python", HERE / "run_peer.py", system, *driver]
        command += ["--proposals", proposals, "--workers", workers, "--llm-median", median]
        command += ["--llm-sigma", "0.8", "--out", out, *ALWAYS.get(system, ()), *more]
        return [str(word) for word in command]

    def median(
        self, system: str, name: str, proposals: int, workers: int, median: float, *more: str
    ) -> Result:
        """The median of each number over the runs that ended well."""
        found = [
            self.run(system, f"{name}-{turn}", proposals, workers, median, "--seed", str(turn), *more)
            for turn in range(self.repeat)
        ]
        return medians([one for one in found if one["ok"]])

    def require(self, what: str, holds: bool) -> None:
        """Note whether a figure is what it should be."""
        self.verdicts.append((what, holds))
        print(f"  {'ok  ' if holds else 'MISS'}  {what}", flush=True)

    def at_least(self, what: str, value: float | None, least: float) -> None:
        """Require a figure that is measured and not below a bound."""
        shown = "not measured" if value is None else f"{value:.3g}"
        self.require(f"{what}: {shown} >= {least:g}", value is not None and value >= least)

    def at_most(self, what: str, value: float | None, most: float) -> None:
        """Require a figure that is measured and not above a bound."""
        shown = "not measured" if value is None else f"{value:.3g}"
        self.require(f"{what}: {shown} <= {most:g}", value is not None and value <= most)


def medians(results: list[Result]) -> Result:
    """Medians of all numbers, those of the driver's own report included."""
    flat = [{**{f"driver_{k}": v for k, v in r.get("driver", {}).items()}, **r} for r in results]
    found = {}
    for key in sorted(set().union(*flat)) if flat else ():
        values = [r[key] for r in flat if isinstance(r.get(key), int | float)]
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


def difference(mine: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Difference of two means, and half the width of its 95 % interval (Welch, 1947)."""
    parts = [statistics.variance(values) / len(values) for values in (mine, theirs)]
    spread = sum(parts)
    freedom = spread**2 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (mine, theirs), strict=True) if p)
    return statistics.fmean(mine) - statistics.fmean(theirs), _student(freedom) * math.sqrt(spread)


def _student(freedom: float) -> float:
    """The 97.5 % point of Student's t (an expansion that is within 1 % from 3 degrees of freedom on)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return z + first + second + third
