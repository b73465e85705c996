"""Stages, and evaluations that end when they are decided: what they save, and what they cost in quality.

    python benchmarks/speculation.py            some five minutes
    python benchmarks/speculation.py --quick    under a minute

Real campaigns; only the work is made up. The evaluator has 60 cases that pass or fail, and each sleeps as long as its
own draw from a lognormal distribution (sigma 1.2), so a few cases take most of the time. A candidate is twelve
numbers; each case wants a mix of some of them near its target. One campaign judges every case of every candidate in
one run ("plain"). Its twin, with the same seed and landscape, lists the quick cases first, has a stage of the five
quickest in front, and is judged in chunks that end once they are decided for certain ("staged").

Two searches: "climb" changes the champion and protects it (`cut_short = "champion"`); "qd" changes elites of a small
archive and protects that (`cut_short = "archive"`). Evaluator-seconds are those of the journal, cancelled runs and the
base included. Ratios and differences are paired by seed, with 95 % bootstrap intervals over the seeds.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import evolve

CASES = [f"case-{n:02d}" for n in range(60)]
NUMBERS = 12
ARMS = ("plain", "staged")
SEARCHES = {"climb": "champion", "qd": "archive"}
EVALUATE = """import random, runpy, time
from pathlib import Path

def evaluate(folder, request):
    knobs = runpy.run_path(str(Path(folder) / "knobs.py"))
    values = [knobs[f"K{n}"] for n in range(NUMBERS)]
    cases = {}
    for name in request["cases"]:
        draw = random.Random(f"SEED/{name}")
        time.sleep(MEDIAN * draw.lognormvariate(0, 1.2))
        used = draw.sample(range(NUMBERS), 3)
        cases[name] = all(abs(values[n] - TARGETS[n]) < draw.uniform(0.3, 1.6) for n in used)
    return {"score": sum(cases.values()) / len(cases), "cases": cases}
"""


@dataclass(frozen=True)
class Ran:
    """What one campaign came to.

    Attributes:
        decided: Candidates about which the evaluator's word is final, the base left out.
        seconds: Evaluator-seconds.
        score: Score of the champion.
        curve: Evaluator-seconds spent, and the best score in full by then.
        cancelled: Candidates that were not judged in full.
    """

    decided: int
    seconds: float
    score: float
    curve: list[tuple[float, float]]
    cancelled: int

    @property
    def rate(self) -> float:
        return self.decided / self.seconds

    def score_after(self, seconds: float) -> float:
        return max((score for spent, score in self.curve if spent <= seconds), default=self.curve[0][1])


def length(seed: int, case: str) -> float:
    """How long a case takes, in medians."""
    return random.Random(f"{seed}/{case}").lognormvariate(0, 1.2)


def evaluator(seed: int, search: str, arm: str) -> dict[str, Any]:
    table: dict[str, Any] = {"function": "evaluate.py:evaluate", "cases": CASES, "timeout": 60}
    if arm == "plain":
        return table
    quick = sorted(CASES, key=lambda case: length(seed, case))
    smoke = {"name": "smoke", "cases": quick[:5], "gate": "parent", "slack": 0.2}
    return {**table, "cases": quick, "chunk": 5, "cut_short": SEARCHES[search], "stages": [smoke]}


def run(task: tuple[int, str, str, int, float]) -> Ran:
    seed, search, arm, proposals, median = task
    with tempfile.TemporaryDirectory(prefix="speculation-") as folder:
        repo = Path(folder) / "target"
        repo.mkdir()
        _write(repo, seed, median)
        measures = [{"name": "distance", "bins": 4, "low": 0, "high": 0.4}]
        campaign = evolve.create(
            repo,
            {
                "campaign": {"name": arm, "seed": seed},
                "artifact": {"include": ["knobs.py"]},
                "evaluator": evaluator(seed, search, arm),
                "operators": {"mutate": 1},
                "archive": {"measures": measures},
                "search": {"policy": "champion" if search == "climb" else "qd"},
                "workers": {"propose": 1, "evaluate": 1},
                "promotion": {"rule": "strict", "range": [0, 1]},
                "budget": {"proposals": proposals},
            },
        )
        ending = campaign.run_sync()
        assert not ending.failed, ending.reason
        with campaign.reader() as reader:
            rows = list(reader.evaluations(every=True))
    curve, spent, best = [], 0.0, -math.inf
    for row in rows:
        spent += row.seconds if row.attempts else 0.0
        if row.whole and row.score is not None and row.score > best:
            best = row.score
            curve.append((spent, best))
    words = {row.candidate: row.verdict for row in rows if row.whole and row.proposal}
    return Ran(len(words), spent, best, curve, sum(v == "cancelled" for v in words.values()))


def _write(repo: Path, seed: int, median: float) -> None:
    draw = random.Random(f"landscape/{seed}")
    targets = [round(draw.uniform(-1, 1), 3) for _ in range(NUMBERS)]
    text = EVALUATE.replace("SEED", str(seed)).replace("MEDIAN", repr(median))
    text = text.replace("NUMBERS", str(NUMBERS)).replace("TARGETS", repr(targets))
    (repo / "evaluate.py").write_text(text)
    start = [target + draw.gauss(0, 0.35) for target in targets]
    (repo / "knobs.py").write_text("".join(f"K{n} = {value:.3f}\n" for n, value in enumerate(start)))
    who = ["-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "base"]):
        subprocess.run(["git", "-C", str(repo), *command], check=True)


def interval(values: Sequence[float], mean: Callable[[Sequence[float]], float]) -> str:
    """The mean and its 95 % percentile bootstrap interval."""
    draw = random.Random(0)
    means = sorted(mean(draw.choices(values, k=len(values))) for _ in range(4000))
    return f"{mean(values):.3g} [{means[100]:.3g}, {means[-101]:.3g}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three seeds, few proposals")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--proposals", type=int, default=40)
    parser.add_argument("--median", type=float, default=0.03, help="median seconds of a case")
    parser.add_argument("--jobs", type=int, default=24, help="campaigns at a time; they mostly sleep")
    given = parser.parse_args()
    seeds, proposals = (3, 24) if given.quick else (given.seeds, given.proposals)
    print(
        f"{seeds} seeds, {proposals} proposals each, {len(CASES)} cases with a median of {given.median:g} s"
    )
    tasks = [
        (seed, search, arm, proposals, given.median)
        for search in SEARCHES
        for arm in ARMS
        for seed in range(seeds)
    ]
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        ran = dict(zip([task[:3] for task in tasks], pool.map(run, tasks, chunksize=1), strict=True))
    for search in SEARCHES:
        print(
            f"\n{search}: seed  candidates  cut short  evaluator s  candidates/s  champion  (plain, staged)"
        )
        for seed in range(seeds):
            plain, staged = (ran[seed, search, arm] for arm in ARMS)
            print(
                f"{seed:{len(search) + 6}}  {plain.decided:4} {staged.decided:4}  {staged.cancelled:9}  "
                f"{plain.seconds:6.1f} {staged.seconds:5.1f}  {plain.rate:6.2f} {staged.rate:6.2f}  "
                f"{plain.score:.4f} {staged.score:.4f}"
            )
        pairs = [(ran[seed, search, "staged"], ran[seed, search, "plain"]) for seed in range(seeds)]
        rates = [staged.rate / plain.rate for staged, plain in pairs]
        same = [staged.score - plain.score for staged, plain in pairs]
        equal = [staged.score - plain.score_after(staged.seconds) for staged, plain in pairs]
        print(f"staged against plain, mean and 95 % interval over {seeds} paired seeds:")
        print(
            f"  candidates judged per evaluator-second, ratio:         {interval(rates, statistics.geometric_mean)}"
        )
        print(
            f"  champion's score at equal proposals, difference:         {interval(same, statistics.fmean)}"
        )
        print(
            f"  champion's score at equal evaluator-seconds, difference: {interval(equal, statistics.fmean)}"
        )


if __name__ == "__main__":
    main()
